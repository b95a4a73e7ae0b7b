"""Results of a coverage study: how many relevant moments lie beyond which rank. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

HIGHLY = 0.75  # of the scale: relevance from which a moment is counted apart, 3 of 4 in the paper
Z95 = 1.96


class Judged(NamedTuple):
    """One moment of a study: its rank by similarity, None for one drawn at random, and its relevance once settled."""

    query: int
    rank: int | None
    relevance: int | None
    is_open: bool  # still to be judged; neither settled nor open is dropped or withdrawn


class Band(NamedTuple):
    """Ranks ``first`` to ``last``; None for the random others."""

    first: int | None
    last: int | None

    @property
    def name(self) -> str:
        return "others" if self.first is None else f"{self.first}–{self.last}"

    def holds(self, rank: int | None) -> bool:
        if self.first is None or self.last is None:
            return rank is None
        return rank is not None and self.first <= rank <= self.last


@dataclass(frozen=True)
class BandCounts:
    """The moments of a band, of one query or of all."""

    band: Band
    counts: tuple[int, ...]  # settled, by relevance
    open: int
    out: int  # dropped or withdrawn

    @property
    def settled(self) -> int:
        return sum(self.counts)

    @property
    def moments(self) -> int:
        return self.settled + self.open + self.out

    @property
    def relevant(self) -> int:
        return sum(self.counts[1:])

    @property
    def highly(self) -> int:
        return sum(self.counts[least_highly(len(self.counts) - 1) :])


class Estimate(NamedTuple):
    """How many relevant moments there may be, with a 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Beyond:
    """Relevant moments beyond a rank: found among the best, estimated among others from those drawn."""

    rank: int
    relevant: int
    highly: int
    estimate: Estimate | None  # of relevant moments, those found included; None before all others are judged
    within: float | None  # share of all relevant moments that lie within the rank, by estimate

    def per_query(self, queries: int) -> float | None:
        return self.estimate.value / queries if self.estimate and queries else None


@dataclass(frozen=True)
class Coverage:
    """A study so far: by band over all queries and by query, and what lies beyond each rank."""

    total: list[BandCounts]
    by_query: dict[int, list[BandCounts]]
    beyond: list[Beyond]


def lack_words(*, moments: int, best: int, of_best: int, others: int, of_others: int) -> str:
    """Describe what a plan lacks of the requested ``of_best`` and ``of_others``; empty if it lacks nothing."""
    shortfalls = [f"{best} best instead of {of_best}"] if best < of_best else []
    if others < of_others:
        shortfalls.append(f"{others} others instead of {of_others}" if others else "no others")
    return f"There are only {moments} moments to judge, so {' and '.join(shortfalls)}." if shortfalls else ""


def least_highly(top_grade: int) -> int:
    """Return the least relevance of a highly relevant moment."""
    return math.ceil(HIGHLY * top_grade)


def grade_range(least: int, top: int) -> str:
    """Describe the grades from ``least`` to ``top``."""
    if least == top:
        return str(top)
    return f"{least} or {top}" if top - least == 1 else f"{least} to {top}"


def bands_of(top: int, size: int) -> list[Band]:
    """Return bands of ``size`` ranks up to ``top``, the last perhaps of fewer, then the random others."""
    firsts = range(1, top + 1, size)
    return [*(Band(first, min(first + size - 1, top)) for first in firsts), Band(None, None)]


def coverage_of(
    judged: Iterable[Judged], *, top: int, drawn_from: Mapping[int, int], batch_size: int, n_grades: int
) -> Coverage:
    """Put a study's moments together.

    Args:
        top: how many of the best were judged for each query.
        drawn_from: how many moments each query's others were drawn from.
    """
    rows: dict[int, list[Judged]] = {query: [] for query in drawn_from}
    for row in judged:
        rows.setdefault(row.query, []).append(row)
    bands = bands_of(top, batch_size)
    by_query = {query: [_counts_of(band, moments, n_grades) for band in bands] for query, moments in rows.items()}
    total = [_counts_of(band, [row for moments in rows.values() for row in moments], n_grades) for band in bands]
    others = total[-1]
    rest = None if others.open else estimated(others.relevant, others.settled, of=sum(drawn_from.values()))
    beyond = [_beyond(band.last, total, rest) for band in bands if band.last is not None]
    return Coverage(total, by_query, beyond)


def estimated(relevant: int, settled: int, *, of: int) -> Estimate | None:
    """How many of ``of`` moments are relevant when ``relevant`` of ``settled`` drawn ones are; None where none is."""
    if not settled:
        return None
    low, high = wilson(relevant, settled)
    return Estimate(of * relevant / settled, of * low, of * high)


def wilson(hits: float, n: int) -> tuple[float, float]:
    """95 % score interval of a share, ``n`` 1 or more; it stays within 0 to 1 and does not shrink to a point at 0.

    Source: Wilson 1927.
    """
    share, squared = hits / n, Z95**2
    middle = (share + squared / (2 * n)) / (1 + squared / n)
    half = Z95 * math.sqrt(share * (1 - share) / n + squared / (4 * n**2)) / (1 + squared / n)
    return max(0.0, middle - half) if hits else 0.0, min(1.0, middle + half) if hits < n else 1.0


def _counts_of(band: Band, rows: Sequence[Judged], n_grades: int) -> BandCounts:
    inside = [row for row in rows if band.holds(row.rank)]
    settled = [row.relevance for row in inside if row.relevance is not None]
    waiting = sum(row.is_open for row in inside)
    counts = tuple(settled.count(level) for level in range(n_grades))
    return BandCounts(band, counts, waiting, len(inside) - len(settled) - waiting)


def _beyond(rank: int, total: Sequence[BandCounts], rest: Estimate | None) -> Beyond:
    near = [row for row in total if row.band.last is not None and row.band.last <= rank]
    further = [row for row in total if row.band.first is not None and row.band.first > rank]
    inside, relevant = (sum(row.relevant for row in rows) for rows in (near, further))
    estimate = rest and Estimate(*(relevant + value for value in rest))
    everything = inside + estimate.value if estimate else 0
    within = inside / everything if everything else None
    return Beyond(rank, relevant, sum(row.highly for row in further), estimate, within)
