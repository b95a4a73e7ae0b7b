"""The bootstrap, the randomisation test, Holm's correction and Kendall's tau-b, against scipy and statsmodels."""

from itertools import product
from unittest.mock import Mock, patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moment_retrieval.statistics import significance
from moment_retrieval.statistics.significance import (
    draws,
    holm,
    intervals,
    kendall,
    randomisation_test,
    resampled_means,
)

VALUES = np.random.default_rng(3).random((60, 3))


def test_every_sample_draws_as_many_queries_as_there_are_for_all_runs_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.concatenate(list(draws(7, 1000)))
    assert counts.shape == (1000, 7)
    assert (counts.sum(axis=1) == 7).all()
    assert (resampled_means(VALUES, 5, seed=1) != resampled_means(VALUES, 5, seed=2)).all()
    monkeypatch.setattr(significance, "CELLS", 100)
    assert [len(block) for block in draws(30, 10)] == [3, 3, 3, 1]  # memory stays bounded
    together = resampled_means(VALUES, 500)
    np.testing.assert_allclose(resampled_means(VALUES[:, 1:2], 500)[:, 0], together[:, 1], atol=1e-14)
    np.testing.assert_allclose(together, naive(VALUES, 500), atol=1e-14)


def naive(values: np.ndarray, samples: int) -> np.ndarray:
    """Query by query, from the same draws."""
    counts = np.concatenate(list(draws(len(values), samples)))
    means = [[np.mean(np.repeat(column, row.astype(int))) for column in values.T] for row in counts]
    return np.array(means)


def test_the_interval_is_that_of_scipy_and_as_wide_as_theory_says() -> None:
    low, high = intervals(VALUES, 20_000)[0]
    error = VALUES[:, 0].std() / np.sqrt(len(VALUES))
    assert low < VALUES[:, 0].mean() < high
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.05)
    stats = pytest.importorskip("scipy.stats")
    how = {"n_resamples": 20_000, "method": "percentile", "rng": np.random.default_rng(1)}
    interval = stats.bootstrap((VALUES[:, 0],), np.mean, **how).confidence_interval
    assert [low, high] == pytest.approx(list(interval), abs=2e-3)


def test_what_has_no_part_in_a_measure_is_left_out_and_nothing_to_draw_from_is_an_error() -> None:
    some = VALUES.copy()
    some[:50, 1] = np.nan
    bounds = intervals(some, 2000)
    assert bounds[0] == pytest.approx(intervals(VALUES, 2000)[0])
    assert bounds[1, 0] < VALUES[50:, 1].mean() < bounds[1, 1]
    some[:, 1] = np.nan
    assert np.isnan(intervals(some, 100)[1]).all()
    for queries, samples in ((0, 1), (1, 0)):
        with pytest.raises(ValueError, match="needs queries and samples"):
            next(draws(queries, samples))
    for level in (-0.5, 0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match="level"):
            intervals(VALUES, 10, level=level)


RANDOM = np.random.default_rng(5)


def exact(differences: np.ndarray) -> float:
    """By all sign flips, one after the other."""
    flips = [abs(np.dot(signs, differences)) for signs in product((1, -1), repeat=len(differences))]
    return float(np.mean([flip >= abs(differences.sum()) - 1e-12 for flip in flips]))


def test_the_p_value_is_the_share_of_sign_flips_that_reach_as_far() -> None:
    for _ in range(5):
        differences = RANDOM.normal(0.4, 1, 10)
        assert randomisation_test(differences[:, None], 20_000)[0] == pytest.approx(exact(differences), abs=0.015)
    stats = pytest.importorskip("scipy.stats")
    for middle in (0.2, 0.5):
        differences = RANDOM.normal(middle, 1, 12)  # few enough for scipy to go through all flips
        result = stats.permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=np.inf)
        assert randomisation_test(differences[:, None], 20_000)[0] == pytest.approx(result.pvalue, abs=0.015)


def test_p_values_of_missing_queries_other_columns_equal_runs_and_large_differences() -> None:
    differences = RANDOM.normal(0.2, 1, 40)
    longer = np.concatenate([differences, np.full(40, np.nan)])
    plain, with_gaps = (randomisation_test(one[:, None], 20_000)[0] for one in (differences, longer))
    assert with_gaps == pytest.approx(plain, abs=0.02)
    differences = RANDOM.normal(0, 1, (30, 3))
    alone = [randomisation_test(differences[:, column : column + 1], 500)[0] for column in range(3)]
    assert randomisation_test(differences, 500) == pytest.approx(alone)
    assert randomisation_test(np.zeros((50, 2)), 1000).tolist() == [1.0, 1.0]
    assert randomisation_test(np.full((200, 1), 0.3), 999)[0] == pytest.approx(1 / 1000)


@patch("gc.collect", Mock())  # statsmodels calls it every time, and it takes longer than all of the rest
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())


def test_holm_and_tau_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
    assert kendall(np.array([0.3, 0.2, 0.1]), np.array([0.2, 0.3, 0.1])) == pytest.approx(1 / 3)
    one = np.random.default_rng(1).random((5, 7))
    assert kendall(one, -one).tolist() == [-1.0] * 5  # many at once


scores = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=12)


@given(scores)
def test_tau_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    one, other = np.array(pairs, np.float64).T
    assert kendall(one, other) == pytest.approx(stats.kendalltau(one, other).statistic, nan_ok=True)
