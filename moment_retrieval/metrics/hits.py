"""At which rank a run first finds a right moment, or a right video."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from moment_retrieval.metrics.iou import hull_ious
from moment_retrieval.metrics.matching import NO_VIDEO, PADDING, at_rows, blocks, lengths, padded
from moment_retrieval.metrics.scores import numbers_of
from moment_retrieval.tables import Flags, Floats, Ints, JudgedTable, RunTable, recoded

NEVER = np.inf


def first_hits(
    run: RunTable,
    judged: JudgedTable,
    mus: Sequence[float],
    *,
    depth: int,
    in_right_video: bool = False,
    agreeing: int = 1,
) -> Floats:
    """[thresholds, queries of ``judged``] the rank from 1 of the first right moment, NEVER where there is none.

    A moment is right if its intersection over hull with moments of relevance above 0 of its query and video is ``mu``
    or more; at ``mu`` 0 the video is enough. Computed in float32, as the published scorers of TVR and MVMR do.

    Args:
        depth: how many predictions to look at.
        in_right_video: rank among the predictions of a right video only.
        agreeing: how many judged moments must be overlapped.
    """
    numbers = numbers_of(judged.query_ids, run)
    retrieved_n, judged_n = np.minimum(lengths(run, numbers), depth), np.diff(judged.offsets)
    videos = recoded(run.spans, judged.spans.names)
    first = np.full((len(mus), len(judged)), NEVER)
    for some in blocks(retrieved_n, judged_n):
        ranks = padded(run.offsets, numbers[some], retrieved_n[some])
        rows = padded(judged.offsets, some, judged_n[some])
        if not (ranks.size and rows.size):
            continue
        same = right_videos(videos, ranks, judged, rows)
        rank = ranked(np.logical_or.reduce(same, axis=2), in_right_video=in_right_video)
        iou = grid_ious(run, ranks, judged, rows)
        for number, mu in enumerate(mus):
            hits = (same & (iou >= np.float32(mu))).sum(axis=2) >= agreeing
            first[number, some] = np.where(hits, rank, NEVER).min(axis=1)
    return first


def right_videos(videos: Ints, ranks: Ints, judged: JudgedTable, rows: Ints) -> Flags:
    """[B, ranks, judged] where a prediction's video is that of a relevant moment."""
    relevant = np.where(judged.weights > 0, judged.spans.video, PADDING)
    above, below = at_rows(videos, ranks, NO_VIDEO), at_rows(relevant, rows, PADDING)
    return np.asarray(above[:, :, None] == below[:, None, :])


def ranked(right: Flags, *, in_right_video: bool) -> Floats:
    """[B, ranks] the rank of each prediction, or its rank among those of right videos."""
    count = np.cumsum(right, axis=1) if in_right_video else np.arange(1, right.shape[1] + 1)
    return np.broadcast_to(count, right.shape).astype(np.float64)


def grid_ious(run: RunTable, ranks: Ints, judged: JudgedTable, rows: Ints) -> Floats:
    """[B, ranks, judged] intersection over hull, in float32; meaningless where there is no row."""
    one, other = (
        [times[grid].astype(np.float32) for times in (table.spans.start_s, table.spans.end_s)]
        for table, grid in ((run, ranks), (judged, rows))
    )
    return hull_ious(one[0][:, :, None], one[1][:, :, None], other[0][:, None, :], other[1][:, None, :])
