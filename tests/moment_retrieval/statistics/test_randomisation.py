"""The paired randomisation test against all sign flips and scipy, Holm's correction against statsmodels."""

from itertools import product
from unittest.mock import Mock, patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moment_retrieval.statistics.significance import holm, randomisation_test

RANDOM = np.random.default_rng(5)


def exact(differences: np.ndarray) -> float:
    """By all sign flips, one after the other."""
    flips = [abs(np.dot(signs, differences)) for signs in product((1, -1), repeat=len(differences))]
    return float(np.mean([flip >= abs(differences.sum()) - 1e-12 for flip in flips]))


def test_it_is_the_share_of_sign_flips_that_reach_as_far() -> None:
    for _ in range(5):
        differences = RANDOM.normal(0.4, 1, 10)
        assert randomisation_test(differences[:, None], 20_000)[0] == pytest.approx(exact(differences), abs=0.015)


def test_it_is_that_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    for middle in (0.2, 0.5):
        differences = RANDOM.normal(middle, 1, 12)  # few enough for scipy to go through all flips
        result = stats.permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=np.inf)
        assert randomisation_test(differences[:, None], 20_000)[0] == pytest.approx(result.pvalue, abs=0.015)


def test_by_hand() -> None:
    """Of (1, 1, 1) two in eight flips reach 3; the observed order counts once more."""
    assert randomisation_test(np.ones((3, 1)), 40_000)[0] == pytest.approx(0.25, abs=0.01)


def test_equal_runs_never_differ() -> None:
    assert randomisation_test(np.zeros((50, 2)), 1000).tolist() == [1.0, 1.0]


def test_a_large_difference_is_as_small_as_the_flips_allow() -> None:
    assert randomisation_test(np.full((200, 1), 0.3), 999)[0] == pytest.approx(1 / 1000)


def test_queries_without_part_in_it_change_nothing() -> None:
    differences = RANDOM.normal(0.2, 1, 40)
    longer = np.concatenate([differences, np.full(40, np.nan)])
    plain, with_gaps = (randomisation_test(one[:, None], 20_000)[0] for one in (differences, longer))
    assert with_gaps == pytest.approx(plain, abs=0.02)


def test_columns_do_not_touch_each_other() -> None:
    differences = RANDOM.normal(0, 1, (30, 3))
    alone = [randomisation_test(differences[:, column : column + 1], 500)[0] for column in range(3)]
    assert randomisation_test(differences, 500) == pytest.approx(alone)


@patch("gc.collect", Mock())  # statsmodels calls it every time, and it takes longer than all of the rest
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
