"""Hours and pay: what somebody has earned, and what a project will cost. Pure.

Time is kept in whole milliseconds and added up exactly. Only what is shown is rounded, half up: hours to hundredths,
the amount of a line to cents. An amount is computed from the time itself, not from the rounded hours.

The forecast's defaults are those of TVR-Ranking (Liang et al., arXiv:2407.06597): 3,281 queries, of which 1,544 got a
second batch; 4,825 batches of 96,483 pairs, the last ones short; 17,421 pairs were given four grades; 23 people gave
227,808 judgments in about 1,200 hours, at 14 SGD. They are kept as fractions: rounded, they miss the judgments by
hundreds.
"""

from calendar import monthrange
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from judging.qualification.rules.passing import PUBLISHED, noisy
from judging.work.rules import TVR_RANKING as PAPER_RULES
from judging.work.rules import Rules

CURRENCIES = frozenset(Path(__file__).with_name("currencies.txt").read_text(encoding="utf-8").split())


def month_of(day: date) -> tuple[date, date]:
    """The first and the last day of the month."""
    return day.replace(day=1), day.replace(day=monthrange(day.year, day.month)[1])


def month_before(day: date) -> tuple[date, date]:
    """The month before the one of the day."""
    return month_of(day.replace(day=1) - timedelta(days=1))


MS_PER_HOUR = 3_600_000
HUNDREDTH = Decimal("0.01")
DAY_S = 25 * 60 * 60  # the longest there is: the one on which summer time ends


class Time(NamedTuple):
    """Milliseconds by what they were spent on."""

    judging: int = 0
    training: int = 0
    correction: int = 0
    writing: int = 0
    checking: int = 0

    @property
    def total(self) -> int:
        return sum(self)

    @property
    def hours(self) -> dict[str, Decimal]:
        """By what they were spent on, as they are shown: each is rounded for itself."""
        return {name: hours_of(ms) for name, ms in (*self._asdict().items(), ("total", self.total))}


class Day(NamedTuple):
    """One person's day; ``judgments`` are those whose time is known, ``untimed`` the others."""

    day: date
    time: Time
    judgments: int = 0
    untimed: int = 0
    queries: int = 0
    checks: int = 0


class Rate(NamedTuple):
    """Hourly pay from a day on."""

    from_day: date
    rate: Decimal
    currency: str


class Line(NamedTuple):
    """The part of a period that is paid at one rate an hour."""

    rate: Rate
    first_day: date
    last_day: date
    time: Time
    judgments: int
    queries: int = 0
    checks: int = 0

    @property
    def amount(self) -> Decimal:
        return amount_of(self.time.total, self.rate.rate)


PIECES = {"query": ("query", "queries"), "check": ("check", "checks")}


class Pieces(NamedTuple):
    """Queries or checks of a day, each paid at a price."""

    day: date
    kind: str
    price: Decimal
    currency: str
    n: int


class PieceLine(NamedTuple):
    """The queries or checks of a period that are paid at one price; ``rate`` is that price."""

    rate: Rate
    first_day: date
    last_day: date
    kind: str
    n: int

    @property
    def words(self) -> str:
        """How many of what, as "1 query"."""
        return f"{self.n:,} {PIECES[self.kind][self.n != 1]}"

    @property
    def amount(self) -> Decimal:
        return self.rate.rate * self.n


def hours_of(ms: int) -> Decimal:
    """Hours to hundredths, half up."""
    return (Decimal(ms) / MS_PER_HOUR).quantize(HUNDREDTH, ROUND_HALF_UP)


def amount_of(ms: int, rate: Decimal) -> Decimal:
    """Money for so much time, to cents, half up."""
    return (rate * ms / MS_PER_HOUR).quantize(HUNDREDTH, ROUND_HALF_UP)


def day_time(*, judging: int, training: int, correction: int, writing: int = 0, checking: int = 0) -> Time:
    """A day's time; corrections take away what there is, and no day counts below zero."""
    spent = Time(judging, training, writing=writing, checking=checking)
    return spent._replace(correction=max(correction, -spent.total))


def rate_on(day: date, own: Sequence[Rate], default: Sequence[Rate]) -> Rate:
    """The rate of a day: the person's with the latest ``from_day`` until then, else the project's. Of two from the same
    day the later in the list holds; the first of ``default`` holds for all days before, too."""
    for rates in (own, default):
        begun = [rate for rate in rates if rate.from_day <= day]
        if begun:
            return sorted(begun, key=lambda rate: rate.from_day)[-1]  # stable
    return min(default, key=lambda rate: rate.from_day)


def lines_of(days: Iterable[Day], own: Sequence[Rate], default: Sequence[Rate]) -> list[Line]:
    """One line for each rate and currency, in the order in which they came to hold."""
    parts: dict[tuple[Decimal, str], tuple[Rate, list[Day]]] = {}
    for worked in sorted(days):
        rate = rate_on(worked.day, own, default)
        _, part = parts.setdefault((rate.rate, rate.currency), (rate, []))
        part.append(worked)
    return [
        Line(
            rate,
            part[0].day,
            part[-1].day,
            total_time(part),
            *(sum(numbers) for numbers in zip(*map(_acts, part), strict=True)),
        )
        for rate, part in parts.values()
    ]


def _acts(worked: Day) -> tuple[int, int, int]:
    return worked.judgments, worked.queries, worked.checks


