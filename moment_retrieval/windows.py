"""Spans of a video that its length alone decides: sliding windows, and segments of one length. No numpy."""

from collections.abc import Sequence
from typing import TypeVar

SCALES = (1, 2, 4, 8)  # lengths of windows, in units
UNIT_S = 3.0
STRIDE = 0.3  # from one window to the next, of its length
SHORTEST_S = 0.1  # a shorter rest of a video belongs to the segment before it
Number = TypeVar("Number", int, float)


def sliding_windows(length: Number, unit: Number) -> list[tuple[Number, Number]]:
    """Return TVR's windows (start, end) of a video, sorted, in the measure of ``length`` and ``unit``.

    They are 1, 2, 4 and 8 units long, one begins every 0.3 of that (a whole number of units), and the video cuts them.

    Source: TVR (Lei et al. 2020, arXiv:2001.09099) and its released code.
    """
    windows: set[tuple[Number, Number]] = set()
    for scale in SCALES:
        stride = max(round(STRIDE * scale), 1) * unit
        start = 0 * unit
        while start < length:
            windows.add((start, min(start + scale * unit, length)))
            start += stride
    return sorted(windows)


def shortest_windows(windows: Sequence[tuple[Number, Number]], most: int) -> list[tuple[Number, Number]]:
    """Return the ``most`` shortest of the windows, sorted by start; of equally long ones the first.

    Raises:
        ValueError: ``most`` is below 1.

    Source: the evaluation code of TVR, which keeps 90 a video; the paper (arXiv:2001.09099) does not say so.
    """
    if most < 1:
        raise ValueError(f"expected 1 window or more, got {most}")
    return sorted(sorted(windows, key=lambda window: window[1] - window[0])[:most])


def uniform_segments(length_s: float, segment_s: float) -> list[tuple[float, float]]:
    """Return segments (start, end) in seconds, one after the other, each ``segment_s`` long but for the last.

    Together they are the video. A rest of less than 0.1 s is part of the segment before it.

    Raises:
        ValueError: a length is not above 0.
    """
    if length_s <= 0 or segment_s <= 0:
        raise ValueError(f"expected lengths above 0, got {length_s} s in segments of {segment_s} s")
    starts = [0.0]
    while (start := len(starts) * segment_s) < length_s - SHORTEST_S:
        starts.append(start)
    return list(zip(starts, [*starts[1:], length_s], strict=True))
