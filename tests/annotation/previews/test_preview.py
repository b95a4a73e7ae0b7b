"""Previews show the right instants, both ways of cutting."""

import shutil
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from annotation.previews.cutting import Preview
from tests.annotation.previews.clips import (
    CLIPS,
    assert_close,
    cut_spans,
    frames_of,
    make_video,
    on_screen,
    preview,
    shared_clips,
    times_of,
)


@pytest.mark.usefixtures("each_method")
def test_previews_show_the_frames_of_their_spans(tiny: Path) -> None:
    spans = [(0.0, 1.0), (2.95, 4.05), (5.5, 6.0), (0.5, 0.51), (5.97, 6.6)]
    spans += [(4.0, 5.5), (1.23, 3.5), (1.0, 3.0), (1.0, 3.0), (0.0, 6.0)]  # unsorted, overlapping, one twice
    for index, result in cut_spans(tiny, spans).items():
        start, end = spans[index]
        assert_close(frames_of(result), on_screen(tiny, times_of(start, min(end, 6.0)), (160, 120)))


@shared_clips
@pytest.mark.usefixtures("each_method")
@pytest.mark.parametrize(
    "name",
    [
        "testsrc_counter_24s.mp4",
        "big_buck_bunny_30s_320x180.mp4",
        pytest.param("big_buck_bunny_5s.mp4", marks=pytest.mark.slow),
        pytest.param("big_buck_bunny_30s.webm", marks=pytest.mark.slow),
    ],
)
def test_shared_clips_are_cut_frame_by_frame(name: str) -> None:
    spans = [(0.0, 2.0), (3.37, 4.9), (1.96, 5.21)]
    for index, result in cut_spans(CLIPS / name, spans).items():
        assert isinstance(result, Preview)
        times = times_of(*spans[index])
        assert_close(frames_of(result), on_screen(CLIPS / name, times, (result.width, result.height)))


@pytest.mark.usefixtures("each_method")
def test_frames_of_uneven_length_are_shown_as_they_stand(tmp_path: Path) -> None:
    """A slide show: a frame that began before the moment is still on screen."""
    path = make_video(tmp_path / "slides.mp4", source="testsrc=size=160x120:rate=1/4:duration=12")
    assert_close(frames_of(preview(path, (2.5, 5.0))), on_screen(path, times_of(2.5, 5.0), (160, 120)))


@pytest.mark.usefixtures("each_method")
def test_preview_is_a_gif_that_loops_for_ever(tiny: Path) -> None:
    for span in ((1.0, 3.0), (1.0, 1.1)):
        with Image.open(BytesIO(preview(tiny, span).gif)) as gif:
            assert gif.format == "GIF" and gif.info["loop"] == 0
            assert gif.info["duration"] in (330, 340)


@pytest.mark.usefixtures("each_method")
@pytest.mark.parametrize(
    ("size", "result_size"),
    [("1280x720", (852, 480)), ("640x360", (640, 360)), ("90x51", (90, 50)), ("720x1280", (270, 480))],
)
def test_preview_has_at_most_480_lines_and_is_never_upscaled(
    tmp_path: Path, size: str, result_size: tuple[int, int]
) -> None:
    path = make_video(tmp_path / "sized.mp4", "-pix_fmt", "yuv444p", source=f"testsrc=size={size}:rate=10:duration=1")
    result = preview(path, (0, 0.5))
    with Image.open(BytesIO(result.gif)) as gif:
        assert gif.size == (result.width, result.height)
    assert abs(result.width - result_size[0]) <= 2 and result.height == result_size[1]
    assert result.width % 2 == result.height % 2 == 0


@pytest.mark.usefixtures("each_method")
@pytest.mark.parametrize("name", ["with a space.mp4", "-dash.mp4", "a:b|c%d'[0].mp4", "ünï.mp4"])
def test_any_file_name_is_safe(tiny: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(tiny, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert len(frames_of(preview(Path(name), (0, 1)))) == 3
