"""A file brought through the web: checked, confirmed, imported as a whole, by people who may."""

import csv
import gzip
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from accounts.models import User
from annotation.corpora.services import imports
from annotation.corpora.services.imports import (
    corpus_import_create,
    corpus_import_work,
    may_import_into,
)
from annotation.models import Corpus, CorpusImport, Description, Subtitle
from core.exceptions import NotPossible
from core.jobs import sweep_all
from core.models import AuditEvent
from tests.conftest import Messages
from tests.factories import CorpusFactory, ProjectFactory, UserFactory, VideoFactory, annotator, lead

pytestmark = pytest.mark.django_db
GOOD = "video,start,end,description,duration\nv,1,2,One sits.,60\nv,3,4,Ross,\n"
WITH_BAD = GOOD + "v,9,4,Backwards.,\n"


def upload(text: str, name: str = "mine.csv") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode())


@pytest.fixture
def owner() -> User:
    return lead(ProjectFactory())


@pytest.fixture
def bring(owner: User, messages: Messages) -> Any:
    def bring(text: str = GOOD, **values: Any) -> CorpusImport:
        options = {"actor": owner, "corpus_name": "mine", "format": "csv", "file": upload(text), **values}
        with messages():
            row = corpus_import_create(**options)
        row.refresh_from_db()
        return row

    return bring


def confirm(row: CorpusImport, messages: Messages, *, skip_bad: bool = False) -> CorpusImport:
    with messages():
        imports.IMPORTS.confirm(row=row, actor=row.owner, skip_bad=skip_bad)
    row.refresh_from_db()
    return row


def report_of(row: CorpusImport) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(row.report.read().decode())))


class TestCheck:
    def test_it_reports_and_stores_nothing(self, bring: Any) -> None:
        row = bring(WITH_BAD)
        assert (row.state, row.percent) == ("checked", 100)
        assert {name: row.counts[name] for name in ("descriptions", "flagged", "bad_lines", "added")} == {
            "descriptions": 2,
            "flagged": 1,
            "bad_lines": 1,
            "added": 2,
        }
        assert [record["text"] for record in row.preview] == ["One sits.", "Ross"]
        assert row.preview[1]["notes"] == ["is only a name or a word"]
        assert [(line["line"], line["outcome"]) for line in report_of(row)] == [("3", "flagged"), ("4", "refused")]
        assert not Corpus.objects.filter(name="mine").exists()

    def test_a_file_that_cannot_be_used_says_why(self, bring: Any) -> None:
        row = bring(file=SimpleUploadedFile("x.csv", b"PK\x03\x04..."))
        assert (row.state, row.error, bool(row.file)) == (
            "failed",
            "The file is a zip archive; unpack it first.",
            False,
        )

    def test_a_file_that_gives_nothing_waits_for_nobody_and_says_what_it_may_be(self, bring: Any) -> None:
        row = bring('{"vid_name": "a", "ts": [1, 2], "desc": "x", "type": "v"}\n' * 3)
        assert (row.state, bool(row.file), row.counts["bad_lines"]) == ("failed", False, 1)
        assert row.error == (
            "Nothing in this file can be imported as Own form: CSV. Its only line is bad. The first: line 1: the first"
            " line names no column video, start, end, description. It looks like TVR (one JSON object a line)."
        )
        assert len(report_of(row)) == 1
        assert bring("video,start,end,description\n").error.endswith("It holds nothing.")

    def test_unpacking_has_an_end(self, bring: Any, settings: Any) -> None:
        settings.IMPORT_MAX_UNPACKED_MB = 0
        assert bring().error.startswith("Unpacked, the file is larger than 0 MB; split it into several files.")

    def test_blank_lines_packed_small_are_refused(self, bring: Any) -> None:
        packed = gzip.compress(b"video,start,end,description\n" + b"\n" * (16 * 2**20), mtime=0)
        assert len(packed) < 20_000
        row = bring(file=SimpleUploadedFile("x.csv.gz", packed))
        assert row.state == "failed"
        assert row.error.startswith("The file unpacks to more than 200 times its size, as no annotations do; unpack it")

    @pytest.mark.parametrize(
        ("setting", "value", "words"), [("LINES", 1, "more than 1 lines"), ("S", -1, "takes longer than")]
    )
    def test_lines_and_seconds_have_an_end(
        self, bring: Any, settings: Any, setting: str, value: int, words: str
    ) -> None:
        setattr(settings, f"UPLOAD_MAX_{setting}", value)
        row = bring()
        assert (row.state, bool(row.file)) == ("failed", False)
        assert words in row.error and f"can raise UPLOAD_MAX_{setting}." in row.error

    def test_lengths_come_from_the_table(self, bring: Any) -> None:
        table = upload(json.dumps({"val": {"v": [60, 7]}}), "table.json")
        row = bring("video,start,end,description\nv,1,2,One sits.\nw,1,2,Two.\n", durations=table)
        assert (row.counts["descriptions"], row.counts["bad_lines"]) == (1, 1)
        assert (
            bring(durations=upload("[]", "table.json")).error
            == "The file of video lengths must be an object of splits."
        )

    def test_a_formula_is_no_formula_in_the_report(self, bring: Any) -> None:
        row = bring("video,start,end,description,duration\nv,1,2,=LINK(<b>),60\nv,1,2,a <b>,\n")
        assert [line["text"] for line in report_of(row)] == ["'=LINK(<b>)", "a <b>"]

    def test_a_repeat_finds_it_done(self, bring: Any) -> None:
        row = bring()
        corpus_import_work(import_id=row.pk)
        row.refresh_from_db()
        assert row.state == "checked"


