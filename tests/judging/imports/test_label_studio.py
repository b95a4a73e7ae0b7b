"""Label Studio exports: a file's way through the web, the command, and the published judgments in that form."""

import csv
import gzip
import io
import json
from collections.abc import Iterable, Iterator
from datetime import timedelta
from io import StringIO
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import Membership, Project, User
from core.exceptions import NotPossible
from core.jobs import sweep_all
from core.models import AuditEvent
from judging.imports import services
from judging.imports.historic import judgments_import, read_judgments
from judging.imports.label_studio import Mapped
from judging.models import Judgment, JudgmentImport, Pair
from judging.work.rules import rules_of
from tests.conftest import Messages
from tests.factories import ProjectFactory, UserFactory
from tests.judging.imports.exports import annotation, flat, rated, task, text
from tests.judging.imports.test_historic import RAW
from tests.media import names_in

pytestmark = pytest.mark.django_db
BY_PAIR = Mapped(pair="pair_id")
GOOD = [
    task(1, {"pair_id": 0}, annotation(1, 7, rated(4)), annotation(2, {"id": 8, "email": "b@example.org"}, rated(3))),
    task(2, {"pair_id": 21}, annotation(3, 7, rated(0)), annotation(4, "c@example.org", rated(4))),
]
BAD = task(3, {"pair_id": 22}, annotation(5, 7, rated(5)), annotation(6, 7, rated(1), was_cancelled=True))


@pytest.fixture
def owner() -> User:
    return UserFactory()  # type: ignore[no-any-return]


def bring(owner: User, messages: Messages, *elements: object, data: bytes = b"", name: str = "old") -> JudgmentImport:
    """Upload an export; by the end it is checked."""
    file = SimpleUploadedFile("project-1.json", data or text(elements).encode())
    with messages():
        row = services.judgment_import_create(actor=owner, project_name=name, mapped=BY_PAIR, file=file)
    row.refresh_from_db()
    return row


@pytest.mark.parametrize("name", ["grade\0", "\ud800"])
def test_a_control_whose_name_the_database_cannot_hold(owner: User, messages: Messages, name: str) -> None:
    task_data = task(1, {"pair_id": 0}, annotation(1, 7, rated(4, name=name)), annotation(2, 8, rated(3, name=name)))
    assert bring(owner, messages, task_data).state == "checked"
    several = task(1, {"pair_id": 0}, annotation(1, 7, rated(4, name=name), rated(1, name="other")))
    failed = bring(owner, messages, several)
    assert failed.state == "failed" and "Several controls" in failed.error
    assert not names_in("imports") or failed.file.name == ""


def confirm(row: JudgmentImport, messages: Messages, *, skip_bad: bool = False) -> JudgmentImport:
    with messages():
        services.IMPORTS.confirm(row=row, actor=row.owner, skip_bad=skip_bad)
    row.refresh_from_db()
    return row


