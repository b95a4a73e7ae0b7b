"""How much gold is due."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.quality.rules.quality import gold_among, gold_due


@pytest.mark.parametrize(
    ("pairs_shown", "gold", "percent", "due"),
    [(0, 0, 5, 0), (19, 0, 5, 0), (20, 0, 5, 1), (200, 4, 5, 6), (200, 10, 5, 0), (200, 11, 5, 0), (500, 0, 0, 0)],
)
def test_due(pairs_shown: int, gold: int, percent: int, due: int) -> None:
    assert gold_due(n_shown=pairs_shown, gold=gold, percent=percent) == due


@given(st.lists(st.integers(1, 20), max_size=60), st.integers(0, 50))
def test_the_share_is_met_within_one_pair_and_never_exceeded(rounds: list[int], percent: int) -> None:
    total = gold = 0
    for others in rounds:
        due = gold_due(n_shown=total + others, gold=gold, percent=percent)
        mixed = gold_among(others, due=due)
        assert mixed <= others
        total, gold = total + others + mixed, gold + mixed
        assert gold * 100 <= total * percent
