"""Historic judgments: a file by hand, files that are refused, and the published file."""

import json
import os
from io import StringIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Membership, Project, User
from annotation.models import Moment, Query
from core.exceptions import ImportRefused, NotPossible
from core.models import AuditEvent
from judging.imports.historic import judgments_import, judgments_store, read_judgments
from judging.models import Batch, Judgment, Pair, Policy
from judging.releases.services import release_build, release_create
from judging.work.rules import Rules, preset_rules, rules_of
from tests.factories import ProjectFactory, UserFactory

SHARED = Path(os.environ.get("MOMENTJUDGE_SHARED", Path(__file__).resolve().parents[4] / "shared"))
RAW = SHARED / "data" / "tvr_ranking" / "raw_annotation.csv"
HEADER = "pair_id,worker,relevance\n"
# pair 0 settles at 4; 1 by four at 2; 2 is dropped by four; 20 has no second round; 21 has one grade; in 3 worker 7
# appears twice; 45 is in a block of its own.
LINES = """\
0,7,4
1,7,0
0,8,3
1,8,4
1,9,1
1,10,2
2,7,0
2,8,4
2,9,0
2,10,4
20,7,1
20,8,4
21,9,2
3,7,2
3,7,2
45,8,0
45,9,0
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "historic.csv"
    path.write_text(HEADER + LINES)
    return path


@pytest.mark.django_db
class TestByHand:
    def test_pairs_and_judgments_are_ordinary_rows(self, file: Path) -> None:
        counts = judgments_import(path=file, project_name="old")
        assert counts == {
            **{"judgments": 17, "pairs": 7, "settled": 4, "settled_by_two": 3, "settled_by_four": 1, "dropped": 3},
            **{"no_second_round": 2, "same_person_twice": 1},
            "relevance": {"0": 1, "1": 0, "2": 2, "3": 0, "4": 1},
        }
        rows = Pair.objects.order_by("source_id").values_list("source_id", "state", "relevance", "reason")
        one_round, dropped = ("dropped", None, "no_second_round"), ("dropped", None, "no_consensus")
        assert [row[1:] for row in rows] == [
            *(("settled", 4, ""), ("settled", 2, ""), dropped, ("settled", 2, ""), one_round, one_round),
            ("settled", 0, ""),
        ]
        assert [row[0] for row in rows] == [0, 1, 2, 3, 20, 21, 45]
        numbers = dict(Membership.objects.values_list("user", "number"))
        judgments = Judgment.objects.filter(pair__source_id=1).order_by("round", "slot")
        assert {j.source for j in judgments} == {"imported"}
        assert [(numbers[j.annotator_id], j.round, j.slot, j.grade) for j in judgments] == [
            *((7, 1, 1, 0), (8, 1, 2, 4)),
            *((9, 2, 1, 1), (10, 2, 2, 2)),
        ]
        twice = Judgment.objects.filter(pair__source_id=3).order_by("slot")
        assert [(numbers[j.annotator_id], j.occurrence) for j in twice] == [(7, 0), (7, 1)]
        queries = Query.objects.order_by("number").values_list("number", "is_placeholder")
        assert list(queries) == [(0, True), (1, True), (2, True)]
        assert set(Moment.objects.values_list("preview_state", flat=True)) == {"placeholder"}
        assert set(Batch.objects.values_list("state", "number")) == {("done", 1)}
        assert not any(user.has_usable_password() for user in User.objects.all())
        assert not User.objects.filter(memberships__roles__overlap=["lead", "admin"]).exists()
        before = state_of_everything()
        assert judgments_import(path=file, project_name="old") == counts
        assert state_of_everything() == before

    def test_yes_or_no_with_three_judges(self, file: Path) -> None:
        """Pair 0 settles by three, 1 by six without its highest and lowest; 2 lacks its second round."""
        grades = {0: [1, 1, 1], 1: [0, 0, 1, 0, 0, 0], 2: [0, 0, 1]}
        file.write_text(HEADER + "".join(f"{n},{who},{g}\n" for n in grades for who, g in enumerate(grades[n])))
        rules = preset_rules("yes-or-no")
        counts = judgments_import(path=file, project_name="old", rules=rules)
        assert (counts["settled"], counts["settled_by_two"], counts["settled_by_four"]) == (2, 1, 1)
        assert counts["relevance"] == {"0": 1, "1": 1}
        assert rules_of(Project.objects.get()) == rules_of(Batch.objects.get()) == rules
        judgments = Judgment.objects.filter(pair__source_id=1).order_by("round", "slot")
        assert [(row.round, row.slot) for row in judgments] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]
        policy = Policy.objects.get()
        assert (policy.extend_from_mean, policy.exam_bias, policy.exam_levels) == (0.5, 0.15, 2)
        assert judgments_import(path=file, project_name="old", rules=rules) == counts
        with pytest.raises(NotPossible, match="by other rules"):
            judgments_import(path=file, project_name="old", rules=preset_rules("yes-or-no", top_grade=2))
        release = release_build(release_id=release_create(project=Project.objects.get(), actor=None).pk)
        with release.archive.open("rb") as source, ZipFile(source) as archive:
            datasheet = " ".join(archive.read("datasheet.md").decode().split())
        assert "relevance from 0 to 1." in datasheet and "of 3 annotators a round. Equal grades settled it" in datasheet
        assert "Otherwise 3 others graded it; of six grades one highest and one lowest" in datasheet

    def test_rules_of_no_preset(self, file: Path) -> None:
        rules = preset_rules("tvr-ranking", judges=3, max_spread=2, max_rounds=1)
        assert rules == Rules(top_grade=4, judges=3, max_spread=2, max_rounds=1)
        assert preset_rules("tvr-ranking", top_grade=1).max_spread == 0
        with pytest.raises(ValueError, match="On grades from 0 to 2 no two would be more than 2 apart"):
            preset_rules("tvr-ranking", top_grade=2, max_spread=2)

    def test_a_name_that_is_taken(self, file: Path) -> None:
        ProjectFactory(name="old")
        with pytest.raises(NotPossible, match="holds other data"):
            judgments_import(path=file, project_name="old")
        judgments_import(path=file, project_name="new")
        file.write_text(file.read_text() + "46,7,1\n")
        with pytest.raises(NotPossible, match="holds other data"):
            judgments_import(path=file, project_name="new")

    def test_who_and_what_is_written_down(self, file: Path) -> None:
        person = UserFactory()
        judgments_store(pairs=read_judgments(file), digest="", project_name="old", actor=person)
        event = AuditEvent.objects.get(action="judgments.import")
        assert (event.actor, event.project, event.data["pairs"]) == (person, Project.objects.get(), 7)

    def test_command(self, file: Path) -> None:
        out = StringIO()
        call_command("import_judgments", file, stdout=out)
        assert json.loads(out.getvalue().splitlines()[-1])["pairs"] == 7
        assert Project.objects.get().name == "Historic judgments: historic"
        with pytest.raises(CommandError, match="no file"):
            call_command("import_judgments", file.with_name("missing.csv"))
        file.write_text("nothing")
        with pytest.raises(CommandError, match="first line"):
            call_command("import_judgments", file)
        assert Project.objects.count() == 1

    def test_command_with_rules(self, file: Path) -> None:
        file.write_text(HEADER + "0,1,9\n0,2,9\n0,3,8\n")
        arguments = ("import_judgments", file, "--rules", "yes-or-no", "--top-grade")
        with pytest.raises(CommandError, match="line 2: relevance 9 is outside 0 to 8"):
            call_command(*arguments, "8", stdout=StringIO())
        call_command(*arguments, "9", stdout=StringIO())
        assert rules_of(Project.objects.get()) == (9, 3, 0, 2)


def state_of_everything() -> list[object]:
    tables = (Project, Query, Batch, Pair, Judgment, Moment, Membership, User, AuditEvent)
    return [list(model.objects.order_by("pk").values_list()) for model in tables]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the first line must be pair_id,worker,relevance"),
        (b"worker,pair_id,relevance\n", "the first line must be"),
        (HEADER.encode() + b"0,7\n", "line 2: 2 columns instead of 3"),
        (HEADER.encode() + b"0,7,4\n0,7,4,1\n", "line 3: 4 columns"),
        (HEADER.encode() + b"0,,4\n", "line 2: worker is no whole number"),
        (HEADER.encode() + b"0,7,2.5\n", "line 2: relevance is no whole number"),
        (HEADER.encode() + b"-1,7,4\n", "line 2: a number that is negative or too large"),
        (HEADER.encode() + b"0,-7,4\n", "line 2: a number that is negative or too large"),
        (HEADER.encode() + b"0,7,5\n", "line 2: relevance 5 is outside 0 to 4"),
        (HEADER.encode() + b"\n\n0,7,-1\n", "line 4: relevance -1 is outside 0 to 4"),
        (HEADER.encode() + b"6,1,1\n" * 5, "pair 6: 5 grades, at most 4 make a pair"),
        (HEADER.encode() + b"%d,1,1\n" % (2**53 + 1), "line 2: a number that is negative or too large"),
        (HEADER.encode() + b"1,%d,1\n" % (2**31), "line 2: a number that is negative or too large"),
        (HEADER.encode() + b"1,\xff\xfe,1\n", "line 2: worker is no whole number"),
        (HEADER.encode() + b"1,1,1\x00\n", "line 2: relevance is no whole number"),
        (HEADER.encode(), "holds no judgment"),
    ],
)
def test_bad_file(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(ImportRefused, match=words) as refusal:
        read_judgments(path)
    assert refusal.value.status == 422


def test_bad_file_of_other_rules(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(HEADER + "6,1,1\n" * 7 + "7,1,2\n")
    with pytest.raises(ImportRefused) as refusal:
        read_judgments(path, preset_rules("yes-or-no"))
    assert str(refusal.value).splitlines()[1:] == [
        "line 9: relevance 2 is outside 0 to 1",
        "pair 6: 7 grades, at most 6 make a pair",
    ]


def test_twenty_bad_lines_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(HEADER + "0,7,9\n" * 33)
    with pytest.raises(ImportRefused) as refusal:
        read_judgments(path)
    lines = str(refusal.value).splitlines()
    assert (len(lines), lines[-1]) == (22, "... and 13 more")


def test_a_byte_order_mark_and_windows_lines_are_no_trouble(tmp_path: Path) -> None:
    path = tmp_path / "windows.csv"
    path.write_bytes(b"\xef\xbb\xbf" + (HEADER + "0,7,4\n0,8,3\n").replace("\n", "\r\n").encode())
    (pair,) = read_judgments(path)
    assert (pair.pair_id, pair.workers, pair.grades) == (0, (7, 8), (4, 3))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.django_db
@pytest.mark.skipif(not RAW.is_file(), reason=f"the published judgments are not at {RAW}")
def test_the_published_judgments() -> None:
    counts = judgments_import(path=RAW, project_name="TVR-Ranking")
    assert counts == {
        **{"judgments": 227808, "pairs": 96483, "settled": 94442, "settled_by_two": 79060, "settled_by_four": 15382},
        **{"dropped": 2041, "no_second_round": 2, "same_person_twice": 11682},
        "relevance": {"0": 5929, "1": 19245, "2": 30056, "3": 24439, "4": 14773},
    }
    assert Batch.objects.count() == 4825
    states = {state: Pair.objects.filter(state=state).count() for state in ("settled", "dropped", "open")}
    assert states == {"settled": 94442, "dropped": 2041, "open": 0}
    assert judgments_import(path=RAW, project_name="TVR-Ranking") == counts
    assert Judgment.objects.count() == 227808
