"""Intersection over union of spans, one pair or columns of them, and non-maximum suppression by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from moment_retrieval.records import Span
from moment_retrieval.tables import Flags, Ints, RunTable

Times: TypeAlias = NDArray[Any]  # float32 or float64


def span_iou(one: Span, other: Span) -> float:
    """Temporal IoU of two spans of the same video; the videos are not compared.

    Args:
        one, other: spans with finite times in seconds.

    Returns:
        A value in [0, 1]. 0.0 when the spans only touch, when one is inverted (ends before it starts), and when both
        have no length. The order of the operations is the published scorer's, so that results are equal bit for bit.

    Source: docs/scoring.md.
    """
    intersection = min(one.end_s, other.end_s) - max(one.start_s, other.start_s)
    if intersection <= 0:
        return 0.0
    union = (one.end_s - one.start_s) + (other.end_s - other.start_s) - intersection
    return intersection / union if union > 0 else 0.0


def ious(start: Times, end: Times, other_start: Times, other_end: Times) -> Times:
    """``span_iou`` of columns, which numpy broadcasts; equal to it bit for bit."""
    intersection = np.minimum(end, other_end) - np.maximum(start, other_start)
    union = (end - start) + (other_end - other_start) - intersection
    iou: Times = np.zeros_like(union)
    np.divide(intersection, union, out=iou, where=(intersection > 0) & (union > 0))
    return iou


def hull_ious(start: Times, end: Times, other_start: Times, other_end: Times) -> Times:
    """Intersection over hull (latest end less earliest start), which TVR and MVMR call IoU; 0 for an empty hull.

    It equals ``ious`` for spans that overlap and are not inverted. The type of the times decides the precision: the
    published scorers of TVR and MVMR compute in float32.
    """
    intersection = np.maximum(0, np.minimum(end, other_end) - np.maximum(start, other_start))
    hull = np.maximum(end, other_end) - np.minimum(start, other_start)
    iou: Times = np.zeros_like(hull)
    np.divide(intersection, hull, out=iou, where=hull != 0)
    return iou


MAX_CELLS = 4_000_000  # pairs of moments looked at together


def suppressed(
    run: RunTable,
    threshold: float,
    *,
    before: int | None = None,
    after: int | None = None,
    one_video: bool = False,
    ties_by_video: bool = False,
) -> RunTable:
    """The run after suppression within each video, sorted by score.

    Args:
        run: best first.
        threshold: a moment goes if its intersection over hull with a better one of its query and video is larger.
        before: how many moments of each query enter.
        after: how many of each query are kept.
        one_video: take all moments of a query for those of its first one's video, as TVR does for SVMR.
        ties_by_video: of equal scores, those of the video that stands first in the run come first, as TVR does; else
            equals stay as they stand.
    """
    if one_video:
        run = in_first_video(run)
    entering = np.flatnonzero(run.order < (len(run.order) if before is None else before))
    keys = [-run.weights[entering], run.query[entering]]  # the last counts most; stable: equals as they stand
    if ties_by_video:
        group = run.query[entering] * len(run.spans.names) + run.spans.video[entering]
        _, first, of_group = np.unique(group, return_index=True, return_inverse=True)
        keys.insert(0, first[of_group])
    order = entering[np.lexsort(keys)]
    result = run.taken(order[suppression_mask(run, order, threshold)])
    return result if after is None else result.taken(result.order < after)


def in_first_video(run: RunTable) -> RunTable:
    """The run with every moment in the video of its query's first."""
    sizes = np.diff(run.offsets)
    first = run.offsets[:-1][sizes > 0]
    video = np.repeat(run.spans.video[first], sizes[sizes > 0])
    return replace(run, spans=run.spans._replace(video=video))


def suppression_mask(run: RunTable, order: Ints, threshold: float, dtype: DTypeLike = np.float64) -> Flags:
    """Which of the rows in ``order`` are kept: best first within each query and video."""
    group = run.query[order] * len(run.spans.names) + run.spans.video[order]
    by_group = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[by_group], prepend=-1))
    sizes = np.diff(starts, append=len(by_group))
    start_s, end_s = (times[order[by_group]].astype(dtype) for times in (run.spans.start_s, run.spans.end_s))
    mask = np.ones(len(order), np.bool_)
    for size in np.unique(sizes[sizes > 1]).tolist():
        at_once = max(1, MAX_CELLS // size**2)
        of_size = starts[sizes == size]
        for some in (of_size[low : low + at_once] for low in range(0, len(of_size), at_once)):
            rows = some[:, None] + np.arange(size)
            mask[by_group[rows]] = survivors(start_s[rows], end_s[rows], threshold)
    return mask


def survivors(start: NDArray[Any], end: NDArray[Any], threshold: float) -> Flags:
    """[groups, moments] which are kept, of moments best first."""
    iou = hull_ious(start[:, :, None], end[:, :, None], start[:, None, :], end[:, None, :])
    above = iou > start.dtype.type(threshold)
    mask = np.ones(start.shape, np.bool_)
    for rank in range(start.shape[1] - 1):
        mask[:, rank + 1 :] &= ~(above[:, rank, rank + 1 :] & mask[:, rank, None])
    return mask
