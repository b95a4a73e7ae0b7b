"""Importing annotated moments: a file twice, bad lines, files of videos, forms other than TVR's, statements counted."""

import json
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.corpora.importers.base import (
    BadLine,
    DescriptionRecord,
    Item,
    MomentRecord,
    SubtitleRecord,
    VideoRecord,
)
from annotation.corpora.services import corpora
from annotation.corpora.services.corpora import ImportReport, corpus_durations, corpus_import
from annotation.models import Caption, Corpus, Description, Moment, Video
from core.exceptions import NotPossible
from core.models import AuditEvent
from core.uploads import LineWarning
from tests.conftest import Messages
from tests.factories import CorpusFactory, VideoFactory

pytestmark = pytest.mark.django_db
DURATIONS = {"alpha": (60.0, 4), "beta": (30.0, 2), "gamma": (20.0, 9)}
TABLES = (Corpus, Video, Moment, Description, Caption, AuditEvent)


def record(line: int, source_id: int, video: str = "alpha", **values: object) -> DescriptionRecord:
    fields = {"start_s": 1.0, "end_s": 2.0, "text": f"sentence {source_id}", "kind": "video", **values}
    return DescriptionRecord(line=line, source_id=source_id, video_name=video, **fields)  # type: ignore[arg-type]


GOOD = [
    record(1, 10),
    record(2, 11, kind="subtitle"),  # the same moment
    record(3, 12, "beta", start_s=0.0, end_s=30.0, kind="both"),
]


def load(records: Sequence[DescriptionRecord | BadLine], **values: object) -> ImportReport:
    options = {"corpus_name": "tvr", "source_split": "val", "durations": dict(DURATIONS), **values}
    return corpus_import(records=records, **options)  # type: ignore[arg-type]


def everything() -> list[object]:
    return [list(model.objects.order_by("pk").values_list()) for model in TABLES]  # type: ignore[attr-defined]


class TestRows:
    def test_rows_and_counts(self) -> None:
        report = load(GOOD)
        assert report.counts() == {
            **{"descriptions": 3, "video": 1, "subtitle": 1, "both": 1, "moments": 2, "videos": 2, "subtitles": 0},
            **{"added": 3, "videos_with_file": 0, "clipped": 0, "flagged": 0, "bad_lines": 0},
        }
        videos = Video.objects.order_by("name").values_list("name", "duration_s", "index", "source_split")
        assert list(videos) == [("alpha", 60.0, 4, "val"), ("beta", 30.0, 2, "val")]
        columns = ("source_id", "text", "kind", "moment__video__name", "moment__start_s", "moment__end_s")
        assert list(Description.objects.order_by("source_id").values_list(*columns)) == [
            (10, "sentence 10", "video", "alpha", 1.0, 2.0),
            (11, "sentence 11", "subtitle", "alpha", 1.0, 2.0),
            (12, "sentence 12", "both", "beta", 0.0, 30.0),
        ]
        for caption in Caption.objects.all():
            row = (caption.text, caption.moment_id, caption.provider)
            assert row == (caption.description.text, caption.description.moment_id, "as-described")
        assert set(Moment.objects.values_list("preview_state", flat=True)) == {"missing"}
        event = AuditEvent.objects.get(action="corpus.import")
        assert (event.subject, event.data["added"]) == (Corpus.objects.get().uuid, 3)
        before = everything()
        again = load(GOOD)
        assert everything() == before
        assert (again.added, again.descriptions, again.bad) == (0, 3, [])
        assert load(GOOD, corpus_name="other").added == 3  # two corpora share nothing
        assert (Corpus.objects.count(), Video.objects.count()) == (2, 4)

    def test_a_longer_file_adds_what_is_new(self) -> None:
        load(GOOD[:2])
        assert load([*GOOD, record(4, 13)]).added == 2
        assert (Description.objects.count(), Moment.objects.count()) == (4, 2)

    def test_a_clashing_index_is_replaced(self) -> None:
        corpus = Corpus.objects.create(name="tvr")
        VideoFactory(corpus=corpus, name="other", index=4)
        load(GOOD)
        rows = set(corpus.videos.values_list("name", "index", "index_is_given"))
        assert rows == {("other", 4, True), ("alpha", 10, False), ("beta", 2, True)}


