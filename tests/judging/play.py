"""Judging through the services, for tests that need judged rows."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from accounts.models import Project, User
from judging.models import Assignment, Batch, Flag, Judgment, Pair
from judging.work.selectors.assignments import OpenAssignment, assignment_by_pair
from judging.work.services.assignments import assignment_finish, assignment_return, assignment_take
from judging.work.services.batches import batch_advance
from judging.work.services.judgments import Answer, flag_set, judgment_submit
from tests.factories import NOW, BatchFactory, CandidateFactory, annotator


def pairs_of(batch: Batch) -> list[Pair]:
    """All pairs, best rank first."""
    return list(batch.pairs.order_by("candidate__rank"))


def take(batch: Batch, person: User | None = None, *, now: datetime = NOW) -> Assignment:
    """An assignment of this batch; it must be the one that is due."""
    assignment = assignment_take(project=batch.project, annotator=person or annotator(batch.project), now=now)
    assert assignment is not None
    assert assignment.batch_id == batch.pk
    return assignment


def grade(assignment: Assignment, grades: Sequence[int], *, now: datetime = NOW) -> None:
    """Grade the first pairs that still need it, in order of rank."""
    for pair, value in zip(ungraded(assignment), grades, strict=False):
        give(assignment, pair, value, now=now)


def give(assignment: Assignment, pair: Pair, value: int, *, now: datetime = NOW, **more: Any) -> Answer:
    return judgment_submit(annotator=assignment.annotator, pair_uuid=pair.uuid, grade=value, now=now, **more)


def flag(assignment: Assignment, pair: Pair, *, now: datetime = NOW, **more: Any) -> Answer:
    fields = {"reason": Flag.Reason.BROKEN, **more}
    return flag_set(annotator=assignment.annotator, pair_uuid=pair.uuid, now=now, **fields)


def pairs_by_rank(assignment: Assignment) -> list[Pair]:
    """Return its pairs, best rank first."""
    return list(Pair.objects.filter(pk__in=assignment.pair_ids).order_by("candidate__rank"))


def pairs_in_order(assignment: Assignment) -> list[Pair]:
    """Return its pairs in the order shown."""
    pairs = Pair.objects.in_bulk(assignment.pair_ids)
    return [pairs[pair_id] for pair_id in assignment.pair_ids]


def ungraded(assignment: Assignment) -> list[Pair]:
    graded_ids = set(assignment.judgments.values_list("pair", flat=True))
    return [pair for pair in pairs_by_rank(assignment) if pair.pk not in graded_ids]


def assignment_with(assignment: Assignment, pair: Pair) -> OpenAssignment:
    """Return the open assignment behind the page of this pair."""
    open_assignment = assignment_by_pair(annotator_id=assignment.annotator_id, pair=pair.uuid)
    assert open_assignment is not None
    return open_assignment


def key_of(assignment: Assignment, pair: Pair) -> UUID:
    """The key of the form that would show the pair now."""
    open_assignment = assignment_with(assignment, pair)
    return open_assignment.key_of(open_assignment.pair_views[open_assignment.index_of(pair.uuid)])


def next_pair(answer: Answer) -> int | None:
    """The pair that an answer shows; None for the last look."""
    return None if answer.index is None else answer.assignment.pair_views[answer.index].pair_id


def grade_of(assignment: Assignment, pair: Pair) -> int:
    return Judgment.objects.get(assignment=assignment, pair=pair).grade


def finish(assignment: Assignment, *, now: datetime = NOW) -> bool:
    return assignment_finish(project=assignment.project, annotator=assignment.annotator, now=now)


def give_back(assignment: Assignment, *, now: datetime = NOW) -> bool:
    return assignment_return(project=assignment.project, annotator=assignment.annotator, now=now)


def judge(batch: Batch, grades: Sequence[int], person: User | None = None, *, now: datetime = NOW) -> Assignment:
    """Take, grade and finish one slot; grades by rank of what is asked."""
    assignment = take(batch, person, now=now)
    grade(assignment, grades, now=now)
    finish(assignment, now=now)
    return assignment


def judge_round(batch: Batch, *grades: Sequence[int]) -> None:
    """New people judge the batch's present round, each with these grades, and it is decided."""
    for of_person in grades:
        judge(batch, of_person)
    batch_advance(batch_id=batch.pk)
    batch.refresh_from_db()


def outcomes(batch: Batch) -> list[tuple[str, int | None]]:
    """State and relevance of the pairs by rank."""
    return [(pair.state, pair.relevance) for pair in pairs_of(batch)]


def waiting(project: Project, relevance: int = 0, *, pairs: int = 2, beyond: int = 1) -> Batch:
    """A first batch that waits for a lead's decision: all settled at ``relevance``, some candidates beyond it."""
    batch: Batch = BatchFactory(query__project=project, state="done", pairs=pairs)
    batch.pairs.update(state="settled", relevance=relevance)
    for rank in range(21, 21 + beyond):
        CandidateFactory(query=batch.query, rank=rank)
    return batch
