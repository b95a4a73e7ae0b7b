"""Kendall's tau-b against scipy, ties included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moment_retrieval.statistics.significance import kendall

scores = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=12)


@given(scores)
def test_it_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    one, other = np.array(pairs, np.float64).T
    assert kendall(one, other) == pytest.approx(stats.kendalltau(one, other).statistic, nan_ok=True)


def test_one_swap_of_three_neighbours() -> None:
    assert kendall(np.array([0.3, 0.2, 0.1]), np.array([0.2, 0.3, 0.1])) == pytest.approx(1 / 3)


def test_many_rankings_at_once() -> None:
    one = np.random.default_rng(1).random((5, 7))
    assert kendall(one, -one).tolist() == [-1.0] * 5
