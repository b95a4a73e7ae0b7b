"""How much of what a run retrieved has no relevance: beside a score, how far it may be trusted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from moment_retrieval.metrics.matching import grids, overlaps
from moment_retrieval.metrics.ndcg_iou import Convention, Measure, check_measures
from moment_retrieval.metrics.scores import numbers_of
from moment_retrieval.tables import Floats, JudgedTable, RunTable


def unjudged_rates(
    run: RunTable, judged: JudgedTable, measures: Sequence[Measure], *, convention: Convention = Convention.PAPER
) -> Floats:
    """[measures] the share of the first K predictions that reach ``mu`` with no judged moment of their query.

    A moment counts as judged whatever its relevance, and however many predictions overlap it: the question is not what
    they earn, but whether anything is known there. One that was judged and dropped has no relevance and is no judged
    moment. Lists shorter than K, and queries that are not answered, count with
    what they have; NaN where that is nothing.

    Raises:
        InvalidCutoff: ``k`` or ``mu`` is out of range.
    """
    check_measures(measures)
    depth = max(measure.k for measure in measures)
    least = {mu: convention.least(mu) for mu in dict.fromkeys(measure.mu for measure in measures)}
    retrieved_n = np.zeros(depth)
    covered_n = {mu: np.zeros(depth) for mu in least}
    pairs = np.stack([numbers_of(judged.query_ids, run), np.arange(len(judged))], axis=1)
    for _, retrieved, truth in grids(run, judged, pairs, depth=depth):
        found = overlaps(retrieved, truth, min(least.values()))
        width = retrieved.row.shape[1]
        retrieved_n[:width] += (retrieved.row >= 0).sum(axis=0)
        for mu, enough in least.items():
            covered = np.zeros(retrieved.row.size, np.bool_)
            covered[found.seat[found.iou >= enough]] = True
            covered_n[mu][:width] += covered.reshape(retrieved.row.shape).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.array([1 - covered_n[mu][:k].sum() / retrieved_n[:k].sum() for k, mu in measures])
