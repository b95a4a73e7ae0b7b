"""NDCG@K,IoU>=mu of whole runs: per query, and as means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from models_runner.retrieval.errors import EmptyFile, InvalidCutoff, UnknownQuery
from models_runner.retrieval.metrics.ndcg_iou import Convention, Gain, Measure, check_measures, query_scores
from models_runner.retrieval.records import JudgedMoment, Span
from models_runner.retrieval.tables import Floats, Ints, JudgedTable, MomentTable, RunTable

KS = (10, 20, 40)
MUS = (0.3, 0.5, 0.7)
Retrieved: TypeAlias = Mapping[str, Sequence[Span] | NDArray[Any]]
Judged: TypeAlias = Mapping[str, Sequence[JudgedMoment] | NDArray[Any]]


@dataclass(frozen=True)
class Report:
    """The scores of one run.

    Attributes:
        convention, gain: how they were computed.
        measures: the cutoffs and thresholds, k by k.
        query_ids: the queries that enter the means.
        values: [queries, measures] scores in [0, 1].
        missing: queries of the ground truth that the run does not answer; they are in ``query_ids`` (with 0) with
            PAPER only. A query answered with an empty list is not missing; it scores 0 either way.
    """

    convention: Convention
    gain: Gain
    measures: tuple[Measure, ...]
    query_ids: tuple[str, ...]
    values: Floats
    missing: tuple[str, ...]

    @cached_property
    def per_query(self) -> dict[str, dict[Measure, float]]:
        """Query id -> measure -> score."""
        rows = (dict(zip(self.measures, row, strict=True)) for row in self.values.tolist())
        return dict(zip(self.query_ids, rows, strict=True))

    @cached_property
    def mean(self) -> dict[Measure, float]:
        """Measure -> mean; ``numpy.mean`` in the queries' order, which the published scorer uses."""
        columns = np.ascontiguousarray(self.values.T)
        return {measure: float(column.mean()) for measure, column in zip(self.measures, columns, strict=True)}


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
    check_queries(retrieved.place, truth.place)
    averaged = truth.query_ids if convention is Convention.PAPER else retrieved.query_ids
    if not averaged:
        raise EmptyFile("no queries to score")
    numbers = np.stack([numbers_of(averaged, retrieved), numbers_of(averaged, truth)], axis=1)
    values = query_scores(retrieved, truth, numbers, measures, convention=convention, gain=gain)
    missing = tuple(query_id for query_id in truth.query_ids if query_id not in retrieved.place)
    return Report(convention, gain, measures, averaged, values, missing)


def numbers_of(query_ids: Sequence[str], table: MomentTable[Any]) -> Ints:
    """The number of each query in the table, -1 where it has none."""
    return np.fromiter(map(table.place.get, query_ids, repeat(-1)), np.int64, len(query_ids))


def check_queries(runs: Mapping[str, object], judged: Mapping[str, object]) -> None:
    """Raise UnknownQuery if the run answers queries that are not judged, naming up to three of them."""
    unknown = [query_id for query_id in runs if query_id not in judged]
    if unknown:
        some = ", ".join(unknown[:3]) + (", ..." if len(unknown) > 3 else "")
        raise UnknownQuery(f"{len(unknown)} of the run's {len(runs)} queries are not in the ground truth: {some}")
