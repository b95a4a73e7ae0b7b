"""Pairs of known truth: what they are worth, which are drawn, and how far somebody's grades are from them. Pure.

Source: TVR-Ranking, section 3.1 (arXiv:2407.06597).

Notation: G grades of the project's scale, from 0 on; its rules are the argument ``scale``.

For the levels that somebody's grades tell apart, the grades are cut into steps of neighbouring levels in every possible
way. A cut counts where the mean grade rises from each step to the next by more than chance explains: Student's
two-sample t of the two steps, with their pooled variance, reaches ``LEAST_T``. The answer is the number of steps of the
finest cut that counts. Somebody who grades 0 rightly and all the rest at random tells 2 apart, a constant grade 1, a
careful person 4 or 5.

Source: Student 1908, The probable error of a mean (Biometrika 6); the cuts are all tried, so nothing is assumed about
where somebody's levels lie.
"""

import math
import random
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import combinations, pairwise
from math import comb
from statistics import median
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from judging.work.rules import Rules, shuffled

Annotator = TypeVar("Annotator", bound=Hashable)
HALF = Decimal("0.5")  # from a truth between two grades, where grades that agree are equal
FEWEST_AGREEING = 3  # people who agree before their majority makes a truth


def truth_of(grades: Iterable[int]) -> Decimal:
    """The median of a pair's first grades; an even number of them may give a half. Raises ValueError: there
    are none."""
    return median(map(Decimal, grades))


def agreed_truth(grades: Iterable[int], scale: Rules) -> Decimal | None:
    """The median of the majority that agrees by the rules; None where fewer than three, or no majority, do. Two
    people who give the same grades at random make no truth by themselves, and cannot move one that three others make.
    Where two such majorities overlap (1, 2, 2, 3), the truth is the median of both together."""
    order, spread = sorted(grades), scale.max_spread
    steps = [[one for one in order if low <= one <= low + spread] for low in range(scale.top_grade + 1 - spread)]
    largest = max(map(len, steps))
    if largest < FEWEST_AGREEING or 2 * largest <= len(order):
        return None
    levels = [level for level, step in enumerate(steps) if len(step) == largest]
    return truth_of(grade for grade in order if levels[0] <= grade <= levels[-1] + spread)


def truth_without(
    grades: Mapping[Annotator, int], annotator: Annotator, scale: Rules, *, agreeing: bool = False
) -> Decimal | None:
    """Return the median of the others' grades of a pair, or with ``agreeing`` of their majority; None without one.

    One's own grade neither moves this truth nor decides whether a pair is compared. If it counted towards the three,
    two people with the same grades would be compared on the very pairs where a third happens to agree with them.
    """
    others = [grade for other, grade in grades.items() if other != annotator]
    if agreeing:
        return agreed_truth(others, scale)
    return truth_of(others) if others else None


def is_aligned(grade: int, truth: Decimal | int, max_spread: int) -> bool:
    """Whether a grade is no further from the truth than grades that agree are from each other."""
    return abs(Decimal(grade) - truth) <= max(Decimal(max_spread), HALF)


def rounded_up(truth: Decimal | int) -> int:
    """The grade that a truth stands for where a grade is needed: kappa compares grades."""
    return math.ceil(truth)


Pair = TypeVar("Pair", bound=Hashable)
SELDOM = 0.05  # of honest annotators are called far


@dataclass(frozen=True)
class Distance:
    """One person beside the anchors that they graded."""

    n: int
    misaligned: int  # too far from the anchor
    bias: float | None  # mean of grade less anchor
    error_share: float  # share of an honest annotator's grades that are too far (``passing.misaligned_share``)

    @property
    def error_percent(self) -> float:
        return 100 * self.error_share

    @property
    def is_far(self) -> bool:
        """Whether an honest annotator would be as far in fewer than one case of twenty (binomial, one-sided)."""
        chances = [
            comb(self.n, k) * self.error_share**k * (1 - self.error_share) ** (self.n - k)
            for k in range(self.misaligned, self.n + 1)
        ]
        return self.misaligned > 0 and sum(chances) < SELDOM


def distance(grades: Mapping[Pair, int], anchors: Mapping[Pair, int], scale: Rules, *, error_share: float) -> Distance:
    """First grades beside the anchors, over the pairs that have both."""
    both = [(grades[pair], anchor) for pair, anchor in anchors.items() if pair in grades]
    far = sum(not is_aligned(grade, anchor, scale.max_spread) for grade, anchor in both)
    bias = sum(grade - anchor for grade, anchor in both) / len(both) if both else None
    return Distance(len(both), far, bias, error_share)


