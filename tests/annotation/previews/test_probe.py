"""Facts of a video, and plain messages for an unreadable one."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from annotation.previews.cutting import cut_previews
from annotation.previews.process import VideoUnreadable, open_source
from tests.annotation.previews.clips import CLIPS, make_video, shared_clips


def test_probe_says_what_the_video_is(tiny: Path) -> None:
    source = open_source(tiny)
    assert (source.width, source.height) == (160, 120)
    assert source.duration_s == pytest.approx(6.0, abs=0.05)


def test_probe_gives_the_size_as_shown(tmp_path: Path) -> None:
    source = open_source(make_video(tmp_path / "wide.mp4", "-vf", "setsar=2"))
    assert (source.width, source.height) == (320, 120)


def test_probe_measures_a_recording_without_a_stated_length(tmp_path: Path) -> None:
    path = make_video(tmp_path / "live.webm", "-c:v", "libvpx", "-f", "webm", "-live", "1")
    assert open_source(path).duration_s == pytest.approx(6.0, abs=0.2)


@shared_clips
@pytest.mark.parametrize(
    ("name", "size", "duration"),
    [
        ("big_buck_bunny_30s.webm", (854, 480), 30.0),
        ("big_buck_bunny_5s.mp4", (854, 480), 5.3),
        ("testsrc_counter_24s.mp4", None, 24.0),
    ],
)
def test_probe_reads_the_shared_clips(name: str, size: tuple[int, int] | None, duration: float) -> None:
    source = open_source(CLIPS / name)
    assert size in (None, (source.width, source.height))
    assert source.duration_s == pytest.approx(duration, abs=0.1)


def missing(folder: Path) -> Path:
    return folder / "none.mp4"


def directory(folder: Path) -> Path:
    return folder


def empty(folder: Path) -> Path:
    (folder / "empty.mp4").touch()
    return folder / "empty.mp4"


def text(folder: Path) -> Path:
    (folder / "text.mp4").write_text("This is no video.\n" * 100)
    return folder / "text.mp4"


def playlist(folder: Path) -> Path:
    make_video(folder / "real.mp4")
    (folder / "list.mp4").write_text("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\nreal.mp4\n#EXT-X-ENDLIST\n")
    return folder / "list.mp4"


def picture(folder: Path) -> Path:
    Image.new("RGB", (16, 16)).save(folder / "picture.png")
    return (folder / "picture.png").rename(folder / "picture.mp4")


def truncated(folder: Path) -> Path:
    """The index of an mp4 lies at its end: without it nothing can be found."""
    whole = make_video(folder / "whole.mp4")
    (folder / "cut.mp4").write_bytes(whole.read_bytes()[:2000])
    return folder / "cut.mp4"


def audio_only(folder: Path) -> Path:
    return make_video(folder / "sound.m4a", source="sine=duration=2")


@pytest.mark.parametrize("broken", [missing, directory, empty, text, playlist, picture, truncated, audio_only])
def test_unreadable_video_is_refused_at_the_call(tmp_path: Path, broken: Callable[[Path], Path]) -> None:
    path = broken(tmp_path)
    with pytest.raises(VideoUnreadable) as caught:
        open_source(path)
    assert str(caught.value).endswith(".")
    with pytest.raises(VideoUnreadable):
        cut_previews(path, [(0, 1)])


def test_audio_only_file_is_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(VideoUnreadable, match="no video stream"):
        open_source(audio_only(tmp_path))
