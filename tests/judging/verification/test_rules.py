"""Samples and shares: what holds for all of them."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.studies.rules import wilson
from judging.verification import rules
from judging.verification.rules import Answer

VALUES = st.lists(st.integers(1, 5), min_size=1, max_size=20)


@given(st.sets(st.integers(), min_size=1, max_size=30), st.integers(0, 2**31), st.data())
def test_a_sample_is_of_its_keys_each_once_whatever_their_order(keys: set[int], seed: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, len(keys)))
    keys_of_sample = rules.sample(keys, n, seed=seed)
    assert len(set(keys_of_sample)) == n and set(keys_of_sample) <= keys
    assert keys_of_sample == rules.sample(data.draw(st.permutations(sorted(keys))), n, seed=seed)


@given(VALUES)
def test_one_answer_a_pair_has_the_score_interval_of_its_counts(values: list[int]) -> None:
    [line] = rules.lines_of(Answer(pair, "", 1, value) for pair, value in enumerate(values))
    hits = sum(value >= 3 for value in values)
    assert line.neutral == (hits / len(values), *wilson(hits, len(values)))
    assert line.counts == tuple(Counter(values)[value] for value in range(1, 6))
    assert line.agree.value <= line.neutral.value


@given(VALUES, st.integers(2, 5))
def test_the_same_answers_of_more_people_do_not_narrow_the_interval(values: list[int], people: int) -> None:
    once = [Answer(pair, "", 1, value) for pair, value in enumerate(values)]
    [single], [several] = rules.lines_of(once), rules.lines_of(once * people)
    assert several.neutral == pytest.approx(single.neutral) and several.answers == people * single.answers