LEAST_T = 3.2  # chance reaches it about once in 1,000 comparisons of 40 pairs with 40
Counts = NDArray[np.int64]
Steps = list[tuple[int, int]]  # of levels, each from the first to before the last


def cuts(n_grades: int) -> list[Steps]:
    """Every way to cut so many levels into steps, the finest first."""
    partitions = []
    for size in range(n_grades, 0, -1):
        for cut_points in combinations(range(1, n_grades), size - 1):
            bounds = (0, *cut_points, n_grades)
            partitions.append(list(pairwise(bounds)))
    return partitions


def levels_distinguished(tables: Counts) -> NDArray[np.int64]:
    """How many levels of the truth each table tells apart: [S], 1 to G, or 0 for an empty table.

    Args:
        tables: [S, G, G], how often each person gave grade i to pairs of true grade j.
    """
    n_grades = tables.shape[1]
    grades = np.arange(n_grades)
    n = tables.sum(axis=1)  # [S, G], by level of the truth
    total = np.einsum("g,sgt->st", grades, tables)  # [S, G], sum of the grades
    squares = np.einsum("g,sgt->st", grades**2, tables)  # [S, G]
    steps = np.zeros(len(tables), dtype=np.int64)

    @cache
    def step(low: int, high: int) -> Sequence[Counts]:
        return [column[:, low:high].sum(axis=1) for column in (n, total, squares)]

    @cache
    def rises_at(low: int, middle: int, high: int) -> NDArray[np.bool_]:
        """Whether the step that ends at ``middle`` and the one that begins there are apart; many cuts hold the two."""
        return rises(step(low, middle), step(middle, high))

    for partition in cuts(n_grades):
        holds = np.all([step(*bounds)[0] > 0 for bounds in partition], axis=0)  # [S]
        for (low, middle), (_, high) in pairwise(partition):
            holds &= rises_at(low, middle, high)
        steps = np.where((steps == 0) & holds, len(partition), steps)
    return steps


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


Query = TypeVar("Query", bound=Hashable)
Truth = Decimal | int
ROUNDS = 8  # how often each drawn query is looked at again; seldom more than two are needed
TRIES = 20  # other queries looked at in its place


@dataclass(frozen=True)
class TooFew:
    """There is not enough to draw from; ``str`` says so in a sentence for the page."""

    there: int
    needed: int
    per_query: int | None = None  # set: it is queries that are too few, those with so many pairs each

    def __str__(self) -> str:
        what = "pairs" if self.per_query is None else f"queries with {self.per_query} pairs each"
        there = f"{what} of known truth not seen before: {self.there}"
        return f"Too few {there}, where {self.needed} are needed."


class TruthGroups(Generic[Pair]):
    """A query's pairs by the level of their truth, each level in random order."""

    def __init__(self, pairs: Iterable[tuple[Pair, Truth]], *, grades: range, chance: random.Random) -> None:
        self.levels: list[list[Pair]] = [[] for _ in grades]
        for pair, truth in pairs:
            self.levels[rounded_up(truth)].append(pair)
        for level in self.levels:
            chance.shuffle(level)

        self.needed = [0 for _ in grades]  # of each level, taken in any case
        self.cost = 0  # pairs shown before that a draw cannot do without

    @classmethod
    def preferring(
        cls,
        fresh: Sequence[tuple[Pair, Truth]],
        shown_before: Sequence[tuple[Pair, Truth]],
        *,
        size: int,
        grades: range,
        chance: random.Random,
    ) -> "TruthGroups[Pair]":
        """To draw ``size`` pairs from: fresh ones alone where they are enough, else all of them and shown ones."""
        group = cls(fresh, grades=grades, chance=chance)
        lacking = size - len(group)
        if lacking > 0 and shown_before:
            more = cls(shown_before, grades=grades, chance=chance)
            group.needed, group.cost = [len(level) for level in group.levels], lacking
            group.levels = [own + other for own, other in zip(group.levels, more.levels, strict=True)]
        return group

    def __len__(self) -> int:
        return sum(map(len, self.levels))

    def taking(self, counts: Sequence[int]) -> list[Pair]:
        """So many pairs of each level."""
        return [pair for level, count in zip(self.levels, counts, strict=True) for pair in level[:count]]

    def any_counts(self, size: int, *, chance: random.Random) -> list[int]:
        """How many of each level a plain random draw of ``size`` pairs takes."""
        spare = [level for level, pairs in enumerate(self.levels) for _ in pairs[self.needed[level] :]]
        sample = chance.sample(spare, size - sum(self.needed))
        return [needed + sample.count(level) for level, needed in enumerate(self.needed)]

    def even_counts(self, size: int, *, beside: Sequence[int], chance: random.Random) -> list[int]:
        """How many of each level make ``size`` pairs that are most even together with those ``beside`` them."""
        counts = list(self.needed)
        for _ in range(size - sum(counts)):
            levels_left = [level for level, pairs in enumerate(self.levels) if counts[level] < len(pairs)]
            counts[min(levels_left, key=lambda level: (beside[level] + counts[level], chance.random()))] += 1
        return counts