class TestImport:
    def test_a_yes_imports_it(self, bring: Any, messages: Messages) -> None:
        row = confirm(bring(), messages)
        assert (row.state, row.counts["added"], bool(row.file)) == ("done", 2, False)
        assert Description.objects.filter(corpus__name="mine").count() == 2
        actions = AuditEvent.objects.order_by("id").values_list("action", "actor")
        assert list(actions) == [(name, row.owner_id) for name in ("corpus.upload", "corpus.confirm", "corpus.import")]

    def test_bad_lines_must_be_left_out_by_word(self, bring: Any, messages: Messages) -> None:
        row = bring(WITH_BAD)
        with pytest.raises(NotPossible, match="bad lines"):
            confirm(row, messages)
        assert confirm(row, messages, skip_bad=True).counts["added"] == 2

    def test_a_yes_counts_once(self, bring: Any, messages: Messages) -> None:
        row = confirm(bring(), messages)
        with pytest.raises(NotPossible, match="does not wait"):
            confirm(row, messages)
        corpus_import_work(import_id=row.pk)
        assert Description.objects.count() == 2

    def test_a_corpus_that_changed_meanwhile_keeps_the_file_out(self, bring: Any, messages: Messages) -> None:
        numbered = "video,start,end,description,duration,id\nv,1,2,{},60,5\n"
        first, second = bring(numbered.format("One sits.")), bring(numbered.format("Two sit."))
        confirm(first, messages)
        assert confirm(second, messages).error.startswith("The corpus has changed")
        assert second.state == "failed"
        assert Description.objects.get().text == "One sits."

    def test_a_fault_in_the_middle_leaves_nothing(
        self, bring: Any, messages: Messages, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        row = bring()

        def broken(*args: object, **values: object) -> None:
            raise RuntimeError("the disk is full")

        monkeypatch.setattr(imports, "upload_finish", broken)
        with pytest.raises(RuntimeError):
            confirm(row, messages)
        row.refresh_from_db()
        assert (row.state, row.error) == ("failed", "RuntimeError: the disk is full")
        assert not Corpus.objects.filter(name="mine").exists()

    def test_the_file_goes_when_it_is_done_with(self, bring: Any, messages: Messages) -> None:
        row = bring()
        file_name = row.file.name
        assert default_storage.exists(file_name)
        confirm(row, messages)
        assert not default_storage.exists(file_name)

    def test_subtitles(self, bring: Any, messages: Messages) -> None:
        project = ProjectFactory()
        VideoFactory(corpus=project.dataset.corpus, name="v")
        srt = SimpleUploadedFile("v.srt", b"1\n00:00:01,000 --> 00:00:02,000\nHello.\n")
        values = {"format": "srt", "file": srt, "corpus_name": project.dataset.corpus.name, "actor": lead(project)}
        confirm(bring(**values), messages)
        assert Subtitle.objects.get().text == "Hello."


class TestDiscard:
    def test_it_deletes_the_file(self, bring: Any, messages: Messages) -> None:
        row = bring()
        file_name = row.file.name
        with messages():
            imports.IMPORTS.discard(row=row, actor=row.owner)
        assert not default_storage.exists(file_name)
        with pytest.raises(NotPossible):
            confirm(row, messages)

    def test_what_nobody_confirmed_goes_after_a_week(self, bring: Any, messages: Messages) -> None:
        row = bring()
        with messages():
            sweep_all(now=timezone.now() + timedelta(days=6))
        assert CorpusImport.objects.get().state == "checked"
        with messages():
            sweep_all(now=timezone.now() + timedelta(days=8))
        row.refresh_from_db()
        assert row.state == "discarded"


def test_a_lost_message_is_sent_again(owner: User, messages: Messages) -> None:
    corpus_import_create(actor=owner, corpus_name="mine", format="csv", file=upload(GOOD))  # its message is lost
    with messages() as callbacks:
        sweep_all(now=timezone.now())
    assert callbacks == []
    with messages():
        sweep_all(now=timezone.now() + timedelta(minutes=3))
    assert CorpusImport.objects.get().state == "checked"


def test_one_file_at_a_time(owner: User) -> None:
    corpus_import_create(actor=owner, corpus_name="mine", format="csv", file=upload(GOOD))
    with pytest.raises(NotPossible, match="still being read"):
        corpus_import_create(actor=owner, corpus_name="mine", format="csv", file=upload(GOOD))
    corpus_import_create(actor=lead(ProjectFactory()), corpus_name="other", format="csv", file=upload(GOOD))


class TestWhose:
    def test_a_new_name_and_the_corpus_of_ones_project(self) -> None:
        project = ProjectFactory()
        for person, own in ((lead(project), True), (annotator(project), False), (UserFactory(), False)):
            assert may_import_into(actor=person, corpus_name="new")
            assert may_import_into(actor=person, corpus_name=project.dataset.corpus.name) is own
        strange = CorpusFactory()
        assert not may_import_into(actor=lead(project), corpus_name=strange.name)

    def test_historic_judgments_take_no_file(self) -> None:
        project = ProjectFactory(corpus__is_placeholder=True)
        assert not may_import_into(actor=lead(project), corpus_name=project.dataset.corpus.name)

    def test_ones_own_import_until_a_project_of_others_uses_it(
        self, bring: Any, messages: Messages, owner: User
    ) -> None:
        confirm(bring(), messages)
        assert may_import_into(actor=owner, corpus_name="mine")
        ProjectFactory(corpus=Corpus.objects.get(name="mine"))
        assert not may_import_into(actor=owner, corpus_name="mine")

    def test_somebody_elses_corpus_is_refused(self, bring: Any) -> None:
        strange = CorpusFactory()
        with pytest.raises(NotPossible, match="not yours"):
            bring(corpus_name=strange.name)
