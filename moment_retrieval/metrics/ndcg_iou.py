"""NDCG@K,IoU>=mu: the measure of ranked video moment retrieval.

Paper and released scorer differ in two points, and both are offered (``Convention``); see docs/scoring.md.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from moment_retrieval.errors import InvalidCutoff
from moment_retrieval.metrics.matching import lengths, matches, relevance_levels
from moment_retrieval.records import JudgedMoment, Span
from moment_retrieval.tables import Flags, Floats, Ints, JudgedTable, RunTable

IOU_TOLERANCE = 1e-9
"""PAPER: how far below ``mu`` an IoU may lie and still reach it, and how far apart two IoUs may lie and still be equal.

What is 0.7 on paper may not be in binary: (0.2, 2.3) in (0.2, 3.2) gives 0.6999999999999998. Times are hundredths of a
second and videos last minutes, so rounding stays far below 1e-9, while on videos up to 300 s (TVR: 272 s) an IoU that
is not a threshold in tenths differs from it by more than 1e-6, and two different IoUs differ by more than 1e-9.
RELEASED compares the floats as they are.
"""


class Convention(enum.Enum):
    """Whose reading of the measure.

    PAPER: an IoU of ``mu`` is enough; the mean is over the ground truth's queries, those the run misses count 0.
        Source: TVR-Ranking, arXiv:2407.06597, section 4.1, and SIGIR-AP 2025.
    RELEASED: the IoU must exceed ``mu``; the mean is over the run's queries. Equal to the published scorer bit for bit.
        Source: ``modules/ndcg_iou.py`` of the repository released with the paper, June 2024.
    """

    PAPER = "paper"
    RELEASED = "released"

    @property
    def tolerance(self) -> float:
        """How far apart two IoUs may lie and still be equal."""
        return 0.0 if self is Convention.RELEASED else IOU_TOLERANCE

    def least(self, mu: float) -> float:
        """The smallest IoU that is enough."""
        return math.nextafter(mu, math.inf) if self is Convention.RELEASED else max(mu - IOU_TOLERANCE, math.ulp(0.0))


class Gain(enum.Enum):
    """Gain of a relevance.

    EXPONENTIAL: ``2**relevance - 1``. Source: the released scorer and the SIGIR-AP 2025 paper.
    LINEAR: the relevance itself. Source: equation 1 of arXiv:2407.06597.
    """

    EXPONENTIAL = "exponential"
    LINEAR = "linear"

    def worth(self, relevance: Any) -> Any:
        """Of a number, or of every element of an array."""
        return 2.0**relevance - 1 if self is Gain.EXPONENTIAL else relevance


class Empty(enum.Enum):
    """Score of a query without a relevant moment if the run answers it with nothing.

    ZERO: 0, as published. ONE: 1, since nothing is the right answer; with anything else it scores 0.
    """

    ZERO = "zero"
    ONE = "one"


class Measure(NamedTuple):
    """One cutoff with one IoU threshold; prints as ``NDCG@20,IoU>=0.5`` in either convention."""

    k: int
    mu: float

    def __str__(self) -> str:
        return f"NDCG@{self.k},IoU>={self.mu}"


def ndcg_iou(
    run: Sequence[Span],
    judged: Sequence[JudgedMoment],
    *,
    k: int,
    mu: float,
    convention: Convention = Convention.PAPER,
    gain: Gain = Gain.EXPONENTIAL,
) -> float:
    """NDCG@K,IoU>=mu of one query.

    Each retrieved moment, best first, meets the unclaimed judged moment of its video that it overlaps most (of equals:
    the more relevant, then the earlier row) and claims it if their IoU reaches ``mu``. Discount log2(rank + 1).

    Args:
        run: retrieved spans, best first; times in seconds.
        judged: rows with relevance 0 to 9; rows of relevance 0 are claimed too. Rows may share a span.
        k: cutoff, 1 or more.
        mu: IoU threshold, in (0, 1].
        convention: PAPER asks IoU >= mu (within IOU_TOLERANCE), RELEASED IoU > mu.

    Returns:
        A value in [0, 1]; 0.0 when the query has no relevant moment.

    Raises:
        InvalidCutoff: ``k`` or ``mu`` is out of range.

    Source: Liang et al. 2024, arXiv:2407.06597, and the scorer released with it.
    """
    tables = RunTable.from_moments({"": run}), JudgedTable.from_moments({"": judged})
    only = np.zeros((1, 2), np.int64)
    return float(query_scores(*tables, only, [Measure(k, mu)], convention=convention, gain=gain)[0, 0])


def query_scores(
    run: RunTable,
    judged: JudgedTable,
    queries: Ints,
    measures: Sequence[Measure],
    *,
    convention: Convention,
    gain: Gain,
    empty: Empty = Empty.ZERO,
) -> Floats:
    """As ``ndcg_iou``, for several queries and measures; moments are matched once per ``mu``.

    Args:
        queries: [Q, 2] numbers of the queries in ``run`` (-1: not answered there) and in ``judged``.

    Returns:
        [Q, measures] values in [0, 1].
    """
    check_measures(measures)
    longest = max(np.diff(run.offsets).max(initial=1), np.diff(judged.offsets).max(initial=1))
    depth = min(max(measure.k for measure in measures), int(longest))
    mus = {mu: number for number, mu in enumerate(dict.fromkeys(measure.mu for measure in measures))}
    levels, level = relevance_levels(judged.weights)
    worth = np.array([gain.worth(relevance) for relevance in levels.tolist()], np.float64)[level]
    worth = np.append(worth, 0.0)  # the last is what NOTHING earns
    scores = np.empty((len(queries), len(measures)))
    least = [convention.least(mu) for mu in mus]
    for match in matches(run, judged, queries, least, tolerance=convention.tolerance, depth=depth):
        earned, ideal = dcg(worth[match.claimed]), dcg(worth[match.judged[:, :depth]])
        for number, measure in enumerate(measures):
            best = at_cutoff(ideal, measure.k)
            scores[match.queries, number] = ratio(at_cutoff(earned[mus[measure.mu]], measure.k), best)
    if empty is Empty.ONE:
        scores[(lengths(run, queries[:, 0]) == 0) & without_relevant(judged)[queries[:, 1]]] = 1.0
    return scores


def without_relevant(judged: JudgedTable) -> Flags:
    """[queries] whether a query has no relevant moment."""
    is_without: Flags = np.bincount(judged.query, weights=judged.weights > 0, minlength=len(judged)) == 0
    return is_without


def check_measures(measures: Iterable[Measure]) -> None:
    """Raise InvalidCutoff unless every ``k`` is a whole number from 1 and every ``mu`` lies in (0, 1]."""
    for k, mu in measures:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise InvalidCutoff(f"the cutoff k must be a whole number, 1 or more, got {k}")
        if not 0 < mu <= 1:
            raise InvalidCutoff(f"the IoU threshold mu must lie in (0, 1], got {mu}")


def dcg(worth: Floats) -> Floats:
    """[..., ranks] DCG at each cutoff.

    Terms are added one by one from the top, as ``cumsum`` does: the published scorer does, and ``numpy.sum`` would
    round otherwise.
    """
    return np.cumsum(worth / discounts(worth.shape[-1]), axis=-1)


def discounts(depth: int) -> Floats:
    """[depth] log2(rank + 1); ``numpy.log2`` may differ from the published scorer's in the last bit."""
    return np.array([math.log2(rank + 1) for rank in range(1, depth + 1)], np.float64)


def at_cutoff(totals: Floats, k: int) -> Floats:
    """[queries] DCG at cutoff ``k``; a list shorter than ``k`` earns nothing more."""
    return totals[:, min(k, totals.shape[1]) - 1] if totals.shape[1] else np.zeros(len(totals))


def ratio(earned: Floats, ideal: Floats) -> Floats:
    """NDCG, and 0.0 where nothing can be earned."""
    return np.divide(earned, ideal, out=np.zeros_like(ideal), where=ideal > 0)
