"""Whether grades depend on where a pair stood in the order, or on the grade given just before. Pure.

The order is shuffled, so position says nothing about relevance and mean grades by position should be level: a slope
is fatigue or drift. Pairs judged one after the other share a query, so a plain mean by previous grade mixes anchoring
with how relevant the query's moments are; the deviation from what others gave the same pair does not.
Sources: Shokouhi, White, Yilmaz, SIGIR 2015 (anchoring); Scholer, Turpin, Sanderson, SIGIR 2011 (drift).
"""

import math
from typing import NamedTuple

Z95 = 1.96


class Moments(NamedTuple):
    """Count, sum and sum of squares of some numbers."""

    n: int
    total: float
    squares: float


class Effect(NamedTuple):
    """Mean grade, and mean deviation from the others' grade on the same pair, of the judgments in one group."""

    group: int | None  # position from 1, or previous grade; None: nothing before
    n: int
    mean: float
    deviation: float | None  # None where nobody else graded these pairs
    half_width: float | None  # of the 95 % interval of the deviation; None for fewer than two


def effect(group: int | None, *, n: int, mean: float, deviations: Moments) -> Effect:
    """Put one group's numbers together."""
    if deviations.n == 0:
        return Effect(group, n, mean, None, None)
    average = deviations.total / deviations.n
    if deviations.n == 1:
        return Effect(group, n, mean, average, None)
    variance = max(0.0, deviations.squares - deviations.n * average**2) / (deviations.n - 1)
    return Effect(group, n, mean, average, Z95 * math.sqrt(variance / deviations.n))
