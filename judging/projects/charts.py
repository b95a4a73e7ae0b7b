"""Geometry of charts in the SVG's own units: relevance with similarity (paper, Figure 6), judgments per day."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from judging.models import Pair
from judging.work.rules import TAIL

STEP, HEIGHT = 20, 80  # width of one rank; height of relevance 4 and of similarity 1
BAR = 14
LEAST = 2  # relevance 0 is seen, too


def grid() -> list[tuple[int, int]]:
    """Where each relevance lies: its height from the top."""
    return [(HEIGHT - HEIGHT * relevance // 4, relevance) for relevance in range(5)]


@dataclass(frozen=True, slots=True)
class Bar:
    """One candidate: its bar of relevance and its point of similarity, if it has one; numbers as the SVG has them."""

    state: str
    relevance: int | None
    rank: int
    left: int
    x: int
    y: str
    height: str
    middle: int
    point: str
    in_tail: bool
    is_ticked: bool  # its rank is written below

    @property
    def is_out(self) -> bool:
        return self.state in (Pair.State.DROPPED, Pair.State.WITHDRAWN)


def bars_of(pairs: Sequence[Pair]) -> list[Bar]:
    """Bars of ``pairs`` in the order given, which is by rank; the tail is what the suggestion looks at."""
    settled = [index for index, pair in enumerate(pairs) if pair.relevance is not None]
    return [_bar(pair, index, in_tail=index in settled[-TAIL:]) for index, pair in enumerate(pairs)]


def _bar(pair: Pair, index: int, *, in_tail: bool) -> Bar:
    height = max(LEAST, HEIGHT * (pair.relevance or 0) / 4)
    x_left, rank, similarity = index * STEP, pair.candidate.rank, pair.candidate.similarity
    middle = x_left + STEP // 2
    return Bar(
        state=pair.state,
        relevance=pair.relevance,
        rank=rank,
        left=x_left,
        x=x_left + (STEP - BAR) // 2,
        y=f"{HEIGHT - height:g}",
        height=f"{height:g}",
        middle=middle,
        point="" if similarity is None else f"{middle},{HEIGHT * (1 - max(0.0, similarity)):.1f}",
        in_tail=in_tail,
        is_ticked=index == 0 or rank % 5 == 0,
    )


class DayBar(NamedTuple):
    """One day: its bar in the SVG's own units, and whether the day is written below."""

    day: date
    judgments: int
    x: int
    y: float
    height: float
    is_ticked: bool


class DayChart:
    """Judgments per day, with the pace as a line."""

    STEP, BAR, HEIGHT = 20, 14, 90

    def __init__(self, days: Sequence[tuple[date, int]], per_day: float) -> None:
        self.days, self.per_day = days, per_day
        self.most = max([1, math.ceil(per_day), *(n for _, n in days)])

    @property
    def is_empty(self) -> bool:
        return not any(n for _, n in self.days)

    @property
    def width(self) -> int:
        return self.STEP * len(self.days)

    @property
    def bars(self) -> list[DayBar]:
        inset = (self.STEP - self.BAR) // 2
        return [
            DayBar(day, n, index * self.STEP + inset, self._y(n), self.HEIGHT - self._y(n), day.weekday() == 0)
            for index, (day, n) in enumerate(self.days)
        ]

    @property
    def pace_y(self) -> float:
        return self._y(self.per_day)

    def _y(self, judgments: float) -> float:
        return self.HEIGHT * (1 - judgments / self.most)
