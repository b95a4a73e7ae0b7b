"""Which moments a coverage study judges: by hand, and for any pool."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.pools.rules import mixed, others_drawn, queries_drawn, top_of

MOMENTS = st.lists(st.integers(0, 300), unique=True)
SEEDS = st.integers(0, 2**31)


def test_what_was_frozen_keeps_its_rank_whatever_is_ranked_now() -> None:
    assert top_of([5, 3], [3, 9, 5, 7, 1], 4) == [5, 3, 9, 7]
    assert top_of([5, 3, 8], [1, 2], 2) == [5, 3]
    assert top_of([], [4, 2], 5) == [4, 2]


@given(MOMENTS, MOMENTS, st.integers(1, 60))
def test_the_best_are_distinct_and_as_many_as_there_are(frozen: list[int], ranked: list[int], top: int) -> None:
    best = top_of(frozen, ranked, top)
    assert len(best) == len(set(best)) == min(top, len(set(frozen) | set(ranked)))
    assert best[: len(frozen)] == frozen[:top]


@given(MOMENTS, MOMENTS, st.integers(0, 80), SEEDS, st.integers(1, 9))
def test_others_are_none_of_the_best(pool: list[int], top: list[int], n: int, seed: int, query: int) -> None:
    others = others_drawn(pool, top, n, seed=seed, query=query)
    rest = set(pool) - set(top)
    assert set(others) <= rest
    assert len(others) == len(set(others)) == min(n, len(rest))


@given(MOMENTS, MOMENTS, SEEDS, st.randoms())
def test_a_draw_can_be_drawn_again(pool: list[int], top: list[int], seed: int, chance: random.Random) -> None:
    """The order in which moments come does not matter, nor do other queries of the study."""
    first_draw = others_drawn(pool, top, 20, seed=seed, query=7)
    chance.shuffle(pool)
    chance.shuffle(top)
    assert others_drawn(pool, top, 20, seed=seed, query=7) == first_draw


def test_every_other_is_as_likely_and_queries_are_drawn_apart() -> None:
    draws = [others_drawn(range(10), {0, 1}, 4, seed=seed, query=1) for seed in range(2000)]
    counts = Counter(moment for draw in draws for moment in draw)
    assert set(counts) == set(range(2, 10))
    assert all(counts[moment] == pytest.approx(1000, abs=120) for moment in range(2, 10))  # over five deviations
    assert others_drawn(range(100), (), 9, seed=1, query=1) != others_drawn(range(100), (), 9, seed=1, query=2)


@given(st.lists(st.integers(0, 500)), st.integers(1, 30), SEEDS)
def test_queries_drawn(numbers: list[int], n: int, seed: int) -> None:
    sample = queries_drawn(numbers, n, seed=seed)
    assert sample == sorted(set(sample)) == queries_drawn(reversed(numbers), n, seed=seed)
    assert len(sample) == min(n, len(set(numbers)))
    assert set(sample) <= set(numbers)


def test_mixing_keeps_all() -> None:
    items = list(range(50))
    shuffled = mixed(items, seed=3, query=8)
    assert sorted(shuffled) == items
    assert shuffled != items
    assert shuffled == mixed(items, seed=3, query=8)
