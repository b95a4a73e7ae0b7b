"""Importing annotated moments: the published file, a file twice, bad lines, files of videos."""

import json
import os
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.corpora.importers.base import BadLine, DescriptionRecord, Given
from annotation.corpora.importers.tvr import read_durations, read_tvr
from annotation.corpora.services.corpora import ImportReport, corpus_import
from annotation.models import Caption, Corpus, Description, Moment, Video
from core.models import AuditEvent
from tests.conftest import Messages
from tests.factories import VideoFactory

pytestmark = pytest.mark.django_db
SHARED = Path(os.environ.get("MOMENTJUDGE_SHARED", Path(__file__).resolve().parents[4] / "shared"))
TVR = SHARED / "data" / "tvr" / "tvr_val_release.jsonl"
DURATIONS_FILE = SHARED / "data" / "tvr" / "tvr_video2dur_idx.json"
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
    def test_counts(self) -> None:
        assert load(GOOD).counts() == {
            "descriptions": 3,
            "video": 1,
            "subtitle": 1,
            "both": 1,
            "moments": 2,
            "videos": 2,
            "subtitles": 0,
            "added": 3,
            "videos_with_file": 0,
            "clipped": 0,
            "flagged": 0,
            "bad_lines": 0,
        }

    def test_rows(self) -> None:
        load(GOOD)
        videos = Video.objects.order_by("name").values_list("name", "duration_s", "index", "source_split")
        assert list(videos) == [("alpha", 60.0, 4, "val"), ("beta", 30.0, 2, "val")]
        rows = Description.objects.order_by("source_id").values_list(
            "source_id", "text", "kind", "moment__video__name", "moment__start_s", "moment__end_s"
        )
        assert list(rows) == [
            (10, "sentence 10", "video", "alpha", 1.0, 2.0),
            (11, "sentence 11", "subtitle", "alpha", 1.0, 2.0),
            (12, "sentence 12", "both", "beta", 0.0, 30.0),
        ]
        assert all(
            (caption.text, caption.moment_id, caption.provider)
            == (caption.description.text, caption.description.moment_id, "as-described")
            for caption in Caption.objects.all()
        )
        assert set(Moment.objects.values_list("preview_state", flat=True)) == {"missing"}

    def test_twice_changes_nothing(self) -> None:
        load(GOOD)
        before = everything()
        again = load(GOOD)
        assert everything() == before
        assert (again.added, again.descriptions, again.bad) == (0, 3, [])

    def test_a_longer_file_adds_what_is_new(self) -> None:
        load(GOOD[:2])
        assert load([*GOOD, record(4, 13)]).added == 2
        assert (Description.objects.count(), Moment.objects.count()) == (4, 2)

    def test_a_clashing_index_is_replaced(self) -> None:
        corpus = Corpus.objects.create(name="tvr")
        VideoFactory(corpus=corpus, name="other", index=4)
        load(GOOD)
        assert dict(corpus.videos.values_list("name", "index")) == {"other": 4, "alpha": 10, "beta": 2}
        assert dict(corpus.videos.values_list("name", "index_is_given")) == {
            "other": True,
            "alpha": False,
            "beta": True,
        }

    def test_two_corpora_share_nothing(self) -> None:
        load(GOOD)
        assert load(GOOD, corpus_name="other").added == 3
        assert (Corpus.objects.count(), Video.objects.count()) == (2, 4)

    def test_the_import_is_written_down_once(self) -> None:
        load(GOOD)
        load(GOOD)
        event = AuditEvent.objects.get(action="corpus.import")
        assert (event.subject, event.data["added"]) == (Corpus.objects.get().uuid, 3)


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

    def test_found_and_missing(self, folder: Path) -> None:
        assert load(GOOD, videos=folder).videos_with_file == 1
        alpha, beta = Video.objects.order_by("name")
        assert alpha.file.read() == b"not really a video"
        assert "alpha" not in alpha.file.name
        assert not beta.file
        assert beta.moments.get().preview_state == "failed"
        assert "no file of this name" in beta.moments.get().preview_error

    def test_a_file_that_comes_later_clears_the_failure(self, folder: Path) -> None:
        load(GOOD, videos=folder)
        (folder / "beta.webm").write_bytes(b"late")
        assert load(GOOD, videos=folder).videos_with_file == 1
        moment = Moment.objects.get(video__name="beta")
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

    def test_bad_line(self, files: list[str]) -> None:
        err = StringIO()
        with pytest.raises(CommandError, match="1 bad lines; nothing was imported"):
            call_command("import_corpus", *files, stderr=err)
        assert err.getvalue() == "line 2: not JSON\n"
        assert not Corpus.objects.exists()

    def test_skip_bad(self, files: list[str]) -> None:
        out = StringIO()
        call_command("import_corpus", *files, "--skip-bad", stdout=out, stderr=StringIO())
        assert json.loads(out.getvalue().splitlines()[-1])["added"] == 1
        assert Corpus.objects.get().name == "tvr"

    def test_files_that_are_not_there(self, files: list[str], tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="no folder"):
            call_command("import_corpus", *files, "--videos", str(tmp_path / "none"))
        with pytest.raises(CommandError, match="none.jsonl"):
            call_command("import_corpus", "tvr", str(tmp_path / "none.jsonl"), *files[2:])

    def test_exit_codes(self, files: list[str], tmp_path: Path) -> None:
        """3 where bad lines kept everything out, 1 where the file cannot be used."""
        with pytest.raises(CommandError) as bad:
            call_command("import_corpus", *files, stderr=StringIO())
        with pytest.raises(CommandError) as unusable:
            call_command("import_corpus", "tvr", str(tmp_path), *files[2:])
        assert (bad.value.returncode, unusable.value.returncode) == (3, 1)

    def test_missing_table_of_lengths_is_named(self, files: list[str], tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="video lengths .*/lengths.json cannot be read: No such file"):
            call_command("import_corpus", *files[:2], "--durations", str(tmp_path / "lengths.json"))

    def test_file_of_another_form_is_recognised(self, files: list[str]) -> None:
        stderr = StringIO()
        with pytest.raises(CommandError, match="nothing was imported"):
            call_command("import_corpus", "csv", files[1], stderr=stderr)
        assert "looks like TVR (one JSON object a line): try import_corpus tvr." in stderr.getvalue()

    def test_dry_run(self, files: list[str]) -> None:
        out = StringIO()
        call_command("import_corpus", *files, "--skip-bad", "--dry-run", stdout=out, stderr=StringIO())
        assert json.loads(out.getvalue())["added"] == 1
        assert not Corpus.objects.exists()

    def test_report(self, files: list[str], tmp_path: Path) -> None:
        report = tmp_path / "report.csv"
        call_command(
            "import_corpus", *files, "--skip-bad", "--report", str(report), stdout=StringIO(), stderr=StringIO()
        )
        assert report.read_text().splitlines() == [
            '"file","line","item","outcome","reason","text"',
            '"",2,"","refused","not JSON",""',
        ]

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


@pytest.mark.slow
@pytest.mark.skipif(not TVR.is_file(), reason=f"TVR's annotations are not at {TVR}")
def test_tvr() -> None:
    durations = read_durations(DURATIONS_FILE)

    def run() -> ImportReport:
        with TVR.open(encoding="utf-8") as lines:
            return load(list(read_tvr(lines, Given(durations))), durations=durations)

    first = run()
    assert (first.descriptions, first.moments, first.added, first.bad) == (10895, 10841, 10895, [])
    assert (Description.objects.count(), Caption.objects.count()) == (10895, 10895)
    assert (Moment.objects.count(), Video.objects.count()) == (10841, first.videos)
    assert sum(first.by_kind.values()) == 10895
    again = run()
    assert (again.added, again.counts()) == (0, {**first.counts(), "added": 0})
    assert (Moment.objects.count(), Caption.objects.count()) == (10841, 10895)