class TestBadLines:
    def test_all_or_nothing(self) -> None:
        lines = [GOOD[0], BadLine(7, "not JSON"), *GOOD[1:]]
        report = load(lines)
        assert report.bad == [BadLine(7, "not JSON")]
        assert (report.added, everything()) == (0, [[]] * len(TABLES))

        report = load(lines, skip_bad=True)
        assert (report.added, len(report.bad), Description.objects.count()) == (3, 1, 3)

    def test_other_content_under_a_known_id(self) -> None:
        load(GOOD)
        before = everything()
        changed = [record(1, 10, text="something else"), record(9, 99)]
        report = load(changed)
        assert [(bad.line, bad.reason) for bad in report.bad] == [(1, "desc_id 10 is in the corpus with other content")]
        assert everything() == before
        assert load(changed, skip_bad=True).added == 1
        assert Description.objects.get(source_id=10).text == "sentence 10"


class TestFiles:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """A file for alpha, none for beta, one for nobody."""
        (tmp_path / "alpha.MP4").write_bytes(b"not really a video")
        (tmp_path / "nobody.mp4").write_bytes(b"")
        (tmp_path / "beta.txt").write_text("no video")
        return tmp_path

    def test_found_and_missing_until_it_comes(self, folder: Path) -> None:
        assert load(GOOD, videos=folder).videos_with_file == 1
        alpha, beta = Video.objects.order_by("name")
        assert alpha.file.read() == b"not really a video"
        assert "alpha" not in alpha.file.name
        assert not beta.file
        moment = beta.moments.get()
        assert (moment.preview_state, "no file of this name" in moment.preview_error) == ("failed", True)
        (folder / "beta.webm").write_bytes(b"late")
        assert load(GOOD, videos=folder).videos_with_file == 1
        moment.refresh_from_db()
        assert (moment.preview_state, moment.preview_error) == ("missing", "")

    def test_cutting_is_sent(self, folder: Path, messages: Messages) -> None:
        with messages() as callbacks:
            load(GOOD, videos=folder)
        assert "previews_sweep" in str(callbacks[0])  # one message, however many videos
        moment = Moment.objects.get(video__name="alpha")
        assert (moment.preview_state, moment.preview_error[:24]) == ("failed", "The video cannot be read")


class TestCommand:
    @pytest.fixture
    def files(self, tmp_path: Path) -> list[str]:
        """Arguments for a file with one good and one bad line."""
        table = tmp_path / "durations.json"
        table.write_text(json.dumps({"val": {"alpha": [60.0, 4]}}))
        line = {"vid_name": "alpha", "duration": 60, "ts": [1, 2], "desc": "x", "type": "v", "desc_id": 1}
        (tmp_path / "tvr.jsonl").write_text(json.dumps(line) + "\nnot json\n")
        return ["tvr", str(tmp_path / "tvr.jsonl"), "--durations", str(table), "--source-split", "val"]

    def test_bad_line(self, files: list[str], tmp_path: Path) -> None:
        """3 where bad lines kept everything out, 1 where the file cannot be used."""
        err = StringIO()
        with pytest.raises(CommandError, match="1 bad lines; nothing was imported") as bad:
            call_command("import_corpus", *files, stderr=err)
        with pytest.raises(CommandError) as unusable:
            call_command("import_corpus", "tvr", str(tmp_path), *files[2:])
        assert (bad.value.returncode, unusable.value.returncode) == (3, 1)
        assert err.getvalue() == "line 2: not JSON\n"
        with pytest.raises(CommandError, match="nothing was imported"):
            call_command("import_corpus", "csv", files[1], stderr=err)
        assert "looks like TVR (one JSON object a line): try import_corpus tvr." in err.getvalue()
        assert not Corpus.objects.exists()

    def test_skip_bad(self, files: list[str], tmp_path: Path) -> None:
        report, dry, out = tmp_path / "report.csv", StringIO(), StringIO()
        options = [*files, "--skip-bad", "--report", str(report)]
        call_command("import_corpus", *options, "--dry-run", stdout=dry, stderr=StringIO())
        assert not Corpus.objects.exists()
        call_command("import_corpus", *options, stdout=out, stderr=StringIO())
        assert [json.loads(output.getvalue().splitlines()[-1])["added"] for output in (dry, out)] == [1, 1]
        assert Corpus.objects.get().name == "tvr"
        assert report.read_text() == '"file","line","item","outcome","reason","text"\n"",2,"","refused","not JSON",""\n'

    def test_files_that_are_not_there(self, files: list[str], tmp_path: Path) -> None:
        missing = str(tmp_path / "none.jsonl")
        for words, message in (
            ([*files, "--videos", missing], "no folder"),
            (["tvr", missing, *files[2:]], "none.jsonl"),
            ([*files[:2], "--durations", missing], "video lengths .*/none.jsonl cannot be read: No such file"),
        ):
            with pytest.raises(CommandError, match=message):
                call_command("import_corpus", *words)

    def test_clip_and_lengths_of_the_file(self, tmp_path: Path) -> None:
        path = tmp_path / "test.json"
        entry = {"timestamps": [[0, 400]], "sentences": ["Cut it."], "fps": 10, "num_frames": 300}
        path.write_text(json.dumps({"v": entry}))
        with pytest.raises(CommandError, match="1 bad lines"):
            call_command("import_corpus", "tacos", str(path), stderr=StringIO())
        out = StringIO()
        call_command("import_corpus", "tacos", str(path), "--clip", stdout=out)
        assert json.loads(out.getvalue())["clipped"] == 1
        assert Moment.objects.get().end_s == Video.objects.get().duration_s == 30.0

    def test_a_folder_of_subtitles(self, tmp_path: Path) -> None:
        video = VideoFactory(name="alpha")
        (tmp_path / "alpha.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nHello.\n")
        call_command("import_corpus", "srt", str(tmp_path), "--corpus", video.corpus.name, stdout=StringIO())
        assert video.subtitles.get().text == "Hello."
        with pytest.raises(CommandError, match="import its moments first"):
            call_command("import_corpus", "srt", str(tmp_path), "--corpus", "nothing")


