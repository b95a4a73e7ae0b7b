"""R@K,IoU>=mu of video corpus, single video and video retrieval, as TVR defines them, and the rank of the first hit.

Source: Lei et al., ECCV 2020, and its standalone evaluation: the first 100 predictions, intersection over hull,
float32.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from moment_retrieval.errors import InvalidCutoff
from moment_retrieval.metrics.iou import hull_ious, suppressed
from moment_retrieval.metrics.matching import NO_VIDEO, PADDING, at_rows, blocks, lengths, padded
from moment_retrieval.metrics.ndcg_iou import Convention, Measure, check_measures
from moment_retrieval.metrics.scores import Scores, check_queries, missing_queries, numbers_of
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


KS = (1, 5, 10, 100)
MUS = (0.5, 0.7)
DEPTH = 100
BEFORE_NMS = 200  # 300 for MCN and CAL


class Task(enum.Enum):
    """VCMR: the video and the moment. SVMR: the moment in its video, other videos put aside. VR: the video."""

    VCMR = "VCMR"
    SVMR = "SVMR"
    VR = "VR"


class RecallMeasure(NamedTuple):
    """Prints as ``R@5,IoU>=0.5``, or ``R@5`` where only the video counts."""

    k: int
    mu: float | None

    def __str__(self) -> str:
        return f"R@{self.k}" if self.mu is None else f"R@{self.k},IoU>={self.mu}"


def recall_name(task: Task, measure: RecallMeasure) -> str:
    """Return the name of a mean of recall among metrics."""
    name = f"{task.value.lower()}_r@{measure.k}"
    return name if measure.mu is None else f"{name}_{measure.mu}"


def recall(
    run: RunTable,
    judged: JudgedTable,
    *,
    task: Task = Task.VCMR,
    ks: Sequence[int] = KS,
    mus: Sequence[float] = MUS,
    nms: float | None = None,
    convention: Convention = Convention.PAPER,
    agreeing: int = 1,
) -> Scores:
    """R@K of a run: 1 where a query's moment (VR: video) is among the first K, else 0, as for unanswered queries.

    Args:
        run: predictions of the task, best first.
        judged: what is right: moments of relevance above 0.
        nms: suppress moments of which the overlap with a better one is larger (VCMR and SVMR); BEFORE_NMS enter it.
        convention: after a suppression moments of equal score stay as they stand (PAPER, which does not say), or stand
            by the first appearance of their videos (RELEASED).
        agreeing: how many judged moments a prediction must overlap (DiDeMo: 2 of 4 or more).

    Raises:
        UnknownQuery, EmptyFile, InvalidCutoff.
    """
    check_cutoffs(ks, mus)
    check_queries(run, judged)
    if nms is not None and task is not Task.VR:
        by_video = convention is Convention.RELEASED
        run = suppressed(run, nms, before=BEFORE_NMS, after=DEPTH, one_video=task is Task.SVMR, ties_by_video=by_video)
    thresholds: tuple[float | None, ...] = (None,) if task is Task.VR else tuple(mus)
    first = first_hits(
        run,
        judged,
        [mu or 0.0 for mu in thresholds],
        depth=DEPTH,
        in_right_video=task is Task.SVMR,
        agreeing=1 if task is Task.VR else agreeing,
    )
    measures = tuple(RecallMeasure(k, mu) for mu in thresholds for k in ks)
    return Scores(
        measures=measures,
        query_ids=judged.query_ids,
        values=np.stack([first[thresholds.index(mu)] <= k for k, mu in measures], axis=1).astype(np.float64),
        missing=missing_queries(run, judged),
        kinds=judged.kinds,
        facts={"task": task.value, "nms": shown(nms), "convention": convention.value},
    )


def shown(nms: float | None) -> str:
    """Return the threshold of a suppression, for people."""
    return "off" if nms is None else str(nms)


def check_cutoffs(ks: Sequence[int], mus: Sequence[float]) -> None:
    """Raise InvalidCutoff unless there are cutoffs from 1 to DEPTH and thresholds in (0, 1]."""
    if not ks or not mus:
        raise InvalidCutoff("no cutoff k or no IoU threshold mu is given")
    check_measures(Measure(k, mu) for k in ks for mu in mus)
    if max(ks) > DEPTH:
        raise InvalidCutoff(f"the first {DEPTH} predictions count, got the cutoff {max(ks)}")