def piece_lines_of(pieces: Iterable[Pieces]) -> list[PieceLine]:
    """One line for each kind, price and currency, in the order in which they came."""
    parts: dict[tuple[str, Decimal, str], list[Pieces]] = {}
    for piece in sorted(pieces):
        parts.setdefault((piece.kind, piece.price, piece.currency), []).append(piece)
    return [
        PieceLine(Rate(part[0].day, price, currency), part[0].day, part[-1].day, kind, sum(piece.n for piece in part))
        for (kind, price, currency), part in parts.items()
    ]


def total_time(days: Iterable[Day]) -> Time:
    return Time(*map(sum, zip(Time(), *(worked.time for worked in days), strict=True)))


def amounts_of(lines: Iterable[Line | PieceLine]) -> list[tuple[str, Decimal]]:
    """Money by currency: the sum of the lines as they are shown."""
    amounts: dict[str, Decimal] = {}
    for line in lines:
        amounts[line.rate.currency] = amounts.get(line.rate.currency, Decimal(0)) + line.amount
    return sorted(amounts.items())


@dataclass(frozen=True)
class Assumptions:
    """Assumptions of a forecast. Shares are of 1."""

    queries: int = 3281
    pairs: float = 96483 / 4825  # of a batch
    judges: int = 2  # of a round
    second: float = 1544 / 3281  # share of the queries with a second batch
    escalated: float = 17421 / 96483  # share of the pairs with a second round
    seconds: float = 19.0  # of a judgment
    gold: float = 0.0  # share of all pairs shown whose truth is known
    annotators: int = 23
    exam_pairs: int = 100  # that each of them grades
    rate: Decimal = Decimal("14.00")
    currency: str = "SGD"


TVR_RANKING = Assumptions()
# Standard deviation of a judge, in grades of 0 to 4: at it the paper's rules send the paper's share to a second round.
# Below ``passing.NOISE``, as who judges has passed the exam.
JUDGE_NOISE = 0.8796
STEPS_PER_GRADE = 20  # a multiple of the published levels, so that steps fit both scales


def escalated_share(rules: Rules) -> float:
    """Return the share of pairs whose first round disagrees by these rules: the paper's share by the paper's."""
    return TVR_RANKING.escalated * disagreement(rules) / disagreement(PAPER_RULES)


@lru_cache(maxsize=256)
def disagreement(rules: Rules) -> float:
    """Return the probability that the grades of a first round lie further apart than ``max_spread``.

    The truth is continuous: the published levels are its histogram. A judge sees it with normal noise and gives the
    grade in whose part of the scale it falls; the parts are of equal width. Truth and noise are in fine steps here.

    Notation: G grades, F fine steps.
    """
    n_grades = len(rules.grades)
    n_steps = STEPS_PER_GRADE * n_grades
    step_chances = noisy(JUDGE_NOISE * n_steps / len(PUBLISHED), n_steps)  # [F, F]
    chances = step_chances.reshape(n_grades, STEPS_PER_GRADE, n_steps).sum(axis=1)  # [G, F]
    below = np.cumsum(np.vstack([np.zeros(n_steps), chances]), axis=0)  # [G + 1, F], of a grade less than this
    ends = np.minimum(np.arange(n_grades) + rules.max_spread + 1, n_grades)  # [G]
    # All grades within the spread of the lowest one, and the lowest among them.
    agreement = ((below[ends] - below[:-1]) ** rules.judges - (below[ends] - below[1:]) ** rules.judges).sum(axis=0)
    shares = np.repeat(PUBLISHED, n_steps // len(PUBLISHED))  # [F]
    return float(1 - agreement @ shares / shares.sum())


@dataclass(frozen=True)
class Part:
    """Judgments of one kind, and how long they take."""

    judgments: float
    seconds: float

    @property
    def ms(self) -> int:
        return round(1000 * self.judgments * self.seconds)

    @property
    def hours(self) -> Decimal:
        return hours_of(self.ms)


@dataclass(frozen=True)
class Forecast:
    """Results of the assumptions. Nothing is rounded before it is shown."""

    assumptions: Assumptions

    @property
    def batches(self) -> float:
        return self.assumptions.queries * (1 + self.assumptions.second)

    @property
    def pairs(self) -> float:
        return self.batches * self.assumptions.pairs

    @property
    def judging(self) -> Part:
        """A round of each pair, and one more of those that are escalated."""
        return self._part(self.pairs * self.assumptions.judges * (1 + self.assumptions.escalated))

    @property
    def gold(self) -> Part:
        """So many that they are the given share of all pairs shown."""
        return self._part(self.judging.judgments * self.assumptions.gold / (1 - self.assumptions.gold))

    @property
    def exam(self) -> Part:
        return self._part(self.assumptions.annotators * self.assumptions.exam_pairs)

    @property
    def total(self) -> Part:
        return self._part(self.judging.judgments + self.gold.judgments + self.exam.judgments)

    @property
    def cost(self) -> Decimal:
        return amount_of(self.total.ms, self.assumptions.rate)

    @property
    def each(self) -> Part:
        """One annotator's share of all."""
        return self._part(self.total.judgments / self.assumptions.annotators)

    @property
    def cost_each(self) -> Decimal:
        return amount_of(self.each.ms, self.assumptions.rate)

    def _part(self, judgments: float) -> Part:
        return Part(judgments, self.assumptions.seconds)
