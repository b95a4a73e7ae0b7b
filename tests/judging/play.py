"""Judging through the services, for tests that need judged rows."""

from collections.abc import Sequence
from datetime import datetime

from annotation.models import User
from judging import selectors
from judging.models import Assignment, Batch, Pair
from judging.services.assignments import assignment_finish, assignment_take, judgment_submit
from judging.services.batches import batch_advance
from tests.factories import NOW, annotator


def pairs_of(batch: Batch) -> list[Pair]:
    """All pairs, best rank first."""
    return list(batch.pairs.order_by("candidate__rank"))


def take(batch: Batch, person: User | None = None, *, now: datetime = NOW) -> Assignment:
    """An assignment of this batch; it must be the one that is due."""
    taken = assignment_take(project=batch.project, annotator=person or annotator(batch.project), now=now)
    assert taken is not None
    assert taken.batch_id == batch.pk
    return taken


def grade(assignment: Assignment, grades: Sequence[int], *, now: datetime = NOW) -> None:
    """Grade the first pairs that still need it, in order of rank."""
    left = list(selectors.pairs_ungraded(assignment).order_by("candidate__rank"))
    for pair, value in zip(left, grades, strict=False):
        judgment_submit(assignment=assignment, pair=pair, grade=value, now=now)


def judge(batch: Batch, grades: Sequence[int], person: User | None = None, *, now: datetime = NOW) -> Assignment:
    """Take, grade and finish one seat; grades by rank of what is asked."""
    taken = take(batch, person, now=now)
    grade(taken, grades, now=now)
    assignment_finish(assignment=taken, now=now)
    return taken


def judge_round(batch: Batch, first: Sequence[int], second: Sequence[int]) -> None:
    """Two new people judge the batch's present round, and it is decided."""
    judge(batch, first)
    judge(batch, second)
    batch_advance(batch_id=batch.pk)
    batch.refresh_from_db()


def outcomes(batch: Batch) -> list[tuple[str, int | None]]:
    """State and relevance of the pairs by rank."""
    return [(pair.state, pair.relevance) for pair in pairs_of(batch)]
