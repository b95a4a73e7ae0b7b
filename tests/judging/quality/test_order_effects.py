"""Effects of order, by hand."""

import pytest

from judging.quality.rules.quality import Moments, effect


def test_by_hand() -> None:
    """Deviations 1, 0 and -1: mean 0, variance 1, half width 1.96 / sqrt(3)."""
    result = effect(4, n=5, mean=2.2, deviations=Moments(3, 0.0, 2.0))
    assert (result.group, result.n, result.mean, result.deviation) == (4, 5, 2.2, 0.0)
    assert result.half_width == pytest.approx(1.1316, abs=1e-4)


def test_a_constant_deviation_has_no_width() -> None:
    result = effect(None, n=4, mean=1.0, deviations=Moments(4, 2.0, 1.0))
    assert (result.deviation, result.half_width) == (0.5, 0.0)


def test_undefined_values_are_none() -> None:
    assert effect(1, n=3, mean=2.0, deviations=Moments(0, 0.0, 0.0))[3:] == (None, None)
    assert effect(1, n=3, mean=2.0, deviations=Moments(1, -2.0, 4.0))[3:] == (-2.0, None)