def described(line: int, text: str, video: str = "v", **values: object) -> DescriptionRecord:
    """A record of a form whose descriptions have no numbers."""
    fields = {"source_id": None, "start_s": 1.0, "end_s": 2.0, "kind": "video", **values}
    return DescriptionRecord(line=line, video_name=video, text=text, **fields)  # type: ignore[arg-type]


def subtitle_record(line: int, text: str, video: str = "v") -> SubtitleRecord:
    return SubtitleRecord(line, video, float(line), line + 0.5, text=text)


def load_forms(records: Iterable[Item], **values: object) -> ImportReport:
    return corpus_import(**{"corpus_name": "c", "source_split": "", "records": records, **values})  # type: ignore[arg-type]


def numbered() -> list[tuple[int, str]]:
    return list(Description.objects.order_by("source_id").values_list("source_id", "text"))


VIDEO = VideoRecord("v", 60.0)


class TestDescriptionsWithoutNumbers:
    def test_a_second_file_goes_on_counting_in_the_order_of_the_file(self) -> None:
        load_forms([VIDEO, described(1, "one", source_id=40)])
        records = [described(1, "two", "w"), described(1, "three", "w")]
        load_forms([VideoRecord("w", 9.0), VideoRecord("without moments", 9.0), *records])
        assert numbered() == [(40, "one"), (41, "two"), (42, "three")]
        assert set(Video.objects.values_list("name", flat=True)) == {"v", "w"}

    @pytest.mark.parametrize("chunk", [2, 1000])
    def test_what_the_source_says_twice_is_there_twice_and_again_adds_nothing(
        self, monkeypatch: pytest.MonkeyPatch, chunk: int
    ) -> None:
        monkeypatch.setattr(corpora, "CHUNK", chunk)
        records = [VIDEO, described(1, "one"), described(2, "one"), described(3, "two")]
        assert (load_forms(records).added, load_forms(records).added) == (3, 0)
        assert load_forms([*records, described(4, "one")]).added == 1
        assert numbered() == [(1, "one"), (2, "one"), (3, "two"), (4, "one")]


