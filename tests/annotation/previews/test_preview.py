"""Previews show the right instants, both ways of cutting."""

import shutil
from io import BytesIO
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from annotation.previews import process
from annotation.previews.cutting import Preview
from tests.annotation.previews.clips import (
    CLIPS,
    GRAINY,
    Pixels,
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


def played(clip: bytes) -> list[Pixels]:
    with av.open(BytesIO(clip)) as container:
        return [frame.to_ndarray(format="rgb24").astype(np.float32) for frame in container.decode(video=0)]


@pytest.mark.usefixtures("each_method")
def test_mp4_shows_the_frames_of_its_gif(grainy: Path) -> None:
    ends, overlapping = [(0.0, 6.0), (5.5, 6.0), (0.5, 0.51), (5.97, 6.6)], [(1.23, 3.5), (0, 2), (1.1, 3), (0, 2)]
    for result in cut_spans(grainy, ends + overlapping).values():
        assert isinstance(result, Preview) and 0 < len(result.clip) < len(result.gif)
        frames = played(result.clip)
        assert_close(frames, frames_of(result))
        with av.open(BytesIO(result.clip)) as container:
            assert container.duration == pytest.approx(len(frames) / 3 * 1e6, abs=1000)
            times = [frame.time for frame in container.decode(video=0)]
            assert times == pytest.approx([k / 3 for k in range(len(frames))])


@pytest.mark.usefixtures("each_method")
def test_mp4_is_silent_plays_in_browsers_and_names_nothing_of_its_video(tmp_path: Path) -> None:
    metadata = ("-metadata", "title=Secret", "-metadata:s:v", "handler_name=Secret")
    path = make_video(tmp_path / "told.mp4", *metadata, source=f"{GRAINY}[out0];sine=duration=6[out1]")
    result = preview(path, (1, 4))
    assert path.read_bytes().count(b"Secret") == 2
    assert b"Secret" not in result.clip
    assert result.clip.index(b"moov") < result.clip.index(b"mdat")
    with av.open(BytesIO(result.clip)) as container:
        (stream,) = container.streams
        assert isinstance(stream, av.VideoStream)
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert (stream.width, stream.height) == (result.width, result.height)


@pytest.mark.usefixtures("each_method")
def test_mp4_can_be_sought_to_every_frame(grainy: Path) -> None:
    clip = preview(grainy, (0.5, 5.5)).clip
    frames = played(clip)
    with av.open(BytesIO(clip)) as container:
        stream = container.streams.video[0]
        for number in reversed(range(len(frames))):
            container.seek(round(number / 3 / stream.time_base), stream=stream)
            decoded = list(zip(range(3), container.decode(stream), strict=False))  # a key frame every third, at least
            matches = [frame for _, frame in decoded if frame.time == pytest.approx(number / 3)]
            assert np.array_equal(matches[0].to_ndarray(format="rgb24"), frames[number])


@pytest.mark.usefixtures("each_method")
def test_mp4_that_would_not_be_smaller_is_dropped(tmp_path: Path) -> None:
    result = preview(make_video(tmp_path / "flat.mp4", source="color=red:size=64x48:rate=10:duration=3"), (0, 2))
    assert result.gif and result.clip == b""


@pytest.mark.usefixtures("each_method")
def test_gif_is_whole_when_its_mp4_fails(grainy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(process.MP4_OPTIONS, "vcodec", "none")
    for result in cut_spans(grainy, [(0, 1), (1, 2)]).values():
        assert len(frames_of(result)) == 3
        assert isinstance(result, Preview) and result.clip == b""


def test_what_a_process_wrote_counts_only_when_it_ends_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STALL_S", 1.0)
    for command, is_success in ((["true"], True), (["false"], False), (["sleep", "60"], False)):
        with process.running(command) as started:
            assert process.ends_well(started) is is_success
        assert started.returncode is not None
