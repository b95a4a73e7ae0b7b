"""What a pair of the exam is worth, and whether an answer is aligned with it. Pure.

Source: TVR-Ranking, section 3.1 (arXiv:2407.06597).

How somebody's first grades lie beside a lead's own: who is far from these anchors. Pure.

How many levels of the truth somebody's grades tell apart. Pure.

The levels 0 to 4 are cut into steps of neighbouring levels in every possible way. A cut counts where the mean grade
rises from each step to the next by more than chance explains: Student's two-sample t of the two steps, with their
pooled variance, reaches ``LEAST_T``. The answer is the number of steps of the finest cut that counts. Somebody who
grades 0 rightly and all the rest at random tells 2 apart, a constant grade 1, a careful person 4 or 5.

Source: Student 1908, The probable error of a mean (Biometrika 6); the cuts are all tried, so nothing is assumed about
where somebody's levels lie.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, pairwise
from math import comb
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from judging.work.rules import GRADES

Annotator = TypeVar("Annotator", bound=Hashable)
FURTHEST_ALIGNED = 1  # from the truth
MOST = 4  # the highest grade
FEWEST_AGREEING = 3  # people who agree before their majority makes a truth


def truth_of(grades: Iterable[int]) -> Decimal:
    """The median of a pair's first grades; an even number of them may give a half.

    Raises:
        ValueError: there are no grades.
    """
    order = sorted(grades)
    if not order:
        raise ValueError("no grades, no truth")
    middle = len(order) // 2
    return Decimal(order[middle] + order[~middle]) / 2


def agreed_truth(grades: Iterable[int]) -> Decimal | None:
    """The median of the majority that agrees within one grade; None where fewer than three, or no majority, do.

    Two people who give the same grades at random make no truth by themselves, and cannot move one that three others
    make. Where two such majorities overlap (1, 2, 2, 3), the truth is the median of both together.
    """
    order = sorted(grades)
    steps = [[grade for grade in order if level <= grade <= level + 1] for level in range(MOST)]
    largest = max(map(len, steps))
    if largest < FEWEST_AGREEING or 2 * largest <= len(order):
        return None
    levels = [level for level, step in enumerate(steps) if len(step) == largest]
    return truth_of(grade for grade in order if levels[0] <= grade <= levels[-1] + 1)


def truth_without(grades: Mapping[Annotator, int], annotator: Annotator) -> Decimal | None:
    """The median of what the others gave a pair; None where nobody else did."""
    others = _of_others(grades, annotator)
    return truth_of(others) if others else None


def agreed_truth_without(grades: Mapping[Annotator, int], annotator: Annotator) -> Decimal | None:
    """The truth on which a majority of the others agrees, at least three of them; None where there is none.

    One's own grade neither moves this truth nor decides whether a pair is compared. If it counted towards the three,
    two people with the same grades would be compared on the very pairs where a third happens to agree with them.
    """
    return agreed_truth(_of_others(grades, annotator))


def _of_others(grades: Mapping[Annotator, int], annotator: Annotator) -> list[int]:
    return [grade for other, grade in grades.items() if other != annotator]


def is_aligned(grade: int, truth: Decimal | int) -> bool:
    return abs(Decimal(grade) - truth) <= FURTHEST_ALIGNED


def rounded_up(truth: Decimal | int) -> int:
    """The grade that a truth stands for where a grade is needed: kappa compares grades."""
    return math.ceil(truth)


Pair = TypeVar("Pair", bound=Hashable)
MISALIGNED = 0.1183  # share of first grades further than one from the truth: TVR-Ranking, section 3.1
SELDOM = 0.05  # of honest annotators are called far


@dataclass(frozen=True)
class Distance:
    """One person beside the anchors that they graded."""

    n: int
    misaligned: int  # further than one from the anchor
    bias: float | None  # mean of grade less anchor

    @property
    def is_far(self) -> bool:
        """Whether an annotator of the paper would be as far in fewer than one case of twenty (binomial, one-sided)."""
        return self.misaligned > 0 and as_many(self.misaligned, of=self.n) < SELDOM


def distance(grades: Mapping[Pair, int], anchors: Mapping[Pair, int]) -> Distance:
    """First grades beside the anchors, over the pairs that have both."""
    both = [(grades[pair], anchor) for pair, anchor in anchors.items() if pair in grades]
    far = sum(not is_aligned(grade, anchor) for grade, anchor in both)
    return Distance(len(both), far, sum(grade - anchor for grade, anchor in both) / len(both) if both else None)


def as_many(misaligned: int, *, of: int, share: float = MISALIGNED) -> float:
    """The chance that so many grades or more are misaligned where each is with the same chance."""
    return sum(comb(of, k) * share**k * (1 - share) ** (of - k) for k in range(misaligned, of + 1))


LEVELS = len(GRADES)
LEAST_T = 3.2  # chance reaches it about once in 1,000 comparisons of 40 pairs with 40
Counts = NDArray[np.int64]
Steps = list[tuple[int, int]]  # of levels, each from the first to before the last


def cuts() -> list[Steps]:
    """Every way to cut the levels into steps, the finest first."""
    found = []
    for size in range(LEVELS, 0, -1):
        for places in combinations(range(1, LEVELS), size - 1):
            bounds = (0, *places, LEVELS)
            found.append(list(pairwise(bounds)))
    return found


def levels_told_apart(tables: Counts) -> NDArray[np.int64]:
    """How many levels of the truth each table tells apart: [S], 1 to 5, or 0 for an empty table.

    Args:
        tables: [S, 5, 5], how often each person gave grade i to pairs of true grade j.
    """
    grades = np.arange(LEVELS)
    n = tables.sum(axis=1)  # [S, 5], by level of the truth
    total = np.einsum("g,sgt->st", grades, tables)  # [S, 5], sum of the grades
    squares = np.einsum("g,sgt->st", grades**2, tables)  # [S, 5]
    told = np.zeros(len(tables), dtype=np.int64)
    for cut in cuts():
        parts = [tuple(part[:, low:high].sum(axis=1) for part in (n, total, squares)) for low, high in cut]
        holds = np.all([part[0] > 0 for part in parts], axis=0)  # [S]
        for below, above in pairwise(parts):
            holds &= rises(below, above)
        told = np.where((told == 0) & holds, len(cut), told)
    return told


def rises(below: Sequence[Counts], above: Sequence[Counts]) -> NDArray[np.bool_]:
    """Whether the mean grade of the upper step is above that of the lower one beyond chance: [S].

    Args:
        below, above: number of pairs, sum of their grades, sum of their squares, each [S].
    """
    (n, total, squares), (n_above, total_above, squares_above) = below, above
    rise = total_above * n - total * n_above  # [S], the difference of the means times n * n_above: exact
    # Sum of squares around both means, times n * n_above: whole numbers, so that 0 is 0.
    spread = (n * squares - total**2) * n_above + (n_above * squares_above - total_above**2) * n  # [S]
    freedom = n + n_above - 2  # [S]
    # t >= T with t = (rise / nm) / sqrt(spread / nm / freedom * (n + m) / nm), squared and without a division
    enough: NDArray[np.bool_] = rise**2 * freedom >= LEAST_T**2 * spread * (n + n_above)
    return (rise > 0) & (freedom > 0) & enough
