"""Ranking the pool: against a plain double loop, ties included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from annotation.pools import rules as pool_rules
from annotation.pools.rules import DEPTH, top_moments

FEW = np.array([[1, 0], [0, 1], [0.6, 0.8], [-1, 0]], dtype=np.float32)  # few directions: many ties
vectors = st.lists(st.integers(0, len(FEW) - 1), min_size=1, max_size=12)
moments = st.lists(st.lists(st.integers(0, len(FEW) - 1), min_size=1, max_size=3), min_size=1, max_size=12)


def brute_force(query: NDArray[np.float32], pool: list[list[int]], depth: int) -> list[tuple[int, float]]:
    """Best caption of each moment, rounded; then by similarity down and place up."""
    scored = []
    for index, captions in enumerate(pool):
        similarity = max(round(float(query.astype(np.float64) @ FEW[c].astype(np.float64)), 6) for c in captions)
        scored.append((index, similarity))
    return sorted(scored, key=lambda item: (-item[1], item[0]))[:depth]


def laid_out(pool: list[list[int]]) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    first = np.cumsum([0, *(len(captions) for captions in pool[:-1])])
    return FEW[[c for captions in pool for c in captions]], first.astype(np.intp)


@given(vectors, moments, st.integers(1, 15))
def test_top_moments_are_those_of_a_double_loop(query_indexes: list[int], pool: list[list[int]], depth: int) -> None:
    captions, first = laid_out(pool)
    results = list(top_moments(FEW[query_indexes], captions, first, depth=depth))
    assert len(results) == len(query_indexes)
    for query, (order, similarity) in zip(FEW[query_indexes], results, strict=True):
        correct = brute_force(query, pool, depth)
        assert order.tolist() == [index for index, _ in correct]
        assert similarity.tolist() == pytest.approx([value for _, value in correct], abs=1e-6)


@given(st.integers(1, 3 * pool_rules.ROWS))
def test_queries_are_answered_in_order_whatever_the_block(n: int) -> None:
    queries = np.tile(FEW[:2], (n, 1))[:n]
    best = [int(order[0]) for order, _ in top_moments(queries, FEW, np.arange(4), depth=1)]
    assert best == [index % 2 for index in range(n)]


def test_depth_of_the_project() -> None:
    captions = np.tile(FEW[0], (100, 1))
    ((order, similarity),) = top_moments(FEW[:1], captions, np.arange(100))
    assert (len(order), DEPTH) == (40, 40)
    assert order.tolist() == list(range(40))
    assert set(similarity) == {1.0}


def test_differences_below_a_millionth_do_not_rank_nor_leave_the_range_of_a_cosine() -> None:
    """Two machines may differ in the last bits; the earlier moment comes first on both."""
    for values, similarities in (((1 - 2e-7, 1), [1.0, 1.0]), ((1.00001, -1.00001), [1.0, -1.0])):
        captions = np.array([[value, 0] for value in values], dtype=np.float32)
        ((order, similarity),) = top_moments(FEW[:1], captions, np.arange(2))
        assert order.tolist() == [0, 1]
        assert similarity.tolist() == similarities


@pytest.mark.parametrize("first", [[], [1], [0, 0], [0, 2, 1]])
def test_a_pool_that_is_none(first: list[int]) -> None:
    with pytest.raises(ValueError, match="no moment|start at 0"):
        list(top_moments(FEW[:1], FEW, np.array(first, dtype=np.intp)))


@pytest.mark.parametrize("rows", [1, 3, 64])
def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    monkeypatch.setattr(pool_rules, "ROWS", rows)
    chance = np.random.default_rng(rows)
    captions = chance.standard_normal((90, 6)).astype(np.float32)
    captions /= np.linalg.norm(captions, axis=1, keepdims=True)
    first = np.sort(np.concatenate([[0], 1 + chance.choice(89, 59, replace=False)])).astype(np.intp)
    queries = captions[chance.choice(90, 11)]
    cosines = np.maximum.reduceat(queries.astype(np.float64) @ captions.astype(np.float64).T, first, axis=1)
    for row, (order, similarity) in zip(cosines.round(6), top_moments(queries, captions, first, depth=7), strict=True):
        correct = np.lexsort((np.arange(60), -row))[:7]
        assert order.tolist() == correct.tolist()
        assert similarity.tolist() == pytest.approx(np.clip(row[correct], -1, 1).tolist(), abs=1e-12)