class TestThroughTheWeb:
    def test_checked_then_imported(self, owner: User, messages: Messages) -> None:
        row = bring(owner, messages, *GOOD)
        assert (row.state, row.counts["judgments"], row.counts["people"]) == ("checked", 4, 3)
        assert not Project.objects.exists()
        confirm(row, messages)
        assert (row.state, row.error, str(row.file)) == ("done", "", "")
        assert row.project == Project.objects.get(name="old")
        rows = Pair.objects.order_by("source_id").values_list("source_id", "state", "relevance", "reason")
        assert list(rows) == [(0, "settled", 4, ""), (21, "dropped", None, "no_second_round")]
        assert set(Judgment.objects.values_list("source", flat=True)) == {"imported"}
        people = row.project.memberships.order_by("number").values_list("roles", "number")
        assert list(people) == [*((["annotator"], number) for number in (7, 8, 9)), (["lead", "admin"], None)]
        services.judgment_import_work(import_id=row.pk)
        assert Judgment.objects.count() == 4

    def test_refused_rows_need_a_confirmation_and_addresses_are_saved_nowhere(
        self, owner: User, messages: Messages
    ) -> None:
        row = bring(owner, messages, *GOOD, BAD)
        assert (row.counts["refused"], row.counts["left_out"]) == (1, 1)
        report = row.report.read().decode()
        assert [(warning["item"], warning["outcome"]) for warning in csv.DictReader(io.StringIO(report))] == [
            ("task 3, annotation 5", "refused"),
            ("task 3, annotation 6", "left out"),
        ]
        with pytest.raises(NotPossible, match="refused"):
            confirm(row, messages)
        assert confirm(row, messages, skip_bad=True).state == "done"
        texts = [report, str(row.counts), row.error]
        texts += [str(list(model.objects.values_list())) for model in (AuditEvent, User, Membership, JudgmentImport)]
        assert not any("example.org" in words for words in texts)

    def test_a_file_that_is_no_export(self, owner: User, messages: Messages) -> None:
        no_exports = {b"{}": "JSON list of tasks", b"PK\x03\x04zip": "zip archive", b"\xff\xfe[\x00": "UTF-16"}
        for data, words in no_exports.items():
            row = bring(owner, messages, data=data)
            assert (row.state, str(row.file)) == ("failed", "")
            assert words in row.error

    def test_a_name_that_is_taken_or_a_file_without_judgments(self, owner: User, messages: Messages) -> None:
        ProjectFactory(name="old")
        with pytest.raises(NotPossible, match="already"):
            bring(owner, messages, *GOOD)
        row = bring(owner, messages, data=gzip.compress(text(GOOD).encode()), name="new")
        assert row.counts["judgments"] == 4
        ProjectFactory(name="new")
        assert confirm(row, messages).state == "failed"
        assert "holds other data" in row.error
        empty = confirm(bring(owner, messages, task(1, {"pair_id": 1}), name="empty"), messages)
        assert (empty.state, Project.objects.filter(name="empty").exists()) == ("failed", False)

    def test_swept(self, owner: User, messages: Messages) -> None:
        """A lost message is sent again; a file that nobody wanted goes."""
        file = SimpleUploadedFile("project-1.json", text(GOOD).encode())
        row = services.judgment_import_create(actor=owner, project_name="old", mapped=BY_PAIR, file=file)
        before = names_in("imports")
        with pytest.raises(NotPossible, match="still being read"):
            bring(owner, messages, *GOOD, name="other")
        assert names_in("imports") == before
        with messages():
            sweep_all(now=timezone.now() + timedelta(minutes=3))
        row.refresh_from_db()
        assert row.state == "checked"
        with messages():
            sweep_all(now=timezone.now() + timedelta(days=8))
        row.refresh_from_db()
        assert (row.state, len(before - names_in("imports"))) == ("discarded", 1)
        with pytest.raises(NotPossible):
            confirm(row, messages)
        other = bring(owner, messages, *GOOD)
        before = names_in("imports")
        with messages():
            services.IMPORTS.discard(row=other, actor=owner)
        assert len(before - names_in("imports")) == 1


