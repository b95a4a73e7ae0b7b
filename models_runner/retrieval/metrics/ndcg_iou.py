"""NDCG@K,IoU>=mu of one query: the measure of ranked video moment retrieval.

Paper and released scorer differ in two points, and both are offered (``Convention``); see docs/scoring.md.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from models_runner.retrieval.errors import InvalidCutoff
from models_runner.retrieval.metrics.iou import span_iou
from models_runner.retrieval.records import JudgedMoment, Span

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
    RELEASED: the IoU must exceed ``mu``; the mean is over the run's queries. Equal to the published scorer bit for bit.
    """

    PAPER = "paper"
    RELEASED = "released"


class Gain(enum.Enum):
    """What a relevance is worth: EXPONENTIAL ``2**relevance - 1`` (SIGIR-AP, code) or LINEAR (arXiv, equation 1)."""

    EXPONENTIAL = "exponential"
    LINEAR = "linear"


class Measure(NamedTuple):
    """One cutoff with one IoU threshold; prints as ``NDCG@20,IoU>=0.5`` in either convention."""

    k: int
    mu: float

    def __str__(self) -> str:
        return f"NDCG@{self.k},IoU>={self.mu}"


Overlaps: TypeAlias = Sequence[
    Sequence[tuple[int, float]]
]  # per retrieved moment: (judged row, IoU > 0), rows ascending


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
        judged: rows with relevance 0 to 4; rows of relevance 0 are claimed too. Rows may share a span.
        k: cutoff, 1 or more.
        mu: IoU threshold, in (0, 1].
        convention: PAPER asks IoU >= mu (within IOU_TOLERANCE), RELEASED IoU > mu.
        gain: what a relevance is worth.

    Returns:
        A value in [0, 1]; 0.0 when the query has no relevant moment.

    Raises:
        InvalidCutoff: ``k`` or ``mu`` is out of range.

    Source: Liang et al. 2024, arXiv:2407.06597, and the scorer released with it.
    """
    measure = Measure(k, mu)
    return query_scores(run, judged, [measure], convention=convention, gain=gain)[measure]


def query_scores(
    run: Sequence[Span],
    judged: Sequence[JudgedMoment],
    measures: Iterable[Measure],
    *,
    convention: Convention,
    gain: Gain,
) -> dict[Measure, float]:
    """As ``ndcg_iou``, for several measures; moments are matched once per ``mu``, whatever the number of cutoffs."""
    wanted = list(measures)
    check_measures(wanted)
    depth = max((measure.k for measure in wanted), default=0)
    rows = sorted(judged, key=attrgetter("relevance"), reverse=True)  # stable: ties keep their order
    ideal = dcg_by_cutoff([row.relevance for row in rows[:depth]], gain)
    overlaps = overlaps_of(run[:depth], rows)  # a claim below the cutoff cannot change one above it
    earned = {
        mu: dcg_by_cutoff(claimed_relevance(overlaps, rows, mu, convention), gain)
        for mu in dict.fromkeys(measure.mu for measure in wanted)
    }
    return {measure: ratio(at_cutoff(earned[measure.mu], measure.k), at_cutoff(ideal, measure.k)) for measure in wanted}


def check_measures(measures: Iterable[Measure]) -> None:
    """Raise InvalidCutoff unless every ``k`` is a whole number from 1 and every ``mu`` lies in (0, 1]."""
    for k, mu in measures:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise InvalidCutoff(f"the cutoff k must be a whole number, 1 or more, got {k}")
        if not 0 < mu <= 1:
            raise InvalidCutoff(f"the IoU threshold mu must lie in (0, 1], got {mu}")


def overlaps_of(run: Iterable[Span], rows: Sequence[JudgedMoment]) -> Overlaps:
    """For each retrieved span the rows of its video that it overlaps, with their IoU; rows ascending."""
    by_video: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        by_video.setdefault(row.video, []).append(number)
    return [
        [(number, iou) for number in by_video.get(span.video, ()) if (iou := span_iou(span, rows[number])) > 0]
        for span in run
    ]


def claimed_relevance(
    overlaps: Overlaps, rows: Sequence[JudgedMoment], mu: float, convention: Convention
) -> list[float]:
    """The relevance each retrieved moment earns, by rank; 0 where it claims no row."""
    slack = 0.0 if convention is Convention.RELEASED else IOU_TOLERANCE
    claimed: set[int] = set()
    earned: list[float] = []
    for candidates in overlaps:
        free = [candidate for candidate in candidates if candidate[0] not in claimed]
        best = max((iou for _, iou in free), default=0.0)
        if not free or not reaches(best, mu, convention):
            earned.append(0)
            continue
        number = next(number for number, iou in free if iou >= best - slack)  # the first of equals
        claimed.add(number)
        earned.append(rows[number].relevance)
    return earned


def reaches(iou: float, mu: float, convention: Convention) -> bool:
    """Whether an overlap is enough: at least ``mu`` for PAPER (see IOU_TOLERANCE), more than ``mu`` for RELEASED."""
    return iou > mu if convention is Convention.RELEASED else iou >= mu - IOU_TOLERANCE


def dcg_by_cutoff(relevances: Iterable[float], gain: Gain) -> list[float]:
    """DCG at cutoff 0, 1, 2, ...

    Terms are added one by one from the top: the published scorer does, and ``numpy.sum`` or ``sum`` of Python 3.12
    would round otherwise.
    """
    totals = [0.0]
    for rank, relevance in enumerate(relevances, start=1):
        worth = 2**relevance - 1 if gain is Gain.EXPONENTIAL else relevance
        totals.append(totals[-1] + worth / math.log2(rank + 1))
    return totals


def at_cutoff(totals: Sequence[float], k: int) -> float:
    """DCG at cutoff ``k``; a list shorter than ``k`` earns nothing more."""
    return totals[min(k, len(totals) - 1)]


def ratio(earned: float, ideal: float) -> float:
    """NDCG, and 0.0 where nothing can be earned."""
    return earned / ideal if ideal > 0 else 0.0
