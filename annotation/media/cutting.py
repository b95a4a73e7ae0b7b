"""Cuts moments to GIF previews, in one pass over the video or one ffmpeg call each."""

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from annotation.media.encode import encode_gif
from annotation.media.plan import TICKS_PER_S, Cut, fault_of, groups_of, ticks_of
from annotation.media.process import frames_command, gif_command, read_chunks, read_frames, running
from annotation.media.source import Source, open_source

logger = logging.getLogger(__name__)

PASS_FROM = 2  # moments; measured at 640x360: a pass cuts 4 to 6 a second, one call each about 1


@dataclass(frozen=True)
class Preview:
    """The GIF of the moment at ``index`` of the spans asked for; its size in pixels."""

    index: int
    gif: bytes
    width: int
    height: int


@dataclass(frozen=True)
class CutFailure:
    """Why the moment at ``index`` of the spans asked for has no preview, in plain words."""

    index: int
    reason: str


def cut_previews(path: str | Path, spans: Sequence[tuple[float, float]]) -> Iterator[Preview | CutFailure]:
    """Cut each span (start and end in seconds) of the video to a GIF that loops for ever.

    Args:
        path: the video file.
        spans: moments in any order; they may overlap or repeat.

    Returns:
        One result per span, as each is done: **keyed by its index, not in the order of the spans**. Closing the
        iterator stops ffmpeg.

    Raises:
        VideoUnreadable: at the call, when the file is missing, corrupt, or has no video stream.
    """
    source = open_source(Path(path))
    return _cut_all(source, spans)


def _cut_all(source: Source, spans: Sequence[tuple[float, float]]) -> Iterator[Preview | CutFailure]:
    wanted: dict[range, list[int]] = defaultdict(list)
    for index, (start_s, end_s) in enumerate(spans):
        reason = fault_of(start_s, end_s, source.info.duration_s)
        if reason is None:
            wanted[ticks_of(start_s, min(end_s, source.info.duration_s))].append(index)
        else:
            yield CutFailure(index, reason)
    cuts = sorted((Cut(ticks, tuple(indexes)) for ticks, indexes in wanted.items()), key=lambda cut: cut.ticks[0])
    for group in groups_of(cuts):
        yield from _cut_group(source, group)


def _cut_group(source: Source, group: list[Cut]) -> Iterator[Preview | CutFailure]:
    if len(group) >= PASS_FROM:
        yield from _cut_in_one_pass(source, group)
        return
    for cut in group:
        yield from _cut_alone(source, cut)


def _cut_alone(source: Source, cut: Cut) -> Iterator[Preview | CutFailure]:
    """One call of ffmpeg for one moment: it seeks, and makes the GIF itself."""
    with running(gif_command(source, cut)) as process:
        gif = b"".join(read_chunks(process))
    yield from _results(source, cut, gif)


def _cut_in_one_pass(source: Source, group: list[Cut]) -> Iterator[Preview | CutFailure]:
    """Decode once; each moment becomes a GIF when its last frame is in, and only open moments hold frames."""
    takers: dict[int, list[Cut]] = defaultdict(list)
    for cut in group:
        for tick in cut.ticks:
            takers[tick].append(cut)
    held: dict[Cut, list[Image.Image]] = {cut: [] for cut in group}
    with running(frames_command(source, group, len(takers))) as process:
        for tick, frame in zip(sorted(takers), read_frames(process, (source.width, source.height)), strict=False):
            for cut in takers[tick]:
                held[cut].append(frame)
                if tick == cut.ticks[-1]:
                    yield from _results(source, cut, encode_gif(held.pop(cut)))
    for cut, frames in held.items():  # the video ended early
        yield from _results(source, cut, encode_gif(frames))


def _results(source: Source, cut: Cut, gif: bytes) -> Iterator[Preview | CutFailure]:
    if not gif:
        logger.warning("no picture at %.2f s of %s", cut.ticks[0] / TICKS_PER_S, source.path.name)
    for index in cut.indexes:
        if gif:
            yield Preview(index, gif, source.width, source.height)
        else:
            yield CutFailure(index, "The video shows no picture there; this part of the file may be damaged.")
