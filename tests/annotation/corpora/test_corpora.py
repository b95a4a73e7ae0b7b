"""Importing annotated moments: the published file, a file twice, bad lines, files of videos."""

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.corpora.importers.base import BadLine, DescriptionRecord
from annotation.corpora.services.corpora import ImportReport, corpus_import
from annotation.models import Caption, Corpus, Description, Moment, Video
from core.models import AuditEvent
from tests.conftest import Messages
from tests.factories import VideoFactory

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
