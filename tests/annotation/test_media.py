"""Probing videos and cutting previews: the right instants, both ways, and plain words for what cannot be cut."""

import os
import subprocess
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

import av
import numpy as np
import pytest
from imageio_ffmpeg import get_ffmpeg_exe  # type: ignore[import-untyped]
from PIL import Image

from annotation.media import CutFailure, Preview, VideoUnreadable, cut_previews, cutting, probe, process
from annotation.media.plan import HELD_FRAMES, LONG_FRAMES, PASS_MAX, Cut, groups_of, ticks_of

SHARED = Path(os.environ.get("MOMENTJUDGE_SHARED", Path(__file__).resolve().parents[3] / "shared"))
CLIPS = SHARED / "data" / "video"
shared_clips = pytest.mark.skipif(not CLIPS.is_dir(), reason=f"the shared clips are not at {CLIPS}")

COUNTER = CLIPS / "testsrc_counter_24s.mp4"
ALONE, PASS = 10_000, 1  # values of PASS_FROM that force one way
CLOSE = 12.0  # mean difference of a channel, 0 to 255, that palettes and scaling may cause

Pixels = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
Way = Callable[[int], None]


def make_video(path: Path, *options: str, source: str = "testsrc=size=160x120:rate=10:duration=6") -> Path:
    """A tiny synthetic video; testsrc shows the second."""
    encode = ("-c:v", "libx264", "-g", "10", "-pix_fmt", "yuv420p") if path.suffix == ".mp4" else ()
    command = [get_ffmpeg_exe(), "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", source, *encode, *options]
    subprocess.run([*command, f"file:{path}"], check=True, timeout=60)
    return path


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return make_video(tmp_path / "tiny.mp4")


@pytest.fixture
def way(monkeypatch: pytest.MonkeyPatch) -> Way:
    """Force one way of cutting: ``way(ALONE)`` or ``way(PASS)``."""
    return lambda start: monkeypatch.setattr(cutting, "PASS_FROM", start)


def cut(path: Path, spans: Sequence[tuple[float, float]]) -> dict[int, Preview | CutFailure]:
    results = list(cut_previews(path, spans))
    assert len(results) == len(spans)
    return {result.index: result for result in results}


def preview(path: Path, span: tuple[float, float]) -> Preview:
    result = cut(path, [span])[0]
    assert isinstance(result, Preview)
    return result


def shown(result: Preview | CutFailure) -> list[Pixels]:
    """The picture in the middle of every third of a second that the GIF plays (an unchanged frame is stored once)."""
    assert isinstance(result, Preview), result
    pictures: list[Pixels] = []
    with Image.open(BytesIO(result.gif)) as gif:
        for number in range(gif.n_frames):  # type: ignore[attr-defined]
            gif.seek(number)
            picture = np.asarray(gif.convert("RGB"), dtype=np.float32)
            pictures += [picture] * max(1, round(gif.info.get("duration", 333) / 333))
    return pictures


def on_screen(path: Path, times: Sequence[float], size: tuple[int, int]) -> list[Pixels]:
    """What PyAV shows at these seconds: the last frame that has begun, or the first."""
    with av.open(str(path)) as container:
        frames = [(frame.time or 0.0, frame) for frame in container.decode(video=0)]
    chosen = [([f for begins, f in frames if begins <= time + 1e-6] or [frames[0][1]])[-1] for time in times]
    return [np.asarray(Image.fromarray(f.to_ndarray(format="rgb24")).resize(size), dtype=np.float32) for f in chosen]


def assert_close(ours: Sequence[Pixels], theirs: Sequence[Pixels]) -> None:
    assert len(ours) == len(theirs)
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert float(np.abs(one - other).mean()) < CLOSE, f"frame {number}"


def times_of(start: float, end: float) -> list[float]:
    return [start + k / 3 for k in range(1000) if start + k / 3 < end - 1e-9]


# --- probing ---------------------------------------------------------------------------------------------------


def test_probe_says_what_the_video_is(tiny: Path) -> None:
    info = probe(tiny)
    assert (info.width, info.height, info.fps, info.codec) == (160, 120, 10.0, "h264")
    assert info.duration_s == pytest.approx(6.0, abs=0.05)


def test_probe_gives_the_size_as_shown(tmp_path: Path) -> None:
    info = probe(make_video(tmp_path / "wide.mp4", "-vf", "setsar=2"))
    assert (info.width, info.height) == (320, 120)


def test_probe_measures_a_recording_without_a_stated_length(tmp_path: Path) -> None:
    path = make_video(tmp_path / "live.webm", "-c:v", "libvpx", "-f", "webm", "-live", "1")
    assert probe(path).duration_s == pytest.approx(6.0, abs=0.2)


