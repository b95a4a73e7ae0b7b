"""When a second batch is suggested."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.review.rules import TAIL, suggest

relevances = st.lists(st.none() | st.integers(0, 4), max_size=20)


@pytest.mark.parametrize(
    ("relevance", "from_mean", "extend", "words"),
    [
        ([4] * 15 + [2, 2, 2, 2, 2], 2.0, True, "last 5 settled pairs average 2.00, at least 2."),
        ([4] * 15 + [2, 2, 2, 2, 1], 2.0, False, "last 5 settled pairs average 1.80, below 2."),
        ([0] * 15 + [4, 4, 4, 4, 4], 4.0, True, "average 4.00, at least 4."),
        ([0, 3, 3, 3, 3, 3, None, None], 3.0, True, "last 5 settled pairs average 3.00"),
        ([None, 3, None, 1], 2.0, True, "last 2 settled pairs average 2.00"),
        ([0], 0.0, True, "last 1 settled pairs average 0.00"),
        ([None, None], 0.0, False, "No pair was settled."),
        ([], 0.0, False, "No pair was settled."),
    ],
)
def test_suggestion(relevance: list[int | None], from_mean: float, extend: bool, words: str) -> None:
    suggestion = suggest(relevance, from_mean=from_mean)
    assert suggestion.extend is extend
    assert words in suggestion.reason


@pytest.mark.parametrize(("relevance", "words"), [([4] * 20, "no candidate lies beyond"), ([0] * 20, "below 2.")])
def test_nothing_is_extended_without_further_candidates(relevance: list[int | None], words: str) -> None:
    suggestion = suggest(relevance, from_mean=2.0, further=False)
    assert suggestion.extend is False
    assert words in suggestion.reason


@given(relevances, relevances, st.floats(0, 4))
def test_only_the_last_five_settled_count(before: list[int | None], tail: list[int | None], from_mean: float) -> None:
    if sum(value is not None for value in tail) >= TAIL:
        assert suggest([*before, *tail], from_mean=from_mean) == suggest(tail, from_mean=from_mean)


@given(relevances, st.floats(0, 4), st.floats(0, 4))
def test_a_lower_threshold_never_takes_a_suggestion_back(relevance: list[int | None], one: float, other: float) -> None:
    low, high = sorted([one, other])
    assert suggest(relevance, from_mean=low).extend >= suggest(relevance, from_mean=high).extend
