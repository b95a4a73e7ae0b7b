"""Rank n@m of massive videos moment retrieval (MVMR): all moments of a query's pool of videos compete.

Source: Yang et al., CIKM 2024, and the released evaluation: suppression within each video, float32, intersection over
hull. Three faults of the release are not repeated: positives of TACoS are compared in seconds, not in frames; queries
that are left out do not move the others; ranks beyond the last candidate are misses.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from moment_retrieval.errors import EmptyFile, InvalidRecord
from moment_retrieval.formats.mvmr import PoolTruth
from moment_retrieval.metrics.iou import suppression_mask
from moment_retrieval.metrics.ndcg_iou import Measure, check_measures
from moment_retrieval.metrics.recall import first_hits, shown
from moment_retrieval.metrics.scores import Scores, check_queries, missing_queries, numbers_of
from moment_retrieval.tables import Flags, JudgedTable, RunTable, recoded

NS = (1, 5, 20, 50)
MS = (0.5, 0.7)
NMS = 0.5  # Charades-STA and ActivityNet; TACoS: 0.4


class RankMeasure(NamedTuple):
    """Prints as ``Rank5@0.7``."""

    n: int
    m: float

    def __str__(self) -> str:
        return f"Rank{self.n}@{self.m}"


def rank_in_pool(
    run: RunTable,
    truth: JudgedTable,
    *,
    ns: Sequence[int] = NS,
    ms: Sequence[float] = MS,
    nms: float | None = NMS,
) -> Scores:
    """Rank n@m of a run: 1 where one of the first n candidates overlaps a positive moment by m or more, else 0.

    Queries that the run does not answer count 0; queries whose pool is shorter than the others' have no score.

    Args:
        run: scored candidates of the pool's videos; others are not looked at. Sorted by score here.
        nms: suppress candidates of which the overlap with a better one of the same video is larger.

    Raises:
        UnknownQuery, EmptyFile, InvalidCutoff; InvalidRecord where the ground truth has no pools.
    """
    if not isinstance(truth, PoolTruth):
        raise InvalidRecord("Rank n@m needs ground truth with the pool of each query, in the form mvmr")
    check_measures(Measure(n, m) for n in ns for m in ms)
    check_queries(run, truth)
    sizes = np.array([len(pool) for pool in truth.pools])
    scored = np.flatnonzero(sizes == sizes.max(initial=0))
    if not len(scored):
        raise EmptyFile("no queries to score")
    pool_run = candidates(run, truth, nms)
    first = first_hits(pool_run, truth, ms, depth=int(np.diff(pool_run.offsets).max(initial=1)))[:, scored]
    measures = tuple(RankMeasure(n, m) for n in ns for m in ms)
    return Scores(
        measures=measures,
        query_ids=tuple(truth.query_ids[number] for number in scored),
        values=np.stack([first[list(ms).index(m)] <= n for n, m in measures], axis=1).astype(np.float64),
        missing=missing_queries(run, truth),
        facts={
            "nms": shown(nms),
            "pool size": str(sizes.max()),
            "left out": f"{len(truth) - len(scored)} (shorter pool)",
        },
    )


def candidates(run: RunTable, truth: PoolTruth, nms: float | None) -> RunTable:
    """Select for each query the candidates of its pool that are not suppressed, by score."""
    pooled = np.flatnonzero(in_pool(run, truth))
    order = pooled[np.lexsort((-run.weights[pooled], run.query[pooled]))]
    if nms is not None:
        order = order[suppression_mask(run, order, nms, np.float32)]
    return run.taken(order)


def in_pool(run: RunTable, truth: PoolTruth) -> Flags:
    """Which rows of the run are of a video in their query's pool."""
    names = {name: number for number, name in enumerate(dict.fromkeys(chain.from_iterable(truth.pools)))}
    owners = numbers_of(run.query_ids, truth)
    pools = [
        owner * len(names) + np.array([names[name] for name in truth.pools[owner]], np.int64)
        for owner in owners.tolist()
    ]
    video = recoded(run.spans, tuple(names))
    allowed = np.concatenate([np.empty(0, np.int64), *pools])
    return (video >= 0) & np.isin(owners[run.query] * len(names) + video, allowed)
