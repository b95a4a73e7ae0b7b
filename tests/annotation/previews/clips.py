"""Tiny videos made by ffmpeg, and what a preview of one must show."""

import subprocess
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import av
import numpy as np
import pytest
from imageio_ffmpeg import get_ffmpeg_exe  # type: ignore[import-untyped]
from PIL import Image

from annotation.previews.cutting import CutFailure, Preview, cut_previews
from tests.annotation.corpora.importers.shared import DATA

CLIPS = DATA / "video"
shared_clips = pytest.mark.skipif(not CLIPS.is_dir(), reason=f"the shared clips are not at {CLIPS}")

CLOSE = 12.0  # mean difference of a channel, 0 to 255, that palettes and scaling may cause
# Grain, which GIFs hold badly, over something that moves.
GRAINY = "testsrc2=size=160x120:rate=10:duration=6,noise=alls=12:allf=t"

Pixels = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


def make_video(path: Path, *options: str, source: str = "testsrc=size=160x120:rate=10:duration=6") -> Path:
    """A tiny synthetic video; testsrc shows the second."""
    encode = ("-c:v", "libx264", "-g", "10", "-pix_fmt", "yuv420p") if path.suffix == ".mp4" else ()
    command = [get_ffmpeg_exe(), "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i", source, *encode, *options]
    subprocess.run([*command, f"file:{path}"], check=True, timeout=600)
    return path


def cut_spans(path: Path, spans: Sequence[tuple[float, float]]) -> dict[int, Preview | CutFailure]:
    results = list(cut_previews(path, spans))
    assert len(results) == len(spans)
    return {result.index: result for result in results}


def preview(path: Path, span: tuple[float, float]) -> Preview:
    result = cut_spans(path, [span])[0]
    assert isinstance(result, Preview)
    return result


def frames_of(result: Preview | CutFailure) -> list[Pixels]:
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
    """Return PyAV's frames at these seconds: the last that has begun, or the first."""
    with av.open(str(path)) as container:
        frames = [(frame.time or 0.0, frame) for frame in container.decode(video=0)]
    visible = [([f for begins, f in frames if begins <= time + 1e-6] or [frames[0][1]])[-1] for time in times]
    return [np.asarray(Image.fromarray(f.to_ndarray(format="rgb24")).resize(size), dtype=np.float32) for f in visible]


def assert_close(ours: Sequence[Pixels], theirs: Sequence[Pixels]) -> None:
    assert len(ours) == len(theirs)
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert float(np.abs(one - other).mean()) < CLOSE, f"frame {number}"


def times_of(start: float, end: float) -> list[float]:
    return [start + k / 3 for k in range(1000) if start + k / 3 < end - 1e-9]
