"""Cutting the previews of a video's moments, with a real clip of a few seconds."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage
from django.db.models.fields.files import FieldFile
from PIL import Image

from annotation.models import Moment, Video
from annotation.previews import services
from annotation.previews.cutting import Preview
from annotation.previews.services import local_copy, preview_save, previews_sweep, video_cut_previews
from core.exceptions import StorageFull
from tests.conftest import Messages
from tests.factories import GIF, MomentFactory, VideoFactory
from tests.media import names_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("videos_on_disk")]


def video_with(content: bytes | None) -> Video:
    video: Video = VideoFactory(duration_s=4.0)
    if content is not None:
        video.file.save("clip.mp4", ContentFile(content))
    return video


def uncut(video: Video, start_s: float, end_s: float) -> Moment:
    return MomentFactory(video=video, start_s=start_s, end_s=end_s, uncut=True)  # type: ignore[no-any-return]


def states(video: Video) -> list[tuple[str, str]]:
    rows = video.moments.order_by("start_s", "end_s").values_list("preview_state", "preview_error")
    return [(state, error) for state, error in rows]


def test_every_moment_gets_its_gif_once(clip: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    video = video_with(clip)
    moments = [uncut(video, 0.0, 1.0), uncut(video, 1.0, 3.0)]
    uncut(video, 70.0, 80.0)  # beyond the end
    assert video_cut_previews(video_id=video.pk) == 2
    for moment in moments:
        moment.refresh_from_db()
        assert moment.preview_state == "ready"
        assert video.name not in moment.preview.name
        with moment.preview.open("rb") as file:
            picture = Image.open(BytesIO(file.read()))
            assert picture.format == "GIF"
            assert picture.n_frames == (3 if moment is moments[0] else 6)  # type: ignore[attr-defined]
    state, why = states(video)[2]
    assert (state, bool(why)) == ("failed", True)
    monkeypatch.setattr(services, "cut_previews", None)
    assert video_cut_previews(video_id=video.pk) == 0


def test_an_mp4_that_finds_no_room_removes_its_gif(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every sweep would leave another GIF that no row names on a disk that is full."""
    moment, save = uncut(video_with(None), 0.0, 1.0), default_storage.save
    saved_names: list[str] = []

    def room_for_one(name: str, content: File) -> str:
        if saved_names:
            raise StorageFull
        saved_names.append(save(name, content))
        return saved_names[0]

    monkeypatch.setattr(default_storage, "save", room_for_one)
    with pytest.raises(StorageFull):
        preview_save(moment=moment, gif=GIF, clip=b"clip")
    assert not default_storage.exists(saved_names[0])
    moment.refresh_from_db()
    assert (moment.preview_state, moment.preview.name) == ("missing", "")


def test_an_mp4_is_saved_beside_its_gif(clip: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def fake_cut(path: Path, spans: Sequence[object]) -> list[Preview]:
        return [Preview(0, GIF, 1, 1, b"clip"), Preview(1, GIF, 1, 1)]

    monkeypatch.setattr(services, "cut_previews", fake_cut)
    video = video_with(clip)
    both, gif_only = uncut(video, 0.0, 1.0), uncut(video, 1.0, 3.0)
    assert video_cut_previews(video_id=video.pk) == 2
    for moment in (both, gif_only):
        moment.refresh_from_db()
        assert (moment.preview_state, moment.preview.read()) == ("ready", GIF)
    assert both.preview_clip.read() == b"clip"
    assert both.preview_clip.name.endswith(".mp4")
    assert both.preview_clip.name[:-4] != both.preview.name[:-4]
    assert not gif_only.preview_clip


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "The video file is missing."),
        (b"this is no video", "The video cannot be read:"),
        (b"gone", "The video cannot be read:"),
    ],
)
def test_a_file_that_cannot_be_read(content: bytes | None, why: str) -> None:
    video = video_with(content)
    uncut(video, 0.0, 1.0)
    if content == b"gone":
        video.file.storage.delete(video.file.name)
    assert video_cut_previews(video_id=video.pk) == 0
    ((state, error),) = states(video)
    assert (state, error[: len(why)]) == ("failed", why)


def test_a_lost_race_leaves_the_winners_file(clip: bytes) -> None:
    moment = uncut(video_with(clip), 0.0, 1.0)
    assert preview_save(moment=moment, gif=GIF, clip=b"clip") is True
    moment.refresh_from_db()
    name = moment.preview.name
    files_before = names_in("previews")
    assert preview_save(moment=moment, gif=b"late", clip=b"late") is False
    moment.refresh_from_db()
    assert (moment.preview.name, moment.preview_clip.read()) == (name, b"clip")
    assert names_in("previews") == files_before


def test_files_on_this_machine_are_not_copied_and_a_copy_from_elsewhere_is_removed(
    clip: bytes, videos_on_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with S3, where files have no path."""
    video = video_with(clip)
    with local_copy(video) as path:
        assert path == videos_on_disk / video.file.name
    assert path.is_file()

    def no_path(file: FieldFile) -> str:
        raise NotImplementedError

    monkeypatch.setattr(FieldFile, "path", property(no_path))
    with local_copy(video) as path:
        assert path.read_bytes() == clip
    assert not path.exists()


def test_the_sweep_sends_videos_that_wait(clip: bytes, messages: Messages) -> None:
    waiting, finished, without = video_with(clip), video_with(clip), video_with(None)
    for video in (waiting, without):
        uncut(video, 0.0, 1.0)
        uncut(video, 1.0, 2.0)
    MomentFactory(video=finished)
    with messages():
        assert previews_sweep() == 1
    assert [state for state, _ in states(waiting)] == ["ready", "ready"]
    assert [state for state, _ in states(without)] == ["missing", "missing"]
    with messages() as callbacks:
        assert previews_sweep() == 0
    assert callbacks == []
