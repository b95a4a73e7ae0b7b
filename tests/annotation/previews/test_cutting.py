"""Spans that cannot be cut, processes that hang, and moments cut together."""

import subprocess
from pathlib import Path

import pytest
from PIL import Image

from annotation.previews import process
from annotation.previews.cutting import CutFailure, Preview, cut_previews, fault_of_bounds
from annotation.previews.process import (
    LONG_FRAMES,
    OPEN_FRAMES_MAX,
    PASS_MAX,
    Cut,
    VideoUnreadable,
    groups_of,
    open_source,
    ticks_of,
)
from tests.annotation.previews.clips import CLIPS, cut_spans, frames_of, make_video, preview, shared_clips


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
@pytest.mark.usefixtures("each_method")
def test_impossible_span_fails_and_the_rest_go_on(tiny: Path, span: tuple[float, float], reason: str) -> None:
    results = cut_spans(tiny, [(0, 1), span, (1, 2)])
    failure = results[1]
    assert isinstance(failure, CutFailure) and reason in failure.reason
    assert isinstance(results[0], Preview) and isinstance(results[2], Preview)


@pytest.mark.usefixtures("each_method")
def test_damaged_tail_fails_only_the_moments_in_it(tmp_path: Path) -> None:
    whole = make_video(tmp_path / "whole.mp4", "-movflags", "+faststart")
    damaged = tmp_path / "damaged.mp4"
    damaged.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    results = cut_spans(damaged, [(0.0, 1.0), (5.0, 6.0), (0.5, 1.5)])
    assert isinstance(results[0], Preview) and isinstance(results[2], Preview)
    failure = results[1]
    assert isinstance(failure, CutFailure) and "damaged" in failure.reason


@pytest.mark.usefixtures("each_method")
def test_closing_the_iterator_stops_ffmpeg(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Spy(subprocess.Popen[bytes]):
        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **kwargs)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr("annotation.previews.process.subprocess.Popen", Spy)
    results = cut_previews(tiny, [(0, 1), (1, 2), (2, 3), (3, 6)])
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert started and all(one.returncode is not None for one in started)


@pytest.mark.usefixtures("each_method")
def test_silent_ffmpeg_is_given_up(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("gif_command", "frames_command"):
        monkeypatch.setattr(process, name, lambda *_: ["sleep", "60"])
    monkeypatch.setattr(process, "STALL_S", 0.2)
    assert all(isinstance(result, CutFailure) for result in cut_spans(tiny, [(0, 1), (2, 3)]).values())


def test_many_moments_are_cut_in_several_passes(tiny: Path) -> None:
    spans = [(round(k * 0.07, 2), round(k * 0.07, 2) + 0.4) for k in range(2 * PASS_MAX)]
    assert all(isinstance(result, Preview) for result in cut_spans(tiny, spans).values())


def planned(*spans: tuple[float, float]) -> list[int]:
    """The sizes of the groups that serve these spans, given by start."""
    return [len(group) for group in groups_of(Cut(ticks_of(*span), (0,)) for span in spans)]


def test_groups_end_at_gaps_at_long_moments_and_at_the_memory_limit() -> None:
    assert planned((0, 5), (1, 6), (20, 25)) == [3]
    assert planned((0, 5), (60, 65)) == [1, 1]
    assert planned((0, 5), (1, 2 + LONG_FRAMES / 3), (2, 7)) == [1, 2]
    together = OPEN_FRAMES_MAX // 60
    assert planned(*((k / 100, k / 100 + 20) for k in range(together + 1))) == [together, 1]
    assert planned(*((k, k + 0.5) for k in range(PASS_MAX + 1))) == [PASS_MAX, 1]


def test_long_moment_is_cut_by_itself_and_whole(tmp_path: Path) -> None:
    path = make_video(tmp_path / "long.mp4", source="testsrc=size=96x64:rate=5:duration=45")
    assert len(frames_of(preview(path, (0.5, 44.5)))) == 132


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


@pytest.mark.parametrize(
    ("start_s", "end_s", "words"),
    [
        (0.0, 90.0, None),
        (12.5, 12.6, None),
        (-0.1, 5.0, "cannot start before its video"),
        (5.0, 90.1, "The video is only 90 s long."),
        (5.0, 5.0, "ends after it starts"),
        (5.0, 5.05, "ends after it starts"),
        (6.0, 5.0, "ends after it starts"),
        (float("nan"), 5.0, "numbers of seconds"),
        (0.0, float("inf"), "numbers of seconds"),
    ],
)
def test_bounds_that_no_moment_can_have_are_refused_in_words(start_s: float, end_s: float, words: str | None) -> None:
    fault = fault_of_bounds(start_s, end_s, duration_s=90.0)
    assert fault is None if words is None else words in str(fault)
