"""Differences between two releases, by their archives."""

import csv
import json
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO, StringIO
from pathlib import Path
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, ZipFile

import pytest
from django.core.management import CommandError, call_command

from core.exceptions import ImportRefused
from judging.releases.compare import Change, Compared
from judging.releases.layout import COLUMNS, PAIRS
from tests.mutations import mutated

Row = tuple[int, int, str, str]  # query, rank, state, relevance


def archive(*rows: Row, query: str = "") -> BytesIO:
    """An archive with these pairs; a pair's number is made of query and rank, and so is a text that is not given."""
    text = StringIO()
    writer = csv.DictWriter(text, COLUMNS[PAIRS], restval="", lineterminator="\n")
    writer.writeheader()
    for number, rank, state, relevance in rows:
        words = query or f"query {number}"
        row = {"pair_id": 100 * number + rank, "query_id": number, "query": words, "rank": rank}
        row |= {"video_name": "alpha", "start": 1.0, "end": 2.5, "state": state, "relevance": relevance}
        writer.writerow(row)
    buffer = BytesIO()
    with ZipFile(buffer, "w") as zipped:
        zipped.writestr(PAIRS, text.getvalue())
    return buffer


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


def compared(before: BytesIO, after: BytesIO) -> tuple[Compared, list[Change]]:
    comparison = Compared(before, after)
    return comparison, list(comparison.changes())


def test_every_kind_of_change() -> None:
    comparison, changes = compared(archive(*BEFORE), archive(*AFTER))
    assert [(c.kind, c.query_id, c.rank, c.before, c.after) for c in changes] == [
        ("removed", 9, 1, "1", ""),
        ("changed", 10, 2, "2", "3"),
        ("settled", 10, 3, "dropped", "1"),
        ("dropped", 10, 4, "0", "withdrawn"),
        ("added", 10, 21, "", "2"),
        ("added", 11, 1, "", "dropped"),
    ]
    assert comparison.facts() == {
        **{"same": 2, "added": 2, "changed": 1, "dropped": 1, "settled": 1, "removed": 1},
        **{"queries_added": 1, "queries_removed": 1},
    }
    assert changes[1] == Change("changed", 10, "query 10", 1002, "alpha 1.0-2.5", 2, "2", "3")


def one_file(content: bytes, method: int = ZIP_DEFLATED) -> BytesIO:
    buffer = BytesIO()
    with ZipFile(buffer, "w", method) as zipped:
        zipped.writestr(PAIRS, content)
    return buffer


def pairs_of(buffer: BytesIO) -> bytes:
    with ZipFile(buffer) as zipped:
        return zipped.read(PAIRS)


@pytest.mark.parametrize(
    ("break_", "problem"),
    [
        (lambda content: b"", "has no column query_id"),
        (lambda content: content[:-8], "line 7: "),
        (lambda content: content.replace(b"settled", b"sett\xffed"), "cannot be read: .*codec"),
        (lambda content: content.replace(b",9,", b",nine,"), "line 2: query_id is 'nine', no whole number"),
        (lambda content: content.replace(b"query 9", b"q" * 200_000), "cannot be read: field larger than"),
        (lambda content: content.replace(b"query 9", b"x," * 2**22), "a line of more than 4,194,304 characters"),
    ],
)
def test_what_is_no_list_of_pairs_is_refused_by_its_line(break_: Callable[[bytes], bytes], problem: str) -> None:
    broken = one_file(break_(pairs_of(archive(*BEFORE))))
    with pytest.raises(ImportRefused, match=problem):
        compared(archive(*BEFORE), broken)


@pytest.mark.parametrize("method", [ZIP_BZIP2, ZIP_LZMA])
def test_an_archive_that_says_itself_how_much_memory_it_needs_is_refused(method: int) -> None:
    with pytest.raises(ImportRefused, match="packed in a way that is not read"):
        compared(archive(*BEFORE), one_file(b"x", method))


def test_mutations_of_an_archive_are_read_or_refused(tmp_path: Path) -> None:
    seeds = [archive(*BEFORE).getvalue(), one_file(pairs_of(archive(*AFTER))).getvalue()]
    for content in mutated(seeds, 300):
        with suppress(ImportRefused):
            compared(archive(*BEFORE), BytesIO(content))


def test_mutations_of_pairs_are_read_or_refused() -> None:
    for content in mutated([pairs_of(archive(*AFTER))], 300, text=True):
        with suppress(ImportRefused):
            compared(archive(*BEFORE), one_file(content, ZIP_STORED))


@pytest.mark.parametrize(
    ("before", "after", "kinds"), [((), BEFORE, {"added": 6}), (BEFORE, (), {"removed": 6}), (AFTER, AFTER, {None: 7})]
)
def test_one_of_them_is_empty_or_both_are_the_same(
    before: tuple[Row, ...], after: tuple[Row, ...], kinds: dict[str | None, int]
) -> None:
    comparison, changes = compared(archive(*before), archive(*after))
    assert dict(comparison.kinds) == kinds
    assert len(changes) == (0 if before == after else 6)


class TestCommand:
    @pytest.fixture
    def paths(self, tmp_path: Path) -> list[Path]:
        """Two releases, and where their changes are written; a query's text may begin like a formula."""
        for name, rows in (("before", BEFORE), ("after", AFTER)):
            (tmp_path / f"{name}.zip").write_bytes(archive(*rows, query="=HYPERLINK(1)").getvalue())
        return [tmp_path / name for name in ("before.zip", "after.zip", "changes.csv")]

    def test_counts_and_csv(self, paths: list[Path]) -> None:
        before, after, changes = paths
        out = StringIO()
        call_command("compare_releases", before, after, csv=changes, stdout=out)
        assert json.loads(out.getvalue())["changed"] == 1
        lines = changes.read_text().splitlines()
        assert lines[0] == '"kind","query_id","query","pair_id","moment","rank","before","after"'
        assert lines[2] == '"changed",10,"\'=HYPERLINK(1)",1002,"alpha 1.0-2.5",2,"2","3"'
        assert len(lines) == 7

    @pytest.mark.parametrize("content", [b"no", one_file(b"").getvalue(), bytes(22)])
    def test_no_archive(self, paths: list[Path], content: bytes) -> None:
        before, after, changes = paths
        after.write_bytes(content)
        with pytest.raises(CommandError, match="^The releases could not be compared: "):
            call_command("compare_releases", before, after, csv=changes)
        assert not changes.exists()

    def test_a_file_that_is_there_is_not_written_over(self, paths: list[Path]) -> None:
        before, after, changes = paths
        changes.write_text("mine")
        with pytest.raises(CommandError, match="could not be compared"):
            call_command("compare_releases", before, after, csv=changes)
        assert changes.read_text() == "mine"
