"""Temporal non-maximum suppression: of moments that overlap much, the best is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from moment_retrieval.metrics.iou import hull_ious
from moment_retrieval.tables import Flags, Ints, RunTable, Spans

MAX_CELLS = 4_000_000  # pairs of moments looked at together


def suppressed(
    run: RunTable, threshold: float, *, before: int | None = None, after: int | None = None, one_video: bool = False
) -> RunTable:
    """The run after suppression within each video, sorted by score.

    Args:
        run: best first.
        threshold: a moment goes if its intersection over hull with a better one of its query and video is larger.
        before: how many moments of each query enter.
        after: how many of each query are kept.
        one_video: take all moments of a query for those of its first one's video, as TVR does for SVMR.
    """
    if one_video:
        run = in_first_video(run)
    entering = np.flatnonzero(run.order < (len(run.order) if before is None else before))
    order = entering[np.lexsort((-run.weights[entering], run.query[entering]))]  # stable: equals as they stand
    left = rows_taken(run, order[kept_of(run, order, threshold)])
    return left if after is None else rows_taken(left, np.flatnonzero(left.order < after))


def in_first_video(run: RunTable) -> RunTable:
    """The run with every moment in the video of its query's first."""
    sizes = np.diff(run.offsets)
    first = run.offsets[:-1][sizes > 0]
    video = np.repeat(run.spans.video[first], sizes[sizes > 0])
    return replace(run, spans=run.spans._replace(video=video))


def rows_taken(run: RunTable, rows: Ints) -> RunTable:
    """A run of some rows, which are sorted by query."""
    spans = Spans(run.spans.video[rows], run.spans.names, run.spans.start_s[rows], run.spans.end_s[rows])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(run.query[rows], minlength=len(run)))])
    return RunTable(run.query_ids, offsets, spans, run.weights[rows], run.texts, run.lines)


def kept_of(run: RunTable, order: Ints, threshold: float, dtype: DTypeLike = np.float64) -> Flags:
    """Which of the rows in ``order`` are kept: best first within each query and video."""
    group = run.query[order] * len(run.spans.names) + run.spans.video[order]
    by_group = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[by_group], prepend=-1))
    sizes = np.diff(starts, append=len(by_group))
    start_s, end_s = (times[order[by_group]].astype(dtype) for times in (run.spans.start_s, run.spans.end_s))
    kept = np.ones(len(order), np.bool_)
    for size in np.unique(sizes[sizes > 1]).tolist():
        at_once = max(1, MAX_CELLS // size**2)
        of_size = starts[sizes == size]
        for some in (of_size[low : low + at_once] for low in range(0, len(of_size), at_once)):
            rows = some[:, None] + np.arange(size)
            kept[by_group[rows]] = survivors(start_s[rows], end_s[rows], threshold)
    return kept


def survivors(start: NDArray[Any], end: NDArray[Any], threshold: float) -> Flags:
    """[groups, moments] which are kept, of moments best first."""
    iou = hull_ious(start[:, :, None], end[:, :, None], start[:, None, :], end[:, None, :])
    above = iou > start.dtype.type(threshold)
    kept = np.ones(start.shape, np.bool_)
    for place in range(start.shape[1] - 1):
        kept[:, place + 1 :] &= ~(above[:, place, place + 1 :] & kept[:, place, None])
    return kept
