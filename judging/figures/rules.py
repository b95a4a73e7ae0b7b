"""Numbers that figures are drawn from, made of counts. Pure."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta
from enum import StrEnum
from typing import NamedTuple, Self

import numpy as np

from judging.quality.rules.agreement import Counts, counts_of, krippendorff_of_counts
from judging.work.rules import Rules

DAYS_SHOWN, WEEKS_SHOWN = 35, 60  # more days are shown as weeks, more weeks as months


class Relevances(NamedTuple):
    """How many settled pairs of a group have each relevance."""

    counts: tuple[int, ...]

    @classmethod
    def none(cls, scale: Rules) -> Self:
        """A group without a pair."""
        return cls((0,) * len(scale.grades))

    @property
    def n(self) -> int:
        return sum(self.counts)

    @property
    def mean(self) -> float | None:
        return sum(relevance * n for relevance, n in enumerate(self.counts)) / self.n if self.n else None

    @property
    def deviation(self) -> float | None:
        """Standard deviation of the group itself: it says how the group spreads, not how sure the mean is."""
        if self.mean is None:
            return None
        squares = sum(n * (relevance - self.mean) ** 2 for relevance, n in enumerate(self.counts))
        return math.sqrt(squares / self.n)


def relevances_by(rows: Iterable[tuple[int, int, int]], scale: Rules) -> dict[int, Relevances]:
    """Groups, ascending, from rows of group, relevance and count."""
    counts: dict[int, list[int]] = {}
    for group, relevance, n in rows:
        counts.setdefault(group, [0] * len(scale.grades))[relevance] += n
    return {group: Relevances(tuple(counts[group])) for group in sorted(counts)}


class Unit(StrEnum):
    """The time span of a point in a figure over time."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"

    def first_of(self, day: date) -> date:
        if self is Unit.WEEK:
            return day - timedelta(days=day.weekday())  # a Monday
        return day.replace(day=1) if self is Unit.MONTH else day

    def next_of(self, first: date) -> date:
        if self is Unit.MONTH:
            return (first + timedelta(days=31)).replace(day=1)
        return first + timedelta(days=7 if self is Unit.WEEK else 1)


class GradesOfDay(NamedTuple):
    """How many pairs got just these grades in their first round, the last of them on this day."""

    day: date
    grades: Sequence[int]
    pairs: int


class Agreement(NamedTuple):
    """How far the first grades of the pairs of one period agree."""

    start: date
    n: int
    consensus: float | None  # share of pairs whose grades agree by the rules
    alpha: float | None  # Krippendorff's, ordinal


def unit_for(first: date, last: date) -> Unit:
    days = (last - first).days + 1
    if days <= DAYS_SHOWN:
        return Unit.DAY
    return Unit.WEEK if days <= 7 * WEEKS_SHOWN else Unit.MONTH


def periods_of(days: Collection[date]) -> tuple[Unit, list[date]]:
    """Return the unit that suits these days, at least one, and the first days of all periods from first to last."""
    unit = unit_for(min(days), max(days))
    starts = [unit.first_of(min(days))]
    while (following := unit.next_of(starts[-1])) <= max(days):
        starts.append(following)
    return unit, starts


def agreement_over_time(rows: Sequence[GradesOfDay], scale: Rules) -> tuple[Unit, list[Agreement]]:
    """Periods without a gap."""
    if not rows:
        return Unit.DAY, []
    unit, starts = periods_of([row.day for row in rows])
    by_start: dict[date, list[GradesOfDay]] = {}
    for row in rows:
        by_start.setdefault(unit.first_of(row.day), []).append(row)
    return unit, [agreement_of(start, by_start.get(start, []), scale) for start in starts]


def agreement_of(start: date, rows: Sequence[GradesOfDay], scale: Rules) -> Agreement:
    """Return what the rows of one period say."""
    n = sum(row.pairs for row in rows)
    if not n:
        return Agreement(start, 0, None, None)
    near = sum(row.pairs for row in rows if max(row.grades) - min(row.grades) <= scale.max_spread)
    items = counts_of((row.grades for row in rows), len(scale.grades))  # [R, G]
    alpha = krippendorff_of_counts(np.repeat(items, [row.pairs for row in rows], axis=0))
    return Agreement(start, n, near / n, alpha)


def tables_of(
    rows: Iterable[tuple[int, int, int, int, int]], numbers: Mapping[int, int], n_grades: int
) -> dict[tuple[int, int], Counts]:
    """How often the first of two annotators gave i where the second gave j [G, G]; the lower number is the first.

    Args:
        rows: two accounts, i, j, and how often.
        numbers: annotator number by account.
        n_grades: G.
    """
    tables: dict[tuple[int, int], Counts] = {}
    for a, b, i, j, n in rows:
        (one, x), (other, y) = sorted([(numbers[a], i), (numbers[b], j)])
        tables.setdefault((one, other), np.zeros((n_grades, n_grades), dtype=np.int64))[x, y] += n
    return tables
