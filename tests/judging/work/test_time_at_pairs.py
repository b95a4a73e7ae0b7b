"""How long a judgment took: what the page measured, as far as it can be true."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from judging.models import Assignment
from judging.work.services.judgments import flag_withdraw
from tests.factories import NOW, BatchFactory, annotator
from tests.judging import play
from tests.judging.play import pairs_in_order

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


@pytest.mark.parametrize(
    ("steps", "milliseconds"),  # index of the pair, grade, second, what the page measured
    [
        ([(0, 3, 20, 8_000)], [8_000]),
        ([(0, 3, 20, None), (1, 3, 27, None)], [20_000, 7_000]),  # without a measure the time since the last word
        ([(0, 3, 20, 90_000), (1, 3, 27, 90_000)], [20_000, 7_000]),  # no more than has passed since then
        ([(0, 3, 20, None), (0, 2, 26, 5_000), (1, 2, 30, 60_000)], [25_000, 4_000]),  # a change adds its time
        ([(0, 3, 20, None), (0, 3, 30, 5_000), (0, 3, 40, None)], [20_000]),  # the same grade again adds nothing
    ],
)
def test_times(steps: list[tuple[int, int, float, int | None]], milliseconds: list[int]) -> None:
    assignment = handed_out()
    for index, grade, second, measured in steps:
        give(assignment, index, grade, second, active_ms=measured)
    assert times(assignment) == milliseconds


def test_a_flag_and_its_end_are_words_too() -> None:
    assignment = handed_out()
    play.flag(assignment, pairs_in_order(assignment)[0], now=at(30))
    give(assignment, 1, 3, 35)
    flag_withdraw(annotator=assignment.annotator, pair_uuid=pairs_in_order(assignment)[0].uuid, now=at(60))
    give(assignment, 0, 1, 64)
    assert times(assignment) == [4_000, 5_000]


def test_a_program_says_how_long_a_person_would_have_taken() -> None:
    assignment = handed_out(is_simulated=True)
    give(assignment, 0, 3, 0.1, active_ms=17_000)
    give(assignment, 1, 3, 0.2)
    assert times(assignment) == [17_000, 100]
