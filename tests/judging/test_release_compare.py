"""What differs between two releases, by their archives."""

import csv
import json
from io import BytesIO, StringIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.core.management import CommandError, call_command

from judging.releases.compare import Change, Compared, Comparison
from judging.releases.forms import COLUMNS, PAIRS

Row = tuple[int, int, str, str]  # query, rank, state, relevance


def archive(*rows: Row, query: str = "") -> BytesIO:
    """An archive with these pairs; a pair's number is made of query and rank, and so is a text that is not given."""
    text = StringIO()
    writer = csv.DictWriter(text, COLUMNS[PAIRS], restval="", lineterminator="\n")
    writer.writeheader()
    for number, rank, state, relevance in rows:
        words = query or f"query {number}"
        known = {"pair_id": 100 * number + rank, "query_id": number, "query": words, "rank": rank}
        known |= {"video_name": "alpha", "start": 1.0, "end": 2.5, "state": state, "relevance": relevance}
        writer.writerow(known)
    made = BytesIO()
    with ZipFile(made, "w") as zipped:
        zipped.writestr(PAIRS, text.getvalue())
    return made


BEFORE = (
    (9, 1, "settled", "1"),
    (10, 1, "settled", "4"),
    (10, 2, "settled", "2"),
    (10, 3, "dropped", ""),
    (10, 4, "settled", "0"),
    (100, 1, "settled", "3"),
)
AFTER = (
    (10, 1, "settled", "4"),
    (10, 2, "settled", "3"),
    (10, 3, "settled", "1"),
    (10, 4, "withdrawn", ""),
    (10, 21, "settled", "2"),
    (11, 1, "dropped", ""),
    (100, 1, "settled", "3"),
)


def compared(before: BytesIO, after: BytesIO) -> tuple[Comparison, list[Change]]:
    with Compared(before, after) as held:
        return held.counted, list(held.changes())


def test_every_kind_of_change() -> None:
    found, changes = compared(archive(*BEFORE), archive(*AFTER))
    assert [(c.kind, c.query_id, c.rank, c.before, c.after) for c in changes] == [
        ("removed", 9, 1, "1", ""),
        ("changed", 10, 2, "2", "3"),
        ("settled", 10, 3, "dropped", "1"),
        ("dropped", 10, 4, "0", "withdrawn"),
        ("added", 10, 21, "", "2"),
        ("added", 11, 1, "", "dropped"),
    ]
    assert found.facts() == {
        **{"same": 2, "added": 2, "changed": 1, "dropped": 1, "settled": 1, "removed": 1},
        **{"queries_added": 1, "queries_removed": 1},
    }


def test_a_change_names_its_pair() -> None:
    change = compared(archive(*BEFORE), archive(*AFTER))[1][1]
    assert change == Change("changed", 10, "query 10", 1002, "alpha 1.0-2.5", 2, "2", "3")


@pytest.mark.parametrize(("before", "after", "kind"), [((), BEFORE, "added"), (BEFORE, (), "removed")])
def test_one_of_them_is_empty(before: tuple[Row, ...], after: tuple[Row, ...], kind: str) -> None:
    found, _ = compared(archive(*before), archive(*after))
    assert dict(found.counts) == {kind: 6}


def test_the_same_has_no_change() -> None:
    assert compared(archive(*AFTER), archive(*AFTER))[1] == []


class TestCommand:
    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        for name, rows in (("before", BEFORE), ("after", AFTER)):
            (tmp_path / f"{name}.zip").write_bytes(archive(*rows).getvalue())
        return tmp_path

    def test_counts_and_csv(self, place: Path) -> None:
        out = StringIO()
        call_command(
            "compare_releases", place / "before.zip", place / "after.zip", csv=place / "changes.csv", stdout=out
        )
        assert json.loads(out.getvalue())["changed"] == 1
        lines = (place / "changes.csv").read_text().splitlines()
        assert lines[0] == "kind,query_id,query,pair_id,moment,rank,before,after"
        assert lines[2] == "changed,10,query 10,1002,alpha 1.0-2.5,2,2,3"
        assert len(lines) == 7

    def test_no_archive(self, place: Path) -> None:
        (place / "after.zip").write_text("nothing")
        with pytest.raises(CommandError, match="could not be compared"):
            call_command("compare_releases", place / "before.zip", place / "after.zip")

    def test_a_file_that_is_there_is_not_written_over(self, place: Path) -> None:
        (place / "mine.csv").write_text("mine")
        with pytest.raises(CommandError, match="could not be compared"):
            call_command("compare_releases", place / "before.zip", place / "after.zip", csv=place / "mine.csv")
        assert (place / "mine.csv").read_text() == "mine"


def test_the_file_of_changes_holds_no_formula(tmp_path: Path) -> None:
    """A query's text may begin like one."""
    for name, state in (("before", "settled"), ("after", "dropped")):
        made = archive((10, 1, state, ""), query="=HYPERLINK(1)")
        (tmp_path / f"{name}.zip").write_bytes(made.getvalue())
    call_command(
        "compare_releases",
        tmp_path / "before.zip",
        tmp_path / "after.zip",
        csv=tmp_path / "changes.csv",
        stdout=StringIO(),
    )
    assert "dropped,10,'=HYPERLINK(1),1001," in (tmp_path / "changes.csv").read_text()
