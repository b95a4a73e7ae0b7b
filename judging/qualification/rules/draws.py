"""Which pairs of known truth are drawn for a later exam or a warm-up. Pure."""

import random
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Generic, TypeVar

from judging.qualification.rules.truth import rounded_up
from judging.work.rules import GRADES, shuffled

Pair = TypeVar("Pair", bound=Hashable)
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


@dataclass(frozen=True)
class Levels(Generic[Pair]):
    """Pairs drawn for a warm-up, in random order, and the levels that none of those at hand has."""

    pairs: list[Pair]
    missing: list[int]


class Shelf(Generic[Pair]):
    """A query's pairs by the level of their truth, each level in random order."""

    def __init__(self, pairs: Iterable[tuple[Pair, Truth]], *, chance: random.Random) -> None:
        self.levels: list[list[Pair]] = [[] for _ in GRADES]
        for pair, truth in pairs:
            self.levels[rounded_up(truth)].append(pair)
        for level in self.levels:
            chance.shuffle(level)

        self.needed = [0 for _ in GRADES]  # of each level, taken in any case
        self.cost = 0  # pairs shown before that a draw cannot do without

    @classmethod
    def preferring(
        cls,
        fresh: Sequence[tuple[Pair, Truth]],
        shown: Sequence[tuple[Pair, Truth]],
        *,
        size: int,
        chance: random.Random,
    ) -> "Shelf[Pair]":
        """To draw ``size`` pairs from: fresh ones alone where they are enough, else all of them and shown ones."""
        shelf = cls(fresh, chance=chance)
        lacking = size - len(shelf)
        if lacking > 0 and shown:
            more = cls(shown, chance=chance)
            shelf.needed, shelf.cost = [len(level) for level in shelf.levels], lacking
            shelf.levels = [own + other for own, other in zip(shelf.levels, more.levels, strict=True)]
        return shelf

    def __len__(self) -> int:
        return sum(map(len, self.levels))

    def taking(self, counts: Sequence[int]) -> list[Pair]:
        """So many pairs of each level."""
        return [pair for level, count in zip(self.levels, counts, strict=True) for pair in level[:count]]

    def any_counts(self, size: int, *, chance: random.Random) -> list[int]:
        """How many of each level a plain random draw of ``size`` pairs takes."""
        spare = [level for level in GRADES for _ in self.levels[level][self.needed[level] :]]
        drawn = chance.sample(spare, size - sum(self.needed))
        return [self.needed[level] + drawn.count(level) for level in GRADES]

    def even_counts(self, size: int, *, beside: Sequence[int], chance: random.Random) -> list[int]:
        """How many of each level make ``size`` pairs that are most even together with those ``beside`` them."""
        counts = list(self.needed)
        for _ in range(size - sum(counts)):
            left = [level for level in GRADES if counts[level] < len(self.levels[level])]
            counts[min(left, key=lambda level: (beside[level] + counts[level], chance.random()))] += 1
        return counts


