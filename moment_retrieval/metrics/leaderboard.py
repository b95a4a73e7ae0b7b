"""Every measure of a leaderboard for one run, query by query, and how much of what it retrieved was never judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, product
from typing import NamedTuple

import numpy as np

from moment_retrieval.metrics import recall, report
from moment_retrieval.metrics.estimates import ALL_RANKS, EstimateMeasure, Pool, estimates
from moment_retrieval.metrics.highlights import of_windows
from moment_retrieval.metrics.matching import covered
from moment_retrieval.metrics.ndcg_iou import Convention, Gain, Measure, check_measures
from moment_retrieval.metrics.recall import RecallMeasure, Task
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.metrics.scores import Scores, means, missing_queries, numbers_of
from moment_retrieval.tables import Floats, JudgedTable, RunTable

RECALL_MUS = (0.3, 0.5, 0.7)
HIGHLIGHTS = ("mAP", "mAP@0.5", "mAP@0.75", "R1@0.5", "R1@0.7")  # of QVHighlights, over windows of all lengths


class Family(StrEnum):
    """Measures that belong together; a run has all that its ground truth allows."""

    NDCG = "ndcg"
    VCMR = "vcmr"
    SVMR = "svmr"
    VR = "vr"
    HIGHLIGHTS = "highlights"
    ESTIMATES = "estimates"


class Column(NamedTuple):
    """One measure; convention and gain are empty where there is but one way, and ``k`` is 0 where all ranks count."""

    metric: str
    k: int
    mu: float | None
    convention: str = ""
    gain: str = ""

    @property
    def family(self) -> Family:
        return FAMILIES[self.metric]

    @property
    def short_name(self) -> str:
        """Return the name under a heading that says the family."""
        name = self.metric
        for prefix in ("SVMR ", "VR ", "MR-full-"):
            name = name.removeprefix(prefix)
        return name.replace(",IoU>=", ", μ ")


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
NDCG_COLUMNS = tuple(
    Column(str(Measure(k, mu)), k, mu, convention.value, gain.value)
    for (convention, gain), k, mu in product(COMBINATIONS, report.KS, report.MUS)
)
RECALL_COLUMNS = {
    Family.VCMR: tuple(Column(str(RecallMeasure(k, mu)), k, mu) for mu, k in product(RECALL_MUS, recall.KS)),
    Family.SVMR: tuple(Column(f"SVMR {RecallMeasure(k, mu)}", k, mu) for mu, k in product(RECALL_MUS, recall.KS)),
    Family.VR: tuple(Column(f"VR {RecallMeasure(k, None)}", k, None) for k in recall.KS),
}
CONDENSED_COLUMNS = tuple(Column(f"condensed {Measure(k, mu)}", k, mu) for k, mu in product(report.KS, report.MUS))
ESTIMATE_COLUMNS = tuple(
    Column(str(EstimateMeasure(name, mu)), ALL_RANKS, mu) for name in ("bpref", "infAP", "xinfAP") for mu in report.MUS
)
COLUMNS_BY_FAMILY: Mapping[Family, tuple[Column, ...]] = {
    Family.NDCG: NDCG_COLUMNS,
    **RECALL_COLUMNS,
    Family.HIGHLIGHTS: tuple(Column(f"MR-full-{name}", ALL_RANKS, None) for name in HIGHLIGHTS),
    Family.ESTIMATES: (*CONDENSED_COLUMNS, *ESTIMATE_COLUMNS),
}
FAMILIES = {column.metric: family for family, columns in COLUMNS_BY_FAMILY.items() for column in columns}
COLUMNS = tuple(chain.from_iterable(COLUMNS_BY_FAMILY.values()))  # values are kept in this order: add at the end alone


def leaderboard_scores(run: RunTable, judged: JudgedTable, pool: Pool | None = None) -> LeaderboardScores:
    """Score a run by every measure.

    In a leaderboard's run, the moments of SVMR are those of the right videos, and the videos of VR those of its
    moments.

    Args:
        pool: what was pooled for the queries; without it the estimates that need it are NaN.

    Raises:
        ScoringError: the run answers a query that is not judged, or there is nothing to score.
    """
    parts: list[Scores] = [evaluate(run, judged, convention=convention, gain=gain) for convention, gain in COMBINATIONS]
    parts += [recall.recall(run, judged, task=Task(family.value.upper()), mus=RECALL_MUS) for family in RECALL_COLUMNS]
    windows = {name: column[:, None] for name, column in of_windows(run, judged.taken(judged.weights > 0)).items()}
    values = [placed(scores, judged) for scores in parts] + [windows[name] for name in HIGHLIGHTS]
    values.append(placed(evaluate(run, judged, condensed=True), judged))
    values.append(estimate_values(run, judged, pool))
    missing = missing_queries(run, judged)
    return LeaderboardScores(COLUMNS, judged.query_ids, np.concatenate(values, axis=1), unjudged(run, judged), missing)


def estimate_values(run: RunTable, judged: JudgedTable, pool: Pool | None) -> Floats:
    """[Q, ESTIMATE_COLUMNS]; NaN for all but bpref where there is no pool."""
    scores = estimates(run, judged, mus=report.MUS, pool=pool)
    names = {str(measure): index for index, measure in enumerate(scores.measures)}
    values = np.full((len(judged), len(ESTIMATE_COLUMNS)), np.nan)
    for number, column in enumerate(ESTIMATE_COLUMNS):
        if column.metric.startswith("bpref") or pool is not None:
            values[:, number] = scores.values[:, names[column.metric]]
    return values


def placed(scores: Scores, judged: JudgedTable) -> Floats:
    """[Q, measures] the values at the places of their queries in the ground truth; NaN for the others."""
    values = np.full((len(judged), len(scores.measures)), np.nan)
    values[[judged.row_of[query_id] for query_id in scores.query_ids]] = scores.values
    return values


def unjudged(run: RunTable, judged: JudgedTable) -> Floats:
    """[C] the rate beside each column that looks at the first K; what has no convention counts as in the paper's."""
    rates: dict[tuple[str, Measure], float] = {}
    for convention in Convention:
        measures = list(
            dict.fromkeys(
                Measure(c.k, c.mu) for c in COLUMNS if c.k and c.mu and c.convention in ("", convention.value)
            )
        )
        for measure, rate in zip(measures, unjudged_rates(run, judged, measures, convention=convention), strict=True):
            rates[convention.value, measure] = float(rate)
    nan, families = float("nan"), (Family.NDCG, Family.VCMR, Family.ESTIMATES)  # that look at the first K of the run
    return np.array(
        [
            rates.get((c.convention or Convention.PAPER.value, Measure(c.k, c.mu or 0.0)), nan)
            if c.family in families
            else nan
            for c in COLUMNS
        ]
    )


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
