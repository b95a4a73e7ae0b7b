"""Complete pairs are decided, even where the rest of the round waits for somebody."""

import pytest

from judging.models import Assignment, Batch
from judging.work.services.assignments import assignment_return
from judging.work.services.batches import batches_sweep
from tests.conftest import Messages
from tests.factories import NOW, BatchFactory
from tests.judging.play import grade, judge, judge_round, outcomes, take

pytestmark = pytest.mark.django_db


def give_back(assignment: Assignment) -> None:
    assignment_return(project=assignment.project, annotator=assignment.annotator, now=NOW)


def graded_in_part_and_given_back(batch: Batch) -> None:
    """Two people who sit there together grade the best pair only."""
    both = [take(batch), take(batch)]
    for assignment, value in zip(both, (3, 4), strict=True):
        grade(assignment, [value])
    for assignment in both:
        give_back(assignment)


def test_given_back_pairs_hold_nobody_up(messages: Messages) -> None:
    batch = BatchFactory(pairs=2)
    with messages():
        graded_in_part_and_given_back(batch)
    assert outcomes(batch) == [("settled", 4), ("open", None)]


def test_second_round_is_decided_in_part(messages: Messages) -> None:
    batch = BatchFactory(pairs=3)
    judge_round(batch, [0, 0, 2], [4, 4, 2])
    with messages():
        graded_in_part_and_given_back(batch)
    assert outcomes(batch) == [("settled", 4), ("escalated", None), ("settled", 2)]


def test_sweep_finds_what_a_lost_message_left() -> None:
    batch = BatchFactory(pairs=2)
    graded_in_part_and_given_back(batch)
    assert outcomes(batch) == [("open", None), ("open", None)]
    batches_sweep()
    assert outcomes(batch) == [("settled", 4), ("open", None)]


def test_sweep_leaves_alone_what_somebody_sits_at() -> None:
    batch = BatchFactory(pairs=2)
    graded_in_part_and_given_back(batch)
    take(batch)
    batches_sweep()
    assert outcomes(batch) == [("open", None), ("open", None)]


def test_first_of_two_decides_nothing(messages: Messages) -> None:
    batch = BatchFactory(pairs=1)
    with messages() as task_messages:
        judge(batch, [3])
    assert not task_messages and outcomes(batch) == [("open", None)]
