"""Files of many videos: what is ended in the middle goes on where it stopped, and stores nothing twice."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command

from annotation.corpora.models import video_path
from annotation.corpora.services.videos import NOT_FOUND, video_files_add
from annotation.models import Moment, Subtitle, Video
from tests.factories import CorpusFactory, VideoFactory
from tests.media import names_in, padded

pytestmark = pytest.mark.django_db
MANY, KILLED_AT = 200, 70


class Killed(BaseException):
    """Error our code never catches."""


@pytest.fixture
def videos(tmp_path: Path) -> dict[str, Video]:
    """Videos of one corpus, each with a moment that waits, and their files in a folder."""
    corpus = CorpusFactory()
    rows = [Video(corpus=corpus, name=f"v{number:04}", duration_s=60, index=number) for number in range(MANY)]
    Video.objects.bulk_create(rows)
    Moment.objects.bulk_create([Moment(video=video, start_s=1, end_s=2) for video in rows])
    for video in rows:
        (tmp_path / f"{video.name}.mp4").write_bytes(video.name.encode())
    return {video.name: video for video in rows}


def fresh(videos: dict[str, Video]) -> dict[str, Video]:
    """As another process would read them."""
    return {video.name: video for video in Video.objects.filter(corpus=next(iter(videos.values())).corpus)}


def names_of(videos: dict[str, Video]) -> dict[str, str]:
    return {name: str(video.file.name) for name, video in fresh(videos).items() if video.file}


def test_a_killed_import_goes_on_and_stores_nothing_twice(
    videos: dict[str, Video], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[str] = []
    real = default_storage.save

    def save(name: str, content: Any) -> str:
        saved.append(real(name, content))
        if len(saved) == KILLED_AT:
            raise Killed
        return saved[-1]

    monkeypatch.setattr(default_storage, "save", save)
    with pytest.raises(Killed):
        video_files_add(videos=videos, folder=tmp_path)
    first = names_of(videos)
    assert len(first) == KILLED_AT - 1  # what was stored last had no row yet

    assert video_files_add(videos=fresh(videos), folder=tmp_path) == MANY - KILLED_AT + 1
    last = names_of(videos)
    assert len(set(last.values())) == MANY
    assert first.items() <= last.items()
    assert len(saved) == MANY + 1
    assert default_storage.open(last["v0199"]).read() == b"v0199"
    assert video_files_add(videos=fresh(videos), folder=tmp_path) == 0


def test_two_imports_at_once_give_a_video_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    video = VideoFactory()
    (tmp_path / f"{video.name}.mp4").write_bytes(b"ours")
    real = default_storage.save

    def save(name: str, content: Any) -> str:
        Video.objects.filter(pk=video.pk).update(file="videos/theirs.mp4")
        return real(name, content)

    monkeypatch.setattr(default_storage, "save", save)
    files_before = names_in("videos")
    assert video_files_add(videos={video.name: video}, folder=tmp_path) == 0
    assert Video.objects.get(pk=video.pk).file.name == "videos/theirs.mp4"
    assert names_in("videos") == files_before


def test_only_a_video_that_failed_takes_another_file(tmp_path: Path) -> None:
    corpus = CorpusFactory()
    good, bad, missing = (VideoFactory(corpus=corpus) for _ in range(3))
    for video, state in ((good, "ready"), (bad, "failed"), (missing, "missing")):
        values = {"preview": "previews/a.gif"} if state == "ready" else {}
        Moment.objects.create(video=video, start_s=1, end_s=2, preview_state=state, preview_error="broken", **values)
    for video in (good, bad):
        video.file.save("a.mp4", ContentFile(b"old"))
        (tmp_path / f"{video.name}.mp4").write_bytes(b"another")
    assert video_files_add(videos={video.name: video for video in (good, bad, missing)}, folder=tmp_path) == 1
    assert [default_storage.open(str(video.file.name)).read() for video in (good, bad)] == [b"old", b"another"]
    assert bad.moments.get().preview_state == "missing"
    assert missing.moments.get().preview_error == NOT_FOUND


def test_names_of_files_are_drawn_at_random() -> None:
    video = VideoFactory()
    names = {video_path(video, "Secret name.MP4") for _ in range(50)}
    assert len(names) == 50
    assert all(name.startswith("videos/") and name.endswith(".mp4") and len(name) == 43 for name in names)


class TestCommand:
    def add(self, *args: object) -> dict[str, int]:
        out = io.StringIO()
        call_command("add_videos", *map(str, args), stdout=out)
        return json.loads(out.getvalue().splitlines()[-1])  # type: ignore[no-any-return]

    def test_files_and_folders_become_videos_and_their_moments_need_no_length(
        self, tmp_path: Path, clip: bytes
    ) -> None:
        (tmp_path / "more").mkdir()
        for number, name in enumerate(("a.mp4", "more/b.mp4", "more/notes.txt")):
            (tmp_path / name).write_bytes(padded(clip, number))
        counts = self.add(tmp_path / "a.mp4", tmp_path / "more", "--corpus", "films")
        assert counts == {"added": 2, "not_added": 0, "subtitles": 0}
        rows = Video.objects.order_by("index").values_list("name", "index", "fps", "corpus__name")
        assert list(rows) == [("a", 0, 6.0, "films"), ("b", 1, 6.0, "films")]
        moments = tmp_path / "moments.csv"
        moments.write_text("video,start,end,description\na,1,2,One.\nb,2,4.5,Two.\n")
        call_command("import_corpus", "csv", moments, "--corpus", "films", stdout=io.StringIO())
        assert list(Moment.objects.order_by("pk").values_list("video__name", "end_s")) == [("a", 2), ("b", 4)]

    def test_subtitles_beside_a_file_are_its_own(self, tmp_path: Path, clip: bytes) -> None:
        (tmp_path / "a.mp4").write_bytes(clip)
        first = "first\n00:01.000 --> 00:02.000 align:start\n<v Ann>Good morning."
        (tmp_path / "a.vtt").write_text(f"WEBVTT\n\n{first}\n\n00:03.500 --> 00:09.000\nLate.\n")
        assert self.add(tmp_path, "--corpus", "films")["subtitles"] == 2
        rows = Subtitle.objects.order_by("start_s").values_list("start_s", "end_s", "text")
        assert list(rows) == [(1.0, 2.0, "Good morning."), (3.5, 4.0, "Late.")]

    def test_a_file_given_twice_is_refused_by_the_name_it_has(self, tmp_path: Path, clip: bytes) -> None:
        for name in ("a.mp4", "b.mp4"):
            (tmp_path / name).write_bytes(clip)
        error = io.StringIO()
        with pytest.raises(CommandError, match="1 files were not added"):
            call_command("add_videos", str(tmp_path), "--corpus", "films", stdout=io.StringIO(), stderr=error)
        assert "b.mp4: The corpus has this very file already, as a." in error.getvalue()
        VideoFactory(corpus=Video.objects.get(name="a").corpus, name="b", duration_s=4.0)  # annotated under this name
        assert self.add(tmp_path / "b.mp4", "--corpus", "films")["added"] == 1

    def test_a_refusal_is_reported_and_the_rest_is_added(self, tmp_path: Path, clip: bytes) -> None:
        (tmp_path / "a.mp4").write_bytes(b"no film")
        (tmp_path / "b.mp4").write_bytes(clip)
        error = io.StringIO()
        with pytest.raises(CommandError, match="1 files were not added") as info:
            call_command("add_videos", str(tmp_path), "--corpus", "films", stdout=io.StringIO(), stderr=error)
        assert info.value.returncode == 3
        assert "a.mp4: The file is corrupt or not a video." in error.getvalue()
        assert Video.objects.get().name == "b"
        with pytest.raises(CommandError):
            self.add(tmp_path / "b.mp4", "--corpus", "films")  # the corpus has it
        with pytest.raises(CommandError, match="There is no file or folder"):
            self.add(tmp_path / "c", "--corpus", "films")
