"""The built-in features of videos come from the pixels of each clip and from nothing else."""

import shutil
from pathlib import Path

import av
import numpy as np
import pytest

from moment_retrieval.errors import UnreadableFile
from moment_retrieval.features.extractors import ExtractorName, Kind, extractor_of
from moment_retrieval.features.extractors.base import Film
from moment_retrieval.features.extractors.videos import Pixels, clip_count, clips

FPS = 8


def film(path: Path, seconds: float, *, size: tuple[int, int] = (96, 64), square: bool = True) -> Path:
    """A grey picture; a red square crosses it from the second 3 on."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options={"crf": "18", "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for number in range(round(seconds * FPS)):
            picture = np.full((size[1], size[0], 3), 128, np.uint8)
            if square and number >= 3 * FPS:
                x_left = (number - 3 * FPS) * 4 % (size[0] - 16)
                picture[8:24, x_left : x_left + 16] = (220, 20, 20)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


def rows_of(path: Path, name: str = "a") -> np.ndarray:
    [rows] = Pixels().rows([Film(name, path)])
    return rows


@pytest.mark.parametrize(("seconds", "count"), [(0.5, 1), (1.5, 1), (1.625, 2), (6.0, 4)])
def test_there_is_a_row_for_every_clip(tmp_path: Path, seconds: float, count: int) -> None:
    rows = rows_of(film(tmp_path / "a.mp4", seconds))
    assert rows.shape == (count, 512) and rows.dtype == np.float32 and np.isfinite(rows).all()
    assert clip_count(seconds) == count


def test_frames_of_a_clip_are_those_of_its_time_or_the_last_before(tmp_path: Path) -> None:
    clip_frames = list(clips(film(tmp_path / "a.mp4", 4.0), rate=4.0, size=(48, 32)))
    assert [len(frames) for frames in clip_frames] == [6, 6, 4] and clip_frames[0].shape[1:] == (32, 48, 3)
    reddest = [int(frames[..., 0].max()) for frames in clip_frames]
    assert reddest[0] < 150 and reddest[1] < 150 and reddest[2] > 190
    with av.open(str(tmp_path / "a.mkv"), "w") as container:
        stream = container.add_stream("libx264", rate=FPS)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "yuv420p"
        for pts, value in ((0, 40), (5 * FPS, 200)):  # nothing for five seconds
            frame = av.VideoFrame.from_ndarray(np.full((32, 32, 3), value, np.uint8), format="rgb24")
            frame.pts = pts
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    shades = [round(float(frames.mean()), -1) for frames in clips(tmp_path / "a.mkv", rate=4.0)]
    assert shades == [40, 40, 40, 200]


def test_a_file_of_another_name_or_beside_others_gives_equal_features(tmp_path: Path) -> None:
    path, other = film(tmp_path / "friends_waves.mp4", 6.0), film(tmp_path / "b.mp4", 3.0, square=False)
    renamed = shutil.copy(path, tmp_path / "x17.mp4")
    rows = rows_of(path, "waves")
    _, in_a_list = Pixels().rows([Film("b", other), Film("somebody dances", renamed)])
    np.testing.assert_array_equal(rows, in_a_list)
    still, moving = np.linalg.norm(rows[0] - rows[1]), np.linalg.norm(rows[0] - rows[2])
    assert moving > 10 * still


def test_what_is_no_video_says_so(tmp_path: Path) -> None:
    (tmp_path / "junk.mp4").write_bytes(b"junk" * 1000)
    (tmp_path / "list.m3u8").write_text("#EXTM3U\n#EXTINF:10,\n/etc/hostname\n")
    path = film(tmp_path / "cut.mp4", 4.0)
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(ValueError, match="builtin-pixels makes no query features"):
        extractor_of(ExtractorName.PIXELS, Kind.QUERY)
    for name in ("junk.mp4", "list.m3u8", "cut.mp4", "nothing.mp4"):
        with pytest.raises(UnreadableFile, match="corrupt or not a video|does not exist"):
            rows_of(tmp_path / name)
