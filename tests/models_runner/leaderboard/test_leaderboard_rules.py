"""Steps, rounding by chance, ranks and the Ladder: by hand, and as rules that hold for all numbers."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from models_runner.leaderboard.rules import interval, ladder, ranks, rounded, score_step, share_of

STEP = Decimal("0.05")
SHARES = st.floats(0, 1, exclude_max=True)
SCORES = st.lists(st.integers(0, 20), min_size=1, max_size=12)


@given(st.integers(1, 10**9))
@example(9)  # 0.3 / 3 exactly
@example(90_000)
def test_the_step_is_the_smallest_that_is_large_enough(queries: int) -> None:
    step = score_step(queries)
    digit = Fraction(step) / Fraction(10) ** step.adjusted()
    smaller = Fraction(step) * {1: Fraction(1, 2), 2: Fraction(1, 2), 5: Fraction(2, 5)}[int(digit)]
    assert digit in {1, 2, 5}
    assert smaller**2 * queries < Fraction(9, 100) <= Fraction(step) ** 2 * queries
    with pytest.raises(ValueError, match="at least one query, got 0"):
        score_step(0)


@given(st.floats(0, 1), SHARES, st.integers(1, 10**6))
def test_a_shown_score_is_a_step_less_than_a_step_off(value: float, share: float, queries: int) -> None:
    step = score_step(queries)
    shown_score = rounded(value, step, share)
    assert 0 <= shown_score <= 1
    assert abs(shown_score - value) < float(step) * (1 + 1e-9)
    assert shown_score == 1 or Decimal(repr(shown_score)) % step == 0


@pytest.mark.parametrize(
    ("value", "up"), [(0.35, 0), (0.3625, 0.146447), (0.375, 0.5), (0.3875, 0.853553), (0.39999999, 1)]
)
def test_the_chance_of_rounding_up(value: float, up: float) -> None:
    """sin(pi f / 2) ** 2 at f = 0, 1/4, 1/2, 3/4, 1."""
    shares = (np.arange(10_000) + 0.5) / 10_000
    assert np.mean([rounded(value, STEP, share) == 0.4 for share in shares]) == pytest.approx(up, abs=1e-4)


def test_shares_are_secret_even_and_the_same_for_the_same() -> None:
    shares = np.array([share_of(b"secret", "run", str(number)) for number in range(2_000)])
    assert shares[7] == share_of(b"secret", "run", "7") != share_of(b"other", "run", "7")
    assert share_of(b"secret", "ab", "c") != share_of(b"secret", "a", "bc")
    assert np.histogram(shares, 4, (0, 1))[0] == pytest.approx(500, abs=90)


def test_intervals_ranks_and_the_ladder_by_hand() -> None:
    assert [interval(score, STEP) for score in (0.35, 0.05, 1.0)] == [(0.25, 0.45), (0, 0.15), (0.9, 1)]
    assert ranks([0.5, 0.45, 0.4, 0.4, 0.1], STEP) == [1, 1, 2, 2, 5]
    assert ladder([0.1, 0.1, 0.15, 0.05, 0.15, 0.3], STEP) == [True, False, True, False, False, True]


@given(SCORES)
def test_no_run_more_than_a_step_better_has_a_worse_rank(steps: list[int]) -> None:
    shown_scores = [float(step * STEP) for step in steps]
    for one, rank in zip(steps, ranks(shown_scores, STEP), strict=True):
        assert rank == 1 + len([other for other in steps if other - one >= 2])


@given(SCORES)
def test_the_ladder_has_at_most_as_many_rungs_as_steps(steps: list[int]) -> None:
    visible = ladder([float(step * STEP) for step in steps], STEP)
    visible_steps = [step for step, is_visible in zip(steps, visible, strict=True) if is_visible]
    assert visible[0]
    assert visible_steps == sorted(set(visible_steps))
    assert max(steps) == visible_steps[-1]
