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
from annotation.corpora.services.imports import corpus_import_create, corpus_import_work, may_import_into
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
        row = bring(WITH_BAD + "v,1,2,=LINK(<b>),\n")
        corpus_import_work(import_id=row.pk)
        row.refresh_from_db()
        assert (row.state, row.percent) == ("checked", 100)
        counts = [row.counts[name] for name in ("descriptions", "flagged", "bad_lines", "added")]
        assert counts == [3, 2, 1, 3]
        assert [record["text"] for record in row.preview] == ["One sits.", "Ross", "=LINK(<b>)"]
        assert row.preview[1]["notes"] == ["is only a name or a word"]
        lines = report_of(row)
        outcomes = {line["line"]: line["outcome"] for line in lines}
        assert outcomes == {"3": "flagged", "4": "refused", "5": "flagged"}
        assert lines[-1]["text"] == "'=LINK(<b>)"  # no formula
        assert not Corpus.objects.filter(name="mine").exists()

    def test_a_file_that_gives_nothing_waits_for_nobody_and_says_what_it_may_be(self, bring: Any) -> None:
        row = bring('{"vid_name": "a", "ts": [1, 2], "desc": "x", "type": "v"}\n' * 3)
        assert (row.state, bool(row.file), row.counts["bad_lines"]) == ("failed", False, 1)
        assert row.error == (
            "Nothing in this file can be imported as Own form: CSV. Its only line is bad. The first: line 1: the first"
            " line names no column video, start, end, description. It looks like TVR (one JSON object a line)."
        )
        assert len(report_of(row)) == 1
        assert bring("video,start,end,description\n").error.endswith("It holds nothing.")

    def test_blank_lines_packed_small_are_refused(self, bring: Any) -> None:
        packed = gzip.compress(b"video,start,end,description\n" + b"\n" * (16 * 2**20), mtime=0)
        assert len(packed) < 20_000
        row = bring(file=SimpleUploadedFile("x.csv.gz", packed))
        assert row.state == "failed"
        assert row.error.startswith("The file unpacks to more than 200 times its size, as no annotations do; unpack it")

    @pytest.mark.parametrize(
        ("setting", "value", "words"),
        [
            ("UPLOAD_MAX_LINES", 1, "more than 1 lines"),
            ("UPLOAD_MAX_S", -1, "takes longer than"),
            ("IMPORT_MAX_UNPACKED_MB", 0, "Unpacked, the file is larger than 0 MB; split it into several files."),
        ],
    )
    def test_bytes_lines_and_seconds_have_an_end(
        self, bring: Any, settings: Any, setting: str, value: int, words: str
    ) -> None:
        setattr(settings, setting, value)
        row = bring()
        assert (row.state, bool(row.file)) == ("failed", False)
        assert words in row.error and f"can raise {setting}." in row.error

    def test_lengths_come_from_the_table(self, bring: Any) -> None:
        table = upload(json.dumps({"val": {"v": [60, 7]}}), "table.json")
        row = bring("video,start,end,description\nv,1,2,One sits.\nw,1,2,Two.\n", durations=table)
        assert (row.counts["descriptions"], row.counts["bad_lines"]) == (1, 1)
        error = bring(durations=upload("[]", "table.json")).error
        assert error == "The file of video lengths must be an object of splits."


class TestImport:
    def test_a_yes_imports_it_once(self, bring: Any, messages: Messages) -> None:
        checked = bring()
        file_name = checked.file.name
        assert default_storage.exists(file_name)
        row = confirm(checked, messages)
        assert (row.state, row.counts["added"], bool(row.file)) == ("done", 2, False)
        assert not default_storage.exists(file_name)
        actions = AuditEvent.objects.order_by("id").values_list("action", "actor")
        assert list(actions) == [(name, row.owner_id) for name in ("corpus.upload", "corpus.confirm", "corpus.import")]
        with pytest.raises(NotPossible, match="does not wait"):
            confirm(row, messages)
        corpus_import_work(import_id=row.pk)
        assert Description.objects.filter(corpus__name="mine").count() == 2

    def test_bad_lines_are_left_out_by_word_and_a_corpus_that_changed_keeps_the_file_out(
        self, bring: Any, messages: Messages
    ) -> None:
        numbered = "video,start,end,description,duration,id\nv,1,2,{},60,5\n"
        first, second = (
            bring(numbered.format("One sits.") + "v,9,4,Backwards.,,6\n"),
            bring(numbered.format("Two sit.")),
        )
        with pytest.raises(NotPossible, match="bad lines"):
            confirm(first, messages)
        assert confirm(first, messages, skip_bad=True).counts["added"] == 1
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

    def test_subtitles(self, bring: Any, messages: Messages) -> None:
        project = ProjectFactory()
        VideoFactory(corpus=project.dataset.corpus, name="v")
        srt = SimpleUploadedFile("v.srt", b"1\n00:00:01,000 --> 00:00:02,000\nHello.\n")
        values = {"format": "srt", "file": srt, "corpus_name": project.dataset.corpus.name, "actor": lead(project)}
        confirm(bring(**values), messages)
        assert Subtitle.objects.get().text == "Hello."


class TestDiscard:
    def test_what_nobody_confirmed_goes_after_a_week(self, bring: Any, messages: Messages) -> None:
        row, other = bring(), bring(corpus_name="other")
        with messages():
            sweep_all(now=timezone.now() + timedelta(days=6))
            imports.IMPORTS.discard(row=other, actor=other.owner)
        assert default_storage.exists(row.file.name) and not default_storage.exists(other.file.name)
        with pytest.raises(NotPossible):
            confirm(other, messages)
        assert CorpusImport.objects.get(pk=row.pk).state == "checked"
        with messages():
            sweep_all(now=timezone.now() + timedelta(days=8))
        row.refresh_from_db()
        assert row.state == "discarded"


def test_one_file_is_read_at_a_time(owner: User) -> None:
    def create(actor: User, name: str = "mine") -> CorpusImport:
        return corpus_import_create(actor=actor, corpus_name=name, format="csv", file=upload(GOOD))

    create(owner)
    with pytest.raises(NotPossible, match="still being read"):
        create(owner)
    with pytest.raises(NotPossible, match="not yours"):
        create(owner, CorpusFactory().name)
    create(lead(ProjectFactory()), "other")


class TestWhose:
    def test_a_new_name_and_the_corpus_of_ones_project(self) -> None:
        project = ProjectFactory()
        for person, own in ((lead(project), True), (annotator(project), False), (UserFactory(), False)):
            assert may_import_into(actor=person, corpus_name="new")
            assert may_import_into(actor=person, corpus_name=project.dataset.corpus.name) is own
        assert not may_import_into(actor=lead(project), corpus_name=CorpusFactory().name)
        historic = ProjectFactory(corpus__is_placeholder=True)
        assert not may_import_into(actor=lead(historic), corpus_name=historic.dataset.corpus.name)

    def test_ones_own_import_until_a_project_of_others_uses_it(
        self, bring: Any, messages: Messages, owner: User
    ) -> None:
        confirm(bring(), messages)
        assert may_import_into(actor=owner, corpus_name="mine")
        ProjectFactory(corpus=Corpus.objects.get(name="mine"))
        assert not may_import_into(actor=owner, corpus_name="mine")