def draw_even(
    pairs: Sequence[tuple[Pair, Query, Truth]],
    *,
    queries: int,
    per_query: int,
    grades: range,
    seed: int,
    shown_before: Collection[Pair] = (),
) -> list[Pair] | TooFew:
    """Pairs of ``queries`` queries, ``per_query`` of each, whose truths rounded up spread evenly over the grades.

    Starts from a plain random draw; then each query in turn takes the pairs that make the whole most even, or leaves
    its place to another that does better. So it is never less even than that draw, though another may be more even.
    Of the pairs in ``shown_before`` no more are drawn than it takes, however uneven the draw becomes by that.

    Args:
        pairs: each with its query and its truth; the same in the same order give the same draw.
        seed: of the draw.
        shown_before: pairs to avoid, as their truth was shown before.

    Returns:
        The pairs, those of a query together, queries and pairs in random order; TooFew where fewer than ``queries``
        queries have ``per_query`` pairs.
    """
    chance = random.Random(seed)
    by_query: dict[Query, tuple[list[tuple[Pair, Truth]], list[tuple[Pair, Truth]]]] = {}  # fresh, shown before
    for pair, query, truth in pairs:
        by_query.setdefault(query, ([], []))[pair in shown_before].append((pair, truth))
    all_groups = [
        TruthGroups.preferring(*parts, size=per_query, grades=grades, chance=chance) for parts in by_query.values()
    ]
    groups = [group for group in all_groups if len(group) >= per_query]
    if len(groups) < queries:
        if len(pairs) < queries * per_query:
            return TooFew(len(pairs), queries * per_query)
        return TooFew(len(groups), queries, per_query=per_query)
    chance.shuffle(groups)
    groups.sort(key=lambda group: group.cost)  # stable: in random order among those that cost the same
    dearest = groups[queries - 1].cost
    selection, idle = groups[:queries], [group for group in groups[queries:] if group.cost == dearest]
    counts_of = [group.any_counts(per_query, chance=chance) for group in selection]
    for _ in range(ROUNDS):
        for position in range(queries):
            levels = total(counts_of, grades)
            if max(levels) - min(levels) <= 1:
                break
            beside = total(counts_of[:position] + counts_of[position + 1 :], grades)
            spare = (
                chance.sample(range(len(idle)), min(TRIES, len(idle))) if selection[position].cost == dearest else []
            )
            offers = [(selection[position], None), *((idle[index], index) for index in spare)]
            fits = [(group.even_counts(per_query, beside=beside, chance=chance), group, at) for group, at in offers]
            counts, group, at = min(fits, key=lambda fit: unevenness(total([beside, fit[0]], grades)))
            if at is not None:
                selection[position], idle[at] = group, selection[position]
            counts_of[position] = counts
    return [
        pair
        for group, counts in zip(selection, counts_of, strict=True)
        for pair in shuffled(group.taking(counts), seed=chance.getrandbits(32))
    ]


def draw_levels(pairs: Sequence[tuple[Pair, Truth]], *, grades: range, seed: int) -> list[Pair] | TooFew:
    """Pairs for a warm-up in random order: one of each grade, and of the nearest where there is none.

    Args:
        pairs: each with its truth; the same in the same order give the same draw.
        seed: of the draw.
    """
    if len(pairs) < len(grades):
        return TooFew(len(pairs), len(grades))
    levels = TruthGroups(pairs, grades=grades, chance=random.Random(seed)).levels
    missing = [level for level in grades if not levels[level]]
    selection = [level.pop() for level in levels if level]
    for level in missing:
        nearest = min((other for other in grades if levels[other]), key=lambda other: abs(other - level))
        selection.append(levels[nearest].pop())
    return shuffled(selection, seed=seed)


def unevenness(counts: Iterable[int]) -> int:
    """Sum of squares: for a given number of pairs, least where they spread evenly."""
    return sum(count * count for count in counts)


def total(counts: Iterable[Sequence[int]], grades: range) -> list[int]:
    """Pairs of each level, over all queries."""
    return [sum(column) for column in zip([0] * len(grades), *counts, strict=True)]