def draw_even(
    pairs: Sequence[tuple[Pair, Query, Truth]],
    *,
    queries: int,
    per_query: int,
    seed: int,
    shown: Collection[Pair] = (),
) -> list[Pair] | TooFew:
    """Pairs of ``queries`` queries, ``per_query`` of each, whose truths rounded up spread evenly over 0 to 4.

    Starts from a plain random draw; then each query in turn takes the pairs that make the whole most even, or leaves
    its place to another that does better. So it is never less even than that draw, though another may be more even.
    Of the pairs in ``shown`` no more are drawn than it takes, however uneven the draw becomes by that.

    Args:
        pairs: each with its query and its truth; the same in the same order give the same draw.
        seed: of the draw.
        shown: pairs to avoid, as their truth was told before.

    Returns:
        The pairs, those of a query together, queries and pairs in random order; TooFew where fewer than ``queries``
        queries have ``per_query`` pairs.
    """
    chance = random.Random(seed)
    all_shelves = shelved(pairs, shown=shown, size=per_query, chance=chance)
    shelves = [shelf for shelf in all_shelves if len(shelf) >= per_query]
    if len(shelves) < queries:
        if len(pairs) < queries * per_query:
            return TooFew(len(pairs), queries * per_query)
        return TooFew(len(shelves), queries, per_query=per_query)
    chance.shuffle(shelves)
    shelves.sort(key=lambda shelf: shelf.cost)  # stable: in random order among those that cost the same
    dearest = shelves[queries - 1].cost
    drawn, idle = shelves[:queries], [shelf for shelf in shelves[queries:] if shelf.cost == dearest]
    taken = [shelf.any_counts(per_query, chance=chance) for shelf in drawn]
    for _ in range(ROUNDS):
        for place in range(queries):
            if is_even(total(taken)):
                break
            beside = total(taken[:place] + taken[place + 1 :])
            spare = chance.sample(range(len(idle)), min(TRIES, len(idle))) if drawn[place].cost == dearest else []
            offers = [(drawn[place], None), *((idle[index], index) for index in spare)]
            fits = [(shelf.even_counts(per_query, beside=beside, chance=chance), shelf, at) for shelf, at in offers]
            counts, shelf, at = min(fits, key=lambda fit: unevenness(total([beside, fit[0]])))
            if at is not None:
                drawn[place], idle[at] = shelf, drawn[place]
            taken[place] = counts
    return [
        pair
        for shelf, counts in zip(drawn, taken, strict=True)
        for pair in shuffled(shelf.taking(counts), seed=chance.getrandbits(32))
    ]


def draw_levels(pairs: Sequence[tuple[Pair, Truth]], *, count: int = 5, seed: int) -> Levels[Pair] | TooFew:
    """Pairs for a warm-up: one of each level 0 to 4, and of the nearest level where there is none.

    Args:
        pairs: each with its truth; the same in the same order give the same draw.
        count: how many; other than 5, the levels are gone through again, or thinned out.
        seed: of the draw.
    """
    if len(pairs) < count:
        return TooFew(len(pairs), count)
    levels = Shelf(pairs, chance=random.Random(seed)).levels
    missing = [level for level in levels_of(count) if not levels[level]]
    drawn = []
    short = []
    for level in levels_of(count):
        if levels[level]:
            drawn.append(levels[level].pop())
        else:
            short.append(level)
    for level in short:
        nearest = min((other for other in GRADES if levels[other]), key=lambda other: abs(other - level))
        drawn.append(levels[nearest].pop())
    return Levels(shuffled(drawn, seed=seed), sorted(set(missing)))


def levels_of(count: int) -> list[int]:
    """The levels that ``count`` pairs are to have: all in turn, or a few spread from 0 to 4."""
    last = len(GRADES) - 1
    if count > last:
        return [step % len(GRADES) for step in range(count)]
    return [round(last * step / (count - 1)) for step in range(count)] if count > 1 else [last // 2]


def unevenness(counts: Iterable[int]) -> int:
    """Sum of squares: for a given number of pairs, least where they spread evenly."""
    return sum(count * count for count in counts)


def is_even(counts: Sequence[int]) -> bool:
    return max(counts) - min(counts) <= 1


def total(counts: Iterable[Sequence[int]]) -> list[int]:
    """Pairs of each level, over all queries."""
    return [sum(column) for column in zip([0] * len(GRADES), *counts, strict=True)]


def shelved(
    pairs: Iterable[tuple[Pair, Query, Truth]], *, shown: Collection[Pair], size: int, chance: random.Random
) -> list[Shelf[Pair]]:
    """The pairs by query, queries in the order they first come up, to draw ``size`` of each."""
    by_query: dict[Query, tuple[list[tuple[Pair, Truth]], list[tuple[Pair, Truth]]]] = {}
    for pair, query, truth in pairs:
        fresh, old = by_query.setdefault(query, ([], []))
        (old if pair in shown else fresh).append((pair, truth))
    return [Shelf.preferring(fresh, old, size=size, chance=chance) for fresh, old in by_query.values()]
