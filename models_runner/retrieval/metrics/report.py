"""NDCG@K,IoU>=mu of whole runs: per query, and as means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from models_runner.retrieval.errors import EmptyFile, InvalidCutoff, UnknownQuery
from models_runner.retrieval.metrics.ndcg_iou import Convention, Gain, Measure, check_measures, query_scores
from models_runner.retrieval.records import JudgedMoment, Span

KS = (10, 20, 40)
MUS = (0.3, 0.5, 0.7)


@dataclass(frozen=True, slots=True)
class Report:
    """The scores of one run.

    Attributes:
        convention, gain: how they were computed.
        measures: the cutoffs and thresholds, k by k.
        per_query: query id -> measure -> score in [0, 1], for every query that enters the means.
        mean: measure -> mean of ``per_query``.
        missing: queries of the ground truth that the run does not answer; they are in ``per_query`` (as 0) with
            PAPER only. A query answered with an empty list is not missing; it scores 0 either way.
    """

    convention: Convention
    gain: Gain
    measures: tuple[Measure, ...]
    per_query: Mapping[str, Mapping[Measure, float]]
    mean: Mapping[Measure, float]
    missing: tuple[str, ...]


def evaluate(
    runs: Mapping[str, Sequence[Span]],
    judged: Mapping[str, Sequence[JudgedMoment]],
    *,
    ks: Sequence[int] = KS,
    mus: Sequence[float] = MUS,
    convention: Convention = Convention.PAPER,
    gain: Gain = Gain.EXPONENTIAL,
) -> Report:
    """Score a run against judged moments.

    Args:
        runs: query id -> retrieved spans, best first.
        judged: query id -> judged moments; an empty list counts 0.
        ks: cutoffs, each 1 or more.
        mus: IoU thresholds, each in (0, 1].
        convention: also says over which queries the mean is taken.
        gain: what a relevance is worth.

    Raises:
        UnknownQuery: the run answers a query that is not judged (a run of another split would otherwise score 0).
        EmptyFile: there is no query to take a mean over.
        InvalidCutoff: a cutoff or threshold is out of range, or there is none.
    """
    measures = tuple(Measure(k, mu) for k in dict.fromkeys(ks) for mu in dict.fromkeys(mus))
    if not measures:
        raise InvalidCutoff("no cutoff k or no IoU threshold mu is given")
    check_measures(measures)
    check_queries(runs, judged)
    averaged = judged if convention is Convention.PAPER else runs
    if not averaged:
        raise EmptyFile("no queries to score")
    per_query = {
        query_id: query_scores(runs.get(query_id, ()), judged[query_id], measures, convention=convention, gain=gain)
        for query_id in averaged
    }
    missing = tuple(query_id for query_id in judged if query_id not in runs)
    return Report(convention, gain, measures, per_query, means(per_query, measures), missing)


def check_queries(runs: Mapping[str, Sequence[Span]], judged: Mapping[str, Sequence[JudgedMoment]]) -> None:
    """Raise UnknownQuery if the run answers queries that are not judged, naming up to three of them."""
    unknown = [query_id for query_id in runs if query_id not in judged]
    if unknown:
        some = ", ".join(unknown[:3]) + (", ..." if len(unknown) > 3 else "")
        raise UnknownQuery(f"{len(unknown)} of the run's {len(runs)} queries are not in the ground truth: {some}")


def means(per_query: Mapping[str, Mapping[Measure, float]], measures: Sequence[Measure]) -> dict[Measure, float]:
    """The mean of each measure; ``numpy.mean`` in the queries' order, which the published scorer uses."""
    return {measure: float(np.mean([scores[measure] for scores in per_query.values()])) for measure in measures}
