"""How long a judgment took: what the page measured, as far as it can be true."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from judging.models import Assignment, Judgment
from judging.work.services.judgments import flag_withdraw
from tests.factories import NOW, BatchFactory, annotator
from tests.judging import play
from tests.judging.play import key_of, pairs_in_order

pytestmark = pytest.mark.django_db


def handed_out(pairs: int = 3, **person: Any) -> Assignment:
    """An assignment taken at ``NOW``."""
    batch = BatchFactory(pairs=pairs)
    assignment = play.take(batch, annotator(batch.project, **person))
    Assignment.objects.filter(pk=assignment.pk).update(created_at=NOW)
    return assignment


def at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def give(assignment: Assignment, index: int, grade: int, second: float, **more: Any) -> None:
    play.give(assignment, pairs_in_order(assignment)[index], grade, now=at(second), **more)


def times(assignment: Assignment) -> list[int | None]:
    return list(assignment.judgments.order_by("position").values_list("active_ms", flat=True))


def test_the_time_measured_by_the_page_is_saved() -> None:
    assignment = handed_out()
    give(assignment, 0, 3, 20, active_ms=8_000)
    assert times(assignment) == [8_000]


def test_without_a_measure_the_time_since_the_last_word_counts() -> None:
    assignment = handed_out()
    give(assignment, 0, 3, 20)
    give(assignment, 1, 3, 27)
    assert times(assignment) == [20_000, 7_000]


def test_no_more_is_believed_than_has_passed_since_the_last_grade() -> None:
    assignment = handed_out()
    give(assignment, 0, 3, 20, active_ms=90_000)
    give(assignment, 1, 3, 27, active_ms=90_000)
    assert times(assignment) == [20_000, 7_000]


def test_a_flag_and_its_end_are_words_too() -> None:
    assignment = handed_out()
    play.flag(assignment, pairs_in_order(assignment)[0], now=at(30))
    give(assignment, 1, 3, 35)
    flag_withdraw(annotator=assignment.annotator, pair_uuid=pairs_in_order(assignment)[0].uuid, now=at(60))
    give(assignment, 0, 1, 64)
    assert times(assignment) == [4_000, 5_000]


def test_a_change_adds_its_time_and_is_a_word() -> None:
    assignment = handed_out()
    give(assignment, 0, 3, 20)
    give(assignment, 0, 2, 26, active_ms=5_000)
    give(assignment, 1, 2, 30, active_ms=60_000)
    assert times(assignment) == [25_000, 4_000]


def test_the_same_grade_again_adds_nothing() -> None:
    assignment = handed_out()
    give(assignment, 0, 3, 20)
    for second in (30, 40, 50):
        give(assignment, 0, 3, second, comment=f"at {second}")
    assert times(assignment) == [20_000]


def test_a_form_sent_twice_counts_once() -> None:
    assignment = handed_out()
    key = key_of(assignment, pairs_in_order(assignment)[0])
    for second in (10, 60):
        give(assignment, 0, 3, second, key=key, active_ms=9_000)
    assert times(assignment) == [9_000]


def test_an_answer_queued_offline_carries_its_time() -> None:
    assignment = handed_out()
    give(assignment, 0, 3, 600, active_ms=12_000)
    assert times(assignment) == [12_000]


def test_a_program_says_how_long_a_person_would_have_taken() -> None:
    assignment = handed_out(is_simulated=True)
    give(assignment, 0, 3, 0.1, active_ms=17_000)
    give(assignment, 1, 3, 0.2)
    assert times(assignment) == [17_000, 100]


WORDS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 400), st.none() | st.integers(0, 10**6)), max_size=8
)


class TestOfManyWords(TestCase):
    @settings(max_examples=15)
    @given(words=WORDS)
    def test_an_assignment_takes_no_longer_than_its_lease(self, words: list[tuple[int, int, int, int | None]]) -> None:
        assignment, second = handed_out(), 0
        for index, grade, pause, measured in words:
            second += pause
            if second < 20 * 60:
                Assignment.objects.filter(pk=assignment.pk).update(expires_at=at(10_000))
                give(assignment, index, grade, second, active_ms=measured)
        spent = sum(Judgment.objects.filter(assignment=assignment).values_list("active_ms", flat=True))
        assert spent <= second * 1000
