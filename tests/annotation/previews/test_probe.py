"""Facts of a video, and plain messages for an unreadable one."""

from pathlib import Path

import pytest
from PIL import Image

from annotation.previews.cutting import cut_previews
from annotation.previews.process import VideoUnreadable, open_source
from tests.annotation.previews.clips import CLIPS, make_video, shared_clips


def test_probe_says_what_the_video_is(tiny: Path, tmp_path: Path) -> None:
    source = open_source(tiny)
    assert (source.width, source.height, source.duration_s) == (160, 120, pytest.approx(6.0, abs=0.05))
    wide = open_source(make_video(tmp_path / "wide.mp4", "-vf", "setsar=2"))
    assert (wide.width, wide.height) == (320, 120)  # as shown
    live = make_video(tmp_path / "live.webm", "-c:v", "libvpx", "-f", "webm", "-live", "1")
    assert open_source(live).duration_s == pytest.approx(6.0, abs=0.2)  # which it does not state


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


def test_unreadable_video_is_refused_at_the_call(tiny: Path, tmp_path: Path) -> None:
    Image.new("RGB", (16, 16)).save(picture := tmp_path / "picture.png")
    make_video(tmp_path / "sound.m4a", source="sine=duration=2")
    contents = {
        "empty.mp4": b"",
        "text.mp4": b"This is no video.\n" * 100,
        "list.mp4": f"#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\n{tiny}\n#EXT-X-ENDLIST\n".encode(),
        "picture.mp4": picture.read_bytes(),
        "cut.mp4": tiny.read_bytes()[:2000],  # the index of an mp4 lies at its end: without it nothing can be found
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    for name in (*contents, "missing.mp4", ".", "sound.m4a"):
        with pytest.raises(VideoUnreadable, match="no video stream" if name == "sound.m4a" else r"\.$"):
            open_source(tmp_path / name)
        with pytest.raises(VideoUnreadable):
            cut_previews(tmp_path / name, [(0, 1)])