@shared_clips
@pytest.mark.parametrize(
    ("name", "size", "fps", "codec", "duration"),
    [
        ("big_buck_bunny_30s.webm", (1280, 720), 24, "vp8", 30.0),
        ("big_buck_bunny_5s.mp4", (1280, 720), 25, "h264", 5.3),
        ("testsrc_counter_24s.mp4", None, 10, "h264", 24.0),
    ],
)
def test_probe_reads_the_shared_clips(
    name: str, size: tuple[int, int] | None, fps: float, codec: str, duration: float
) -> None:
    info = probe(CLIPS / name)
    assert size in (None, (info.width, info.height))
    assert info.fps == pytest.approx(fps, abs=0.01) and info.codec == codec
    assert info.duration_s == pytest.approx(duration, abs=0.1)


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
        probe(path)
    assert caught.value.reason.endswith(".")
    with pytest.raises(VideoUnreadable):
        cut_previews(path, [(0, 1)])


def test_audio_only_file_is_named_as_such(tmp_path: Path) -> None:
    with pytest.raises(VideoUnreadable, match="no video stream"):
        probe(audio_only(tmp_path))


# --- the right instants ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [ALONE, PASS])
@pytest.mark.parametrize("span", [(0, 1), (1.23, 3.5), (2.95, 4.05), (5.5, 6.0), (0.5, 0.51), (5.97, 6.6)])
def test_preview_shows_the_frames_of_its_span(tiny: Path, way: Way, start: int, span: tuple[float, float]) -> None:
    way(start)
    times = times_of(span[0], min(span[1], 6.0))
    assert_close(shown(preview(tiny, span)), on_screen(tiny, times, (160, 120)))


@shared_clips
@pytest.mark.parametrize("start", [ALONE, PASS])
@pytest.mark.parametrize(
    "name",
    ["testsrc_counter_24s.mp4", "big_buck_bunny_30s_320x180.mp4", "big_buck_bunny_5s.mp4", "big_buck_bunny_30s.webm"],
)
def test_shared_clips_are_cut_frame_by_frame(name: str, way: Way, start: int) -> None:
    way(start)
    spans = [(0.0, 2.0), (3.37, 4.9), (1.96, 5.21)]
    for index, result in cut(CLIPS / name, spans).items():
        assert isinstance(result, Preview)
        times = times_of(*spans[index])
        assert_close(shown(result), on_screen(CLIPS / name, times, (result.width, result.height)))


def test_both_ways_show_the_same(tiny: Path, way: Way) -> None:
    spans = [(4.0, 5.5), (0.33, 2.0), (1.0, 3.0), (1.0, 3.0), (3.21, 3.3), (0.0, 6.0)]
    way(ALONE)
    alone = cut(tiny, spans)
    way(PASS)
    passed = cut(tiny, spans)
    for index in range(len(spans)):
        assert_close(shown(alone[index]), shown(passed[index]))


def test_frames_of_uneven_length_are_shown_as_they_stand(tmp_path: Path, way: Way) -> None:
    """A slide show: a frame that began before the moment is still on screen."""
    path = make_video(tmp_path / "slides.mp4", source="testsrc=size=160x120:rate=1/4:duration=12")
    for start in (ALONE, PASS):
        way(start)
        times = times_of(2.5, 5.0)
        assert_close(shown(preview(path, (2.5, 5.0))), on_screen(path, times, (160, 120)))


@pytest.mark.parametrize("start", [ALONE, PASS])
def test_identical_overlapping_and_unsorted_spans_each_get_theirs(tiny: Path, way: Way, start: int) -> None:
    way(start)
    spans = [(4.0, 5.0), (0.0, 2.0), (1.0, 3.0), (0.0, 2.0)]
    results = cut(tiny, spans)
    assert [len(shown(results[index])) for index in range(4)] == [3, 6, 6, 6]
    assert_close(shown(results[1]), shown(results[3]))


# --- the form of a preview -------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [ALONE, PASS])
@pytest.mark.parametrize("span", [(1.0, 3.0), (1.0, 1.1)])
def test_preview_is_a_gif_that_loops_for_ever(tiny: Path, way: Way, start: int, span: tuple[float, float]) -> None:
    way(start)
    with Image.open(BytesIO(preview(tiny, span).gif)) as gif:
        assert gif.format == "GIF" and gif.info["loop"] == 0
        assert gif.info["duration"] in (330, 340)


@pytest.mark.parametrize("start", [ALONE, PASS])
@pytest.mark.parametrize(
    ("size", "expected"),
    [("1280x720", (852, 480)), ("640x360", (640, 360)), ("90x51", (90, 50)), ("720x1280", (270, 480))],
)
def test_preview_has_at_most_480_lines_and_is_never_upscaled(
    tmp_path: Path, way: Way, start: int, size: str, expected: tuple[int, int]
) -> None:
    way(start)
    path = make_video(tmp_path / "sized.mp4", "-pix_fmt", "yuv444p", source=f"testsrc=size={size}:rate=10:duration=1")
    result = preview(path, (0, 0.5))
    with Image.open(BytesIO(result.gif)) as gif:
        assert gif.size == (result.width, result.height)
    assert abs(result.width - expected[0]) <= 2 and result.height == expected[1]
    assert result.width % 2 == result.height % 2 == 0


