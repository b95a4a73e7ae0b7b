"""The bootstrap over queries: its draws, its intervals, what it does where values are missing."""

import numpy as np
import pytest

from moment_retrieval.statistics import significance
from moment_retrieval.statistics.significance import draws, intervals, resampled_means

VALUES = np.random.default_rng(3).random((60, 3))


def test_every_sample_draws_as_many_queries_as_there_are() -> None:
    counts = np.concatenate(list(draws(7, 1000)))
    assert counts.shape == (1000, 7)
    assert (counts.sum(axis=1) == 7).all()


def test_all_runs_and_measures_are_resampled_alike() -> None:
    together = resampled_means(VALUES, 500)
    np.testing.assert_allclose(resampled_means(VALUES[:, 1:2], 500)[:, 0], together[:, 1], atol=1e-14)
    np.testing.assert_allclose(together, naive(VALUES, 500), atol=1e-14)


def naive(values: np.ndarray, samples: int) -> np.ndarray:
    """Query by query, from the same draws."""
    counts = np.concatenate(list(draws(len(values), samples)))
    means = [[np.mean(np.repeat(column, row.astype(int))) for column in values.T] for row in counts]
    return np.array(means)


def test_another_seed_gives_other_samples() -> None:
    assert (resampled_means(VALUES, 5, seed=1) != resampled_means(VALUES, 5, seed=2)).all()


def test_the_interval_is_as_wide_as_theory_says() -> None:
    low, high = intervals(VALUES, 20_000)[0]
    error = VALUES[:, 0].std() / np.sqrt(len(VALUES))
    assert low < VALUES[:, 0].mean() < high
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.05)


def test_it_is_the_interval_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats")
    interval = stats.bootstrap(
        (VALUES[:, 0],), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    assert intervals(VALUES, 20_000)[0] == pytest.approx(list(interval), abs=2e-3)


def test_what_has_no_part_in_a_measure_is_left_out() -> None:
    some = VALUES.copy()
    some[:50, 1] = np.nan
    bounds = intervals(some, 2000)
    assert bounds[0] == pytest.approx(intervals(VALUES, 2000)[0])
    assert bounds[1, 0] < VALUES[50:, 1].mean() < bounds[1, 1]
    some[:, 1] = np.nan
    assert np.isnan(intervals(some, 100)[1]).all()


def test_memory_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(significance, "CELLS", 100)
    assert [len(block) for block in draws(30, 10)] == [3, 3, 3, 1]


@pytest.mark.parametrize(("queries", "samples"), [(0, 1), (1, 0)])
def test_nothing_to_draw_from_is_an_error(queries: int, samples: int) -> None:
    with pytest.raises(ValueError, match="needs queries and samples"):
        next(draws(queries, samples))


@pytest.mark.parametrize("level", [-0.5, 0.0, 1.0, 1.5])
def test_a_level_outside_0_and_1_is_an_error(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        intervals(VALUES, 10, level=level)
