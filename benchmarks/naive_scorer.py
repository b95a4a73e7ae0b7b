"""NDCG@K,IoU>=mu in the plainest way: loops over dictionaries, a copy of the ground truth for every threshold.

It restates what the scorer released with TVR-Ranking does, as slowly, and serves two ends: benchmarks/scorer.py times
the library against it, and fuzz tests compare every value with it.
"""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

Row = dict[str, Any]
Scores = dict[tuple[int, float], list[float]]
TOLERANCE = 1e-9


def score(
    run: Mapping[str, Sequence[Row]],
    judged: Mapping[str, Sequence[Row]],
    ks: Sequence[int],
    mus: Sequence[float],
    *,
    paper: bool = False,
    linear: bool = False,
) -> Scores:
    """Measure (k, mu) to the score of each query: of the run's queries, or, with ``paper``, of the ground truth's.

    Rows are ``video_name``, ``timestamp`` [start, end] and, in ``judged``, ``relevance``.
    """
    scores: Scores = {(k, mu): [] for k in ks for mu in mus}
    for query_id in judged if paper else run:
        rows = sorted(judged[query_id], key=lambda row: row["relevance"], reverse=True)
        for mu in mus:
            earned = claimed(run.get(query_id, []), copy.deepcopy(rows), mu, paper=paper)
            for k in ks:
                ideal = dcg([row["relevance"] for row in rows][:k], linear=linear)
                scores[k, mu].append(dcg(earned[:k], linear=linear) / ideal if ideal > 0 else 0.0)
    return scores


def claimed(predictions: Iterable[Row], left: list[Row], mu: float, *, paper: bool) -> list[float]:
    """The relevance that each prediction earns; what it claims is taken out of ``left``."""
    earned = []
    for prediction in predictions:
        rows = [row for row in left if row["video_name"] == prediction["video_name"]]
        ious = [iou(prediction["timestamp"], row["timestamp"]) for row in rows]
        best = max(ious, default=0.0)
        if not (best >= mu - TOLERANCE and best > 0 if paper else best > mu):
            earned.append(0)
            continue
        row = rows[int(np.argmax(np.array(ious) >= best - TOLERANCE if paper else ious))]  # the first of equals
        earned.append(row["relevance"])
        left.pop(left.index(row))
    return earned


def iou(one: Sequence[float], other: Sequence[float]) -> float:
    """Intersection over union of two intervals."""
    intersection = max(0, min(one[1], other[1]) - max(one[0], other[0]))
    union = (one[1] - one[0]) + (other[1] - other[0]) - intersection
    return intersection / union if union > 0 else 0.0


def dcg(relevances: Iterable[float], *, linear: bool) -> float:
    """Discounted cumulative gain."""
    worth = (relevance if linear else 2**relevance - 1 for relevance in relevances)
    return float(sum(value / np.log2(rank + 1) for rank, value in enumerate(worth, start=1)))
