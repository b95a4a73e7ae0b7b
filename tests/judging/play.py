"""Judging through the services, for tests that need judged rows."""

from collections.abc import Sequence
from datetime import datetime

from annotation.models import User
from judging.models import Assignment, Batch, Pair
from judging.services.assignments import assignment_finish, assignment_take
from judging.services.batches import batch_advance
from judging.services.judgments import Answer, judgment_submit
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
    for pair, value in zip(ungraded(assignment), grades, strict=False):
        give(assignment, pair, value, now=now)


def give(assignment: Assignment, pair: Pair, value: int, *, now: datetime = NOW) -> Answer:
    return judgment_submit(annotator=assignment.annotator, pair_uuid=pair.uuid, grade=value, now=now)


def asked(assignment: Assignment) -> list[Pair]:
    """What it asks for, best rank first."""
    return list(Pair.objects.filter(pk__in=assignment.pair_ids).order_by("candidate__rank"))


def ungraded(assignment: Assignment) -> list[Pair]:
    given = set(assignment.judgments.values_list("pair", flat=True))
    return [pair for pair in asked(assignment) if pair.pk not in given]


def finish(assignment: Assignment, *, now: datetime = NOW) -> bool:
    return assignment_finish(project=assignment.project, annotator=assignment.annotator, now=now)


def judge(batch: Batch, grades: Sequence[int], person: User | None = None, *, now: datetime = NOW) -> Assignment:
    """Take, grade and finish one seat; grades by rank of what is asked."""
    taken = take(batch, person, now=now)
    grade(taken, grades, now=now)
    finish(taken, now=now)
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