class TestCommand:
    @pytest.fixture
    def run(self, tmp_path: Path) -> Any:
        def call(elements: Iterable[object], *arguments: str) -> tuple[dict[str, Any], str]:
            (tmp_path / "export.json").write_text(text(elements))
            out, errors = StringIO(), StringIO()
            call_command("import_label_studio", tmp_path / "export.json", *arguments, stdout=out, stderr=errors)
            return json.loads(out.getvalue().splitlines()[-1]), errors.getvalue()

        return call

    def test_with_fields_and_values_named(self, run: Any) -> None:
        data = {"q": "A man sits", "m": "clip 1"}
        tasks = [flat(n, 7 + n, data, quality=word) for n, word in enumerate(["Good", "Bad"])]
        fields = ["--query-field", "q", "--moment-field", "m", "--control", "quality"]
        grades = ["--grade", "Good=3", "--grade", "Bad=2"]
        counts, _ = run(tasks, "--project", "old", *fields, *grades)
        assert (counts["settled"], counts["relevance"]["3"], counts["control"]) == (1, 1, "quality")
        assert Project.objects.get().queries.get().text == "A man sits"

    def test_dry_and_with_a_report_then_once(self, run: Any, tmp_path: Path) -> None:
        report = tmp_path / "report.csv"
        counts, errors = run([*GOOD, BAD], "--project", "old", "--dry-run", "--report", str(report))
        assert (counts["judgments"], counts["refused"], Project.objects.count()) == (4, 1, 0)
        assert "task 3, annotation 5: refused: the value '5' is no grade from 0 to 4" in errors
        assert len(report.read_text().splitlines()) == 3
        first, _ = run(GOOD, "--project", "old")
        assert run(GOOD, "--project", "old")[0] == first
        assert Project.objects.count() == 1
        with pytest.raises(CommandError, match="other data"):
            run(GOOD[:1], "--project", "old")

    def test_with_rules(self, run: Any) -> None:
        rules = ("--rules", "three-grades", "--top-grade", "9")
        counts, _ = run([*GOOD, BAD], "--project", "old", *rules)
        assert (counts["judgments"], counts["refused"]) == (5, 0)
        assert rules_of(Project.objects.get()) == (9, 2, 0, 2)
        assert run([*GOOD, BAD], "--project", "old", *rules)[0] == counts
        with pytest.raises(CommandError, match="by other rules"):
            run([*GOOD, BAD], "--project", "old", "--top-grade", "9")

    def test_refused(self, run: Any) -> None:
        for arguments, words in (
            ([], "1 annotations are refused"),
            (["--grade", "x"], "write it as"),
            (["--query-field", "q"], "Name the field"),
            (["--skip-bad", "--lead", "nobody"], "'nobody'"),
        ):
            with pytest.raises(CommandError, match=words):
                run([*GOOD, BAD], "--project", "old", *arguments)
        assert not Project.objects.exists()
        with pytest.raises(CommandError, match="no file"):
            call_command("import_label_studio", "missing.json", "--project", "old")


def as_export(path: Path, pairs: int | None = None) -> Iterator[str]:
    """Published judgments as Label Studio would have exported them: a task for each pair, grades as stars."""
    with path.open(newline="") as file:
        lines = sorted(csv.DictReader(file), key=lambda line: int(line["pair_id"]))
        yield "["
        for index, (pair, pair_lines) in enumerate(islice(groupby(lines, key=lambda line: line["pair_id"]), pairs)):
            annotations = [
                annotation(10 * int(pair) + n, int(line["worker"]), rated(int(line["relevance"]) + 1), minute=n)
                for n, line in enumerate(pair_lines)
            ]
            annotations.reverse()  # the newest first, as it writes them
            yield ("," if index else "") + json.dumps(task(int(pair), {"pair_id": int(pair)}, *annotations))
        yield "]"


def import_both_formats(tmp_path: Path, pairs: int | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Import the export, and the same judgments as ``raw_annotation.csv``."""
    export, plain = tmp_path / "export.json", tmp_path / "plain.csv"
    with export.open("w") as file:
        file.writelines(as_export(RAW, pairs))
    rows = read_judgments(RAW)[:pairs]
    lines = [
        f"{row.pair_id},{who},{grade}\n" for row in rows for who, grade in zip(row.workers, row.grades, strict=True)
    ]
    plain.write_text("".join(["pair_id,worker,relevance\n", *lines]))
    out = StringIO()
    stars = [argument for grade in range(5) for argument in ("--grade", f"{grade + 1}={grade}")]
    call_command("import_label_studio", export, "--project", "export", *stars, stdout=out)
    return json.loads(out.getvalue().splitlines()[-1]), judgments_import(path=plain, project_name="plain")


def judged(project: str) -> list[tuple[Any, ...]]:
    fields = ("pair__source_id", "pair__state", "pair__relevance", "round", "slot", "grade", "occurrence")
    judgments = Judgment.objects.filter(pair__batch__project__name=project).order_by("pair__source_id", "round", "slot")
    numbers = dict(Membership.objects.filter(project__name=project).values_list("user", "number"))
    return [(*row, numbers[who]) for *row, who in judgments.values_list(*fields, "annotator")]


@pytest.mark.skipif(not RAW.is_file(), reason=f"the published judgments are not at {RAW}")
def test_published_judgments_come_to_the_same_in_both_forms(tmp_path: Path) -> None:
    exported, plain = import_both_formats(tmp_path, 400)
    assert {name: exported[name] for name in plain} == plain
    assert judged("export") == judged("plain")
    assert exported["same_person_twice"] > 0
