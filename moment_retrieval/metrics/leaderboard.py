"""Every measure of a leaderboard for one run, query by query, and how much of what it retrieved was never judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from moment_retrieval.metrics import recall, report
from moment_retrieval.metrics.matching import covered
from moment_retrieval.metrics.ndcg_iou import Convention, Gain, Measure, check_measures
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.metrics.scores import Scores, means, numbers_of
from moment_retrieval.tables import Floats, JudgedTable, RunTable

RECALL_MUS = (0.3, 0.5, 0.7)


class Column(NamedTuple):
    """One measure; convention and gain are empty where there is but one way."""

    metric: str
    k: int
    mu: float | None
    convention: str = ""
    gain: str = ""


@dataclass(frozen=True)
class LeaderboardScores:
    columns: tuple[Column, ...]  # [C] the measures, in the order of ``COLUMNS``
    query_ids: tuple[str, ...]  # [Q] the queries of the ground truth
    values: Floats  # [Q, C]; NaN where a query has no part in a measure
    unjudged: Floats  # [C] the share of the first K without a relevance; NaN where it is not known
    missing: tuple[str, ...]  # queries of the ground truth that the run does not answer

    @property
    def means(self) -> dict[Column, float]:
        return means(self.columns, self.values)


COMBINATIONS = tuple(product(Convention, Gain))
COLUMNS = (
    *(
        Column(str(Measure(k, mu)), k, mu, convention.value, gain.value)
        for (convention, gain), k, mu in product(COMBINATIONS, report.KS, report.MUS)
    ),
    *(Column(str(recall.RecallMeasure(k, mu)), k, mu) for mu, k in product(RECALL_MUS, recall.KS)),
)


def leaderboard_scores(run: RunTable, judged: JudgedTable) -> LeaderboardScores:
    """Score a run by every measure.

    Raises:
        ScoringError: the run answers a query that is not judged, or there is nothing to score.
    """
    parts = [evaluate(run, judged, convention=convention, gain=gain) for convention, gain in COMBINATIONS]
    recall_scores = recall.recall(run, judged, mus=RECALL_MUS)
    values = np.concatenate([placed(scores, judged) for scores in (*parts, recall_scores)], axis=1)
    return LeaderboardScores(COLUMNS, judged.query_ids, values, unjudged(run, judged), recall_scores.missing)


def placed(scores: Scores, judged: JudgedTable) -> Floats:
    """[Q, measures] the values at the places of their queries in the ground truth; NaN for the others."""
    values = np.full((len(judged), len(scores.measures)), np.nan)
    values[[judged.row_of[query_id] for query_id in scores.query_ids]] = scores.values
    return values


def unjudged(run: RunTable, judged: JudgedTable) -> Floats:
    """[C] the rate beside each column; recall counts as the convention of the paper does."""
    rates: dict[tuple[str, Measure], float] = {}
    for convention in Convention:
        measures = list(
            dict.fromkeys(Measure(c.k, c.mu) for c in COLUMNS if c.mu and c.convention in ("", convention.value))
        )
        for measure, rate in zip(measures, unjudged_rates(run, judged, measures, convention=convention), strict=True):
            rates[convention.value, measure] = float(rate)
    return np.array([rates[c.convention or Convention.PAPER.value, Measure(c.k, c.mu or 0.0)] for c in COLUMNS])


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
    mus = list(dict.fromkeys(measure.mu for measure in measures))
    pairs = np.stack([numbers_of(judged.query_ids, run), np.arange(len(judged))], axis=1)
    reached = covered(run, judged, pairs, [convention.least(mu) for mu in mus], depth=depth)
    is_judged = np.isin(run.query, pairs[:, 0])
    rates = []
    for k, mu in measures:
        first = is_judged & (run.order < k)
        rates.append(1 - reached[mus.index(mu), first].mean() if first.any() else np.nan)
    return np.array(rates)