@pytest.mark.parametrize("name", ["with a space.mp4", "-dash.mp4", "a:b|c%d'[0].mp4", "ünï.mp4"])
def test_any_file_name_is_safe(tiny: Path, way: Way, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.rename(tiny.with_name(name))
    monkeypatch.chdir(tiny.parent)
    for start in (ALONE, PASS):
        way(start)
        assert len(shown(preview(Path(name), (0, 1)))) == 3


# --- its twin --------------------------------------------------------------------------------------------------

# Grain, which GIFs hold badly, over something that moves.
GRAINY = "testsrc2=size=160x120:rate=10:duration=6,noise=alls=12:allf=t"


@pytest.fixture
def grainy(tmp_path: Path) -> Path:
    return make_video(tmp_path / "grainy.mp4", source=GRAINY)


def played(clip: bytes) -> list[Pixels]:
    with av.open(BytesIO(clip)) as container:
        return [frame.to_ndarray(format="rgb24").astype(np.float32) for frame in container.decode(video=0)]


@pytest.mark.parametrize("start", [ALONE, PASS])
@pytest.mark.parametrize("span", [(0, 1), (1.23, 3.5), (0.0, 6.0), (5.5, 6.0), (0.5, 0.51), (5.97, 6.6)])
def test_twin_shows_the_frames_of_its_gif(grainy: Path, way: Way, start: int, span: tuple[float, float]) -> None:
    way(start)
    result = preview(grainy, span)
    assert 0 < len(result.clip) < len(result.gif)
    frames = played(result.clip)
    assert_close(frames, shown(result))
    with av.open(BytesIO(result.clip)) as container:
        assert container.duration == pytest.approx(len(frames) / 3 * 1e6, abs=1000)
        assert [frame.time for frame in container.decode(video=0)] == pytest.approx([k / 3 for k in range(len(frames))])


@pytest.mark.parametrize("start", [ALONE, PASS])
def test_twin_is_a_silent_mp4_for_browsers_that_tells_nothing_of_its_video(
    tmp_path: Path, way: Way, start: int
) -> None:
    way(start)
    told = ("-metadata", "title=Secret", "-metadata:s:v", "handler_name=Secret")
    path = make_video(tmp_path / "told.mp4", *told, source=f"{GRAINY}[out0];sine=duration=6[out1]")
    result = preview(path, (1, 4))
    assert path.read_bytes().count(b"Secret") == 2
    assert b"Secret" not in result.clip
    assert result.clip.index(b"moov") < result.clip.index(b"mdat")
    with av.open(BytesIO(result.clip)) as container:
        (stream,) = container.streams
        assert isinstance(stream, av.VideoStream)
        assert (stream.codec_context.name, stream.codec_context.pix_fmt) == ("h264", "yuv420p")
        assert (stream.width, stream.height) == (result.width, result.height)


@pytest.mark.parametrize("start", [ALONE, PASS])
def test_twin_can_be_sought_to_every_frame(grainy: Path, way: Way, start: int) -> None:
    way(start)
    clip = preview(grainy, (0.5, 5.5)).clip
    frames = played(clip)
    with av.open(BytesIO(clip)) as container:
        stream = container.streams.video[0]
        for number in reversed(range(len(frames))):
            container.seek(round(number / 3 / stream.time_base), stream=stream)
            decoded = list(zip(range(3), container.decode(stream), strict=False))  # a key frame every third, at least
            found = [frame for _, frame in decoded if frame.time == pytest.approx(number / 3)]
            assert np.array_equal(found[0].to_ndarray(format="rgb24"), frames[number])


@pytest.mark.parametrize("start", [ALONE, PASS])
def test_twin_that_would_not_be_smaller_is_not_kept(tmp_path: Path, way: Way, start: int) -> None:
    way(start)
    result = preview(make_video(tmp_path / "flat.mp4", source="color=red:size=64x48:rate=10:duration=3"), (0, 2))
    assert result.gif and result.clip == b""


@pytest.mark.parametrize("start", [ALONE, PASS])
def test_gif_is_whole_when_its_twin_fails(grainy: Path, way: Way, start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    way(start)
    monkeypatch.setitem(process.TWIN, "vcodec", "none")
    for result in cut(grainy, [(0, 1), (1, 2)]).values():
        assert len(shown(result)) == 3
        assert isinstance(result, Preview) and result.clip == b""


def test_what_a_process_wrote_counts_only_when_it_ends_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STALL_S", 1.0)
    for command, expected in ((["true"], True), (["false"], False), (["sleep", "60"], False)):
        with process.running(command) as started:
            assert process.ends_well(started) is expected
        assert started.returncode is not None


@pytest.mark.parametrize("start", [ALONE, PASS])
def test_twins_of_overlapping_moments_are_each_their_own(grainy: Path, way: Way, start: int) -> None:
    way(start)
    for result in cut(grainy, [(4.0, 5.0), (0.0, 2.0), (1.1, 3.0), (0.0, 2.0), (1.15, 5.9)]).values():
        assert isinstance(result, Preview)
        assert_close(played(result.clip), shown(result))


# --- what cannot be cut ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("span", "reason"),
    [
        ((6.0, 6.5), "the video is only 6.00 s long"),
        ((9.0, 10.0), "the video is only 6.00 s long"),
        ((3.0, 7.2), "It ends at 7.2 s"),
        ((2.0, 2.0), "its end must come after its start"),
        ((3.0, 2.0), "its end must come after its start"),
        ((-1.0, 2.0), "before the video"),
        ((float("nan"), 2.0), "not a number"),
        ((1.0, float("inf")), "not a number"),
    ],
)
@pytest.mark.parametrize("start", [ALONE, PASS])
def test_impossible_span_fails_and_the_rest_go_on(
    tiny: Path, way: Way, start: int, span: tuple[float, float], reason: str
) -> None:
    way(start)
    results = cut(tiny, [(0, 1), span, (1, 2)])
    failure = results[1]
    assert isinstance(failure, CutFailure) and reason in failure.reason
    assert isinstance(results[0], Preview) and isinstance(results[2], Preview)


@pytest.mark.parametrize("start", [ALONE, PASS])
def test_damaged_tail_fails_only_the_moments_it_held(tmp_path: Path, way: Way, start: int) -> None:
    way(start)
    whole = make_video(tmp_path / "whole.mp4", "-movflags", "+faststart")
    damaged = tmp_path / "damaged.mp4"
    damaged.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    results = cut(damaged, [(0.0, 1.0), (5.0, 6.0), (0.5, 1.5)])
    assert isinstance(results[0], Preview) and isinstance(results[2], Preview)
    failure = results[1]
    assert isinstance(failure, CutFailure) and "damaged" in failure.reason


def test_no_spans_give_nothing(tiny: Path) -> None:
    assert cut(tiny, []) == {}


# --- processes and plans ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [ALONE, PASS])
def test_closing_the_iterator_stops_ffmpeg(tiny: Path, way: Way, start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Spy(subprocess.Popen[bytes]):
        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **kwargs)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr("annotation.media.process.subprocess.Popen", Spy)
    way(start)
    results = cut_previews(tiny, [(0, 1), (1, 2), (2, 3), (3, 6)])
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert started and all(one.returncode is not None for one in started)


@pytest.mark.parametrize("start", [ALONE, PASS])
def test_silent_ffmpeg_is_given_up(tiny: Path, way: Way, start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    way(start)
    for name in ("gif_command", "frames_command"):
        monkeypatch.setattr(cutting, name, lambda *_: ["sleep", "60"])
    monkeypatch.setattr(process, "STALL_S", 0.2)
    assert all(isinstance(result, CutFailure) for result in cut(tiny, [(0, 1), (2, 3)]).values())


def test_many_moments_are_cut_in_several_passes(tiny: Path) -> None:
    spans = [(round(k * 0.07, 2), round(k * 0.07, 2) + 0.4) for k in range(2 * PASS_MAX)]
    assert all(isinstance(result, Preview) for result in cut(tiny, spans).values())


def planned(*spans: tuple[float, float]) -> list[int]:
    """The sizes of the groups that serve these spans, given by start."""
    return [len(group) for group in groups_of(Cut(ticks_of(*span), (0,)) for span in spans)]


def test_groups_end_at_gaps_at_long_moments_and_when_too_much_would_be_held() -> None:
    assert planned((0, 5), (1, 6), (20, 25)) == [3]
    assert planned((0, 5), (60, 65)) == [1, 1]
    assert planned((0, 5), (1, 2 + LONG_FRAMES / 3), (2, 7)) == [1, 2]
    together = HELD_FRAMES // 60
    assert planned(*((k / 100, k / 100 + 20) for k in range(together + 1))) == [together, 1]
    assert planned(*((k, k + 0.5) for k in range(PASS_MAX + 1))) == [PASS_MAX, 1]


def test_long_moment_is_cut_by_itself_and_whole(tmp_path: Path) -> None:
    path = make_video(tmp_path / "long.mp4", source="testsrc=size=96x64:rate=5:duration=45")
    assert len(shown(preview(path, (0.5, 44.5)))) == 132
