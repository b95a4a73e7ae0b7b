"""Cuts moments to previews, in one pass over the video or one ffmpeg call each.

Every preview shows the video at ``start``, ``start + 1/3 s``, ... before ``end``: at each instant the frame on screen
at that time. ffmpeg lays the video on a fine grid of ticks and hands over the wanted ones only, so that one pass over
many moments and one call for a single moment show the same instants.
"""

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from annotation.previews import process
from annotation.previews.process import Cut, Source

logger = logging.getLogger(__name__)

NO_PICTURE = "The video shows no picture there; this part of the file may be damaged."
LEAST_S = 0.1  # shorter shows nothing
PASS_FROM = 2  # moments; measured at 640x360: a pass cuts 4 to 6 a second, one call each about 1

# Source, its cuts, and a file for the MP4 of each, or none -> the GIFs, and whether ffmpeg ended well.
Method = Callable[[Source, list[Cut], Sequence[Path]], tuple[dict[Cut, bytes], bool]]


def fault_of_bounds(start_s: float, end_s: float, *, duration_s: float) -> str | None:
    """Say why a moment cannot have these bounds, in seconds of a video of this duration; None when it can."""
    if not (math.isfinite(start_s) and math.isfinite(end_s)):
        return "Start and end are numbers of seconds."
    if start_s < 0:
        return "A moment cannot start before its video."
    if end_s > duration_s:
        return f"The video is only {duration_s:g} s long."
    if end_s - start_s < LEAST_S - 1e-9:
        return "A moment ends after it starts."
    return None


@dataclass(frozen=True)
class Preview:
    """The GIF of the moment at ``index`` of the spans asked for, and its size in pixels.

    ``clip`` holds the same frames as an H.264 MP4; empty where that would not be smaller than the GIF.
    """

    index: int
    gif: bytes
    width: int
    height: int
    clip: bytes = b""


@dataclass(frozen=True)
class CutFailure:
    """Why the moment at ``index`` of the spans asked for has no preview, in plain words."""

    index: int
    reason: str


def cut_previews(path: str | Path, spans: Sequence[tuple[float, float]]) -> Iterator[Preview | CutFailure]:
    """Cut each span (start and end in seconds) of the video to a GIF that loops for ever, and to its MP4 preview.

    Spans come in any order; they may overlap or repeat. There is one result per span, as each pass is done: **keyed by
    its index, not in the order of the spans**. Raises VideoUnreadable, at the call, where the file is missing, corrupt,
    or has no video stream.
    """
    source = process.open_source(Path(path))
    return _cut_all(source, spans)


def _cut_all(source: Source, spans: Sequence[tuple[float, float]]) -> Iterator[Preview | CutFailure]:
    indexes_by_ticks: dict[range, list[int]] = defaultdict(list)
    for index, (start_s, end_s) in enumerate(spans):
        reason = process.fault_of(start_s, end_s, source.duration_s)
        if reason is None:
            indexes_by_ticks[process.ticks_of(start_s, min(end_s, source.duration_s))].append(index)
        else:
            yield CutFailure(index, reason)
    cuts = sorted(
        (Cut(ticks, tuple(indexes)) for ticks, indexes in indexes_by_ticks.items()),
        key=lambda segment: segment.ticks[0],
    )
    for group in process.groups_of(cuts):
        if len(group) >= PASS_FROM:
            yield from _cut(source, group, _in_one_pass)
        else:
            yield from chain.from_iterable(_cut(source, [segment], _alone) for segment in group)


def _cut(source: Source, group: list[Cut], method: Method) -> Iterator[Preview | CutFailure]:
    """Cut the group to GIFs and MP4s; when that fails (a damaged video, a full disk), to GIFs alone."""
    with TemporaryDirectory(prefix="momentjudge-") as folder:
        mp4_paths = [Path(folder) / f"{number}.mp4" for number in range(len(group))]
        gifs, whole = method(source, group, mp4_paths)
        if not whole:
            gifs, _ = method(source, group, [])
        for segment, mp4_path in zip(group, mp4_paths, strict=True):
            gif, clip = gifs[segment], mp4_path.read_bytes() if whole else b""
            if not gif:
                logger.warning("no picture at %.2f s of %s", segment.ticks[0] / process.TICKS_PER_S, source.path.name)
            for index in segment.indexes:
                if gif:
                    yield Preview(index, gif, source.width, source.height, clip if len(clip) < len(gif) else b"")
                else:
                    yield CutFailure(index, NO_PICTURE)


def _alone(source: Source, group: list[Cut], mp4_paths: Sequence[Path]) -> tuple[dict[Cut, bytes], bool]:
    """One call of ffmpeg for one moment: it seeks, and makes the GIF itself."""
    [segment] = group
    with process.running(process.gif_command(source, segment, mp4_paths)) as call:
        return {segment: b"".join(process.read_chunks(call))}, process.ends_well(call)


def _in_one_pass(source: Source, group: list[Cut], mp4_paths: Sequence[Path]) -> tuple[dict[Cut, bytes], bool]:
    """Decode once: ffmpeg hands over the frames that the GIFs are made of."""
    ticks = sorted({tick for segment in group for tick in segment.ticks})
    with process.running(process.frames_command(source, group, len(ticks), mp4_paths)) as call:
        frames = zip(ticks, process.read_frames(call, (source.width, source.height)), strict=False)
        return _gifs(group, frames), process.ends_well(call)


def _gifs(group: list[Cut], frames: Iterable[tuple[int, Image.Image]]) -> dict[Cut, bytes]:
    """Each moment becomes a GIF when its last frame is in, so that only open moments hold frames."""
    takers: dict[int, list[Cut]] = defaultdict(list)
    for segment in group:
        for tick in segment.ticks:
            takers[tick].append(segment)
    open_frames: dict[Cut, list[Image.Image]] = {segment: [] for segment in group}
    gifs: dict[Cut, bytes] = {}
    for tick, frame in frames:
        for segment in takers[tick]:
            open_frames[segment].append(frame)
            if tick == segment.ticks[-1]:
                gifs[segment] = process.encode_gif(open_frames.pop(segment))
    return gifs | {segment: process.encode_gif(rest) for segment, rest in open_frames.items()}  # the video ended early