class TestVideos:
    def test_lengths_come_from_the_file_and_indexes_are_counted(self) -> None:
        VideoFactory(corpus=CorpusFactory(name="c"), index=4)
        load_forms([VIDEO, VideoRecord("w", 5.0), described(1, "one"), described(2, "two", "w")])
        rows = Video.objects.filter(name__in="vw").order_by("name").values_list("name", "duration_s", "index")
        assert list(rows) == [("v", 60.0, 5), ("w", 5.0, 6)]

    def test_a_file_may_bear_the_whole_name(self, tmp_path: Path) -> None:
        (tmp_path / "s30-d52.avi").write_bytes(b"video")
        report = load_forms([VideoRecord("s30-d52.avi", 60.0), described(1, "one", "s30-d52.avi")], videos=tmp_path)
        assert report.videos_with_file == 1


def test_moments_without_descriptions_are_made_once() -> None:
    records = [VIDEO, MomentRecord(1, "v", 1.0, 2.0), MomentRecord(2, "v", 3.0, 4.0)]
    assert load_forms(records).moments == 2
    load_forms(records)
    assert (Moment.objects.count(), Description.objects.count(), Caption.objects.count()) == (2, 0, 0)


def test_a_dry_run_counts_what_is_new_and_writes_nothing() -> None:
    report = load_forms([VIDEO, described(1, "one")], dry_run=True)
    assert (report.added, report.moments, report.videos) == (1, 1, 1)
    assert not any(model.objects.exists() for model in (Corpus, Video, Moment, Description, AuditEvent))
    load_forms([VIDEO, described(1, "one", source_id=1)])
    records = [described(1, "other", source_id=1), described(2, "two", source_id=2)]
    report = load_forms([VIDEO, *records], dry_run=True, skip_bad=True)
    assert (report.added, report.bad_lines, Description.objects.count()) == (1, 1, 1)


def test_every_warning_is_reported() -> None:
    heard: list[LineWarning] = []
    records = [
        VIDEO,
        described(1, "Ross", notes=("is only a name or a word",)),
        described(2, "He sits.", past_end=True),
        BadLine(3, "not JSON", file="f"),
    ]
    report = load_forms(records, skip_bad=True, on_warning=heard.append)
    assert heard == [
        LineWarning("", 1, "", "flagged", "is only a name or a word", "Ross"),
        LineWarning("", 2, "", "clipped", "ended after its video; it now ends at 2 s", "He sits."),
        LineWarning("f", 3, "", "refused", "not JSON"),
    ]
    assert (report.flagged, report.clipped, report.bad_lines) == (1, 1, 1)


def test_memory_holds_the_first_bad_lines_and_counts_all() -> None:
    report = load_forms(BadLine(line, "not JSON") for line in range(1, 3000))
    assert (len(report.bad), report.bad_lines) == (1000, 2999)


class TestSubtitles:
    def test_they_are_added_to_known_videos_once(self) -> None:
        video = VideoFactory(corpus=CorpusFactory(name="c"), name="v")
        first = load_forms([subtitle_record(1, "Hi."), subtitle_record(2, "You."), subtitle_record(1, "Hi.")])
        assert (first.added, first.subtitles, first.moments) == (2, 3, 0)
        assert load_forms([subtitle_record(1, "Hi."), subtitle_record(3, "New.")]).added == 1
        assert list(video.subtitles.order_by("start_s").values_list("text", flat=True)) == ["Hi.", "You.", "New."]

    def test_their_videos_are_those_of_the_corpus(self) -> None:
        VideoFactory(corpus=CorpusFactory(name="c"), name="v", index=2, duration_s=9.0)
        assert corpus_durations(corpus_name="c") == {"v": (9.0, 2)}
        with pytest.raises(NotPossible, match="import its moments first"):
            corpus_durations(corpus_name="d")


def test_statements_grow_with_chunks_not_with_records(monkeypatch: pytest.MonkeyPatch) -> None:
    def statements(chunks: int) -> int:
        lines = range(1, 100 * chunks)
        records = [described(line, f"text {line}", start_s=line / 100, end_s=50.0) for line in lines]
        with CaptureQueriesContext(connection) as queries:
            assert load_forms([VIDEO, *records], corpus_name=f"c{chunks}").added == 100 * chunks - 1
        return len(queries)

    monkeypatch.setattr(corpora, "CHUNK", 100)
    one, six = statements(1), statements(6)
    assert one <= 20
    assert (six - one) / 5 <= 8
