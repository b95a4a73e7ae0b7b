"""NDCG@K,IoU>=mu of whole runs: per query, and as means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import EmptyFile, InvalidCutoff
from moment_retrieval.metrics.ndcg_iou import Convention, Gain, Measure, check_measures, query_scores
from moment_retrieval.metrics.scores import Scores, check_queries, missing_queries, numbers_of
from moment_retrieval.records import JudgedMoment, Span
from moment_retrieval.tables import JudgedTable, RunTable

KS = (10, 20, 40)
MUS = (0.3, 0.5, 0.7)
Retrieved: TypeAlias = Mapping[str, Sequence[Span] | NDArray[Any]]
Judged: TypeAlias = Mapping[str, Sequence[JudgedMoment] | NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Report(Scores):
    """The scores of one run, in [0, 1].

    The means are over ``query_ids``: those of the ground truth with PAPER (missing ones have 0), those of the run with
    RELEASED. A query answered with an empty list is not missing; it scores 0 either way.

    Attributes:
        convention, gain: how they were computed.
        measures: the cutoffs and thresholds, k by k.
    """

    convention: Convention
    gain: Gain


def evaluate(
    runs: Retrieved,
    judged: Judged,
    *,
    ks: Sequence[int] = KS,
    mus: Sequence[float] = MUS,
    convention: Convention = Convention.PAPER,
    gain: Gain = Gain.EXPONENTIAL,
) -> Report:
    """Score a run against judged moments.

    Both are tables (``RunTable.from_arrays`` takes arrays of a whole batch), or mappings from query id to records, best
    first, or to arrays: [N, 3] of video number, start and end for a run, [N, 4] with the relevance for judged moments.

    Args:
        runs: what was retrieved.
        judged: judged moments; a query without any counts 0.
        ks: cutoffs, each 1 or more.
        mus: IoU thresholds, each in (0, 1].
        convention: also says over which queries the mean is taken.
        gain: what a relevance is worth.

    Raises:
        UnknownQuery: the run answers a query that is not judged (a run of another split would otherwise score 0).
        EmptyFile: there is no query to take a mean over.
        InvalidCutoff: a cutoff or threshold is out of range, or there is none.
        InvalidRecord: a time or relevance is out of range.
    """
    measures = tuple(Measure(k, mu) for k in dict.fromkeys(ks) for mu in dict.fromkeys(mus))
    if not measures:
        raise InvalidCutoff("no cutoff k or no IoU threshold mu is given")
    check_measures(measures)
    retrieved, truth = RunTable.from_moments(runs), JudgedTable.from_moments(judged)
    check_queries(retrieved, truth)
    averaged = truth.query_ids if convention is Convention.PAPER else retrieved.query_ids
    if not averaged:
        raise EmptyFile("no queries to score")
    numbers = np.stack([numbers_of(averaged, retrieved), numbers_of(averaged, truth)], axis=1)
    return Report(
        measures=measures,
        query_ids=averaged,
        values=query_scores(retrieved, truth, numbers, measures, convention=convention, gain=gain),
        missing=missing_queries(retrieved, truth),
        convention=convention,
        gain=gain,
    )
