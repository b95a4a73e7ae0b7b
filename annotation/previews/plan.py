"""Decides which instants of a video a moment shows and which moments share one pass, and makes a GIF of the frames.

Times are counted in ticks, so that every way of cutting shows the same instants.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO

from PIL import Image

FRAMES_PER_S = 3
END_SLACK_S = 1.0  # a moment may end this much after its video: annotations round
TICKS_PER_S = 300  # holds hundredths of a second and thirds exactly
TICKS_PER_FRAME = TICKS_PER_S // FRAMES_PER_S

PASS_MAX = 20  # moments in one pass: each twin takes ffmpeg about 12 MB at 854x480
PASS_GAP_S = 20.0  # unwanted video that is cheaper to decode than a new process
HELD_FRAMES = 400  # frames of open moments a pass may hold: 490 MB at 854x480
LONG_FRAMES = 90  # 30 s; a longer moment is cut by itself
PALETTE_SAMPLES = 6  # frames the colours are taken from


@dataclass(frozen=True)
class Cut:
    """One distinct stretch of video, the ticks it shows, and the spans that asked for it."""

    ticks: range
    indexes: tuple[int, ...]


def fault_of(start_s: float, end_s: float, duration_s: float) -> str | None:
    """Why this span cannot be cut from a video of ``duration_s`` seconds, or None."""
    if not (math.isfinite(start_s) and math.isfinite(end_s)):
        return "Its start or end is not a number of seconds."
    if start_s >= end_s:
        return f"It starts at {start_s:g} s and ends at {end_s:g} s: its end must come after its start."
    if start_s < 0:
        return f"It starts at {start_s:g} s, before the video does."
    if start_s >= duration_s:
        return f"It starts at {start_s:g} s, but the video is only {duration_s:.2f} s long."
    if end_s > duration_s + END_SLACK_S:
        return f"It ends at {end_s:g} s, but the video is only {duration_s:.2f} s long."
    return None


def ticks_of(start_s: float, end_s: float) -> range:
    """The ticks of a moment's frames; at least one."""
    first = math.floor(start_s * TICKS_PER_S + 1e-6)  # down: the tick must lie inside the video
    return range(first, max(first + 1, round(end_s * TICKS_PER_S)), TICKS_PER_FRAME)


def groups_of(cuts: Iterable[Cut]) -> Iterator[list[Cut]]:
    """Gather cuts, given by start, that one pass can serve without holding too much or decoding for nothing."""
    group: list[Cut] = []
    for cut in cuts:
        if len(cut.ticks) > LONG_FRAMES:
            yield [cut]  # a long moment is cheaper on memory by itself
            continue
        if group and not _fits(cut, group):
            yield group
            group = []
        group.append(cut)
    if group:
        yield group


def _fits(cut: Cut, group: list[Cut]) -> bool:
    held = sum(len(other.ticks) for other in group if other.ticks[-1] >= cut.ticks[0])
    gap = cut.ticks[0] - max(other.ticks[-1] for other in group)
    return len(group) < PASS_MAX and held + len(cut.ticks) <= HELD_FRAMES and gap <= PASS_GAP_S * TICKS_PER_S


def encode_gif(frames: Sequence[Image.Image]) -> bytes:
    """The frames as one looping GIF with one palette; nothing for no frames.

    The octree palette without dithering is what Pillow does fastest, and beside ffmpeg's it looks the same but for
    faint bands in the sky; dithering by Floyd-Steinberg flickers between frames and makes the file half as large again.
    """
    if not frames:
        return b""
    palette = _mosaic(frames).quantize(255, method=Image.Quantize.FASTOCTREE)  # one left to mean "as before"
    first, *rest = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    file = BytesIO()
    first.save(file, "GIF", save_all=True, append_images=rest, duration=round(1000 / FRAMES_PER_S), loop=0)
    return file.getvalue()


def _mosaic(frames: Sequence[Image.Image]) -> Image.Image:
    """A few of the frames at half size, one below the other: what a moment's palette is taken from."""
    picked = frames[:: math.ceil(len(frames) / PALETTE_SAMPLES)]
    width, height = (max(1, side // 2) for side in frames[0].size)
    mosaic = Image.new("RGB", (width, height * len(picked)))
    for row, frame in enumerate(picked):
        mosaic.paste(frame.resize((width, height)), (0, row * height))
    return mosaic
