"""Taking slots and sending grades, for tests of services."""

from collections.abc import Iterable
from datetime import datetime

from accounts.models import Project, User
from judging.models import Assignment, Batch, Flag, Judgment, JudgmentChange, Pair
from judging.work.services.assignments import assignment_take
from judging.work.services.batches import batch_advance
from judging.work.services.judgments import Answer, flag_withdraw
from tests.factories import MINUTES, NOW, AssignmentFactory, BatchFactory, QueryFactory, annotator
from tests.judging.play import finish, grade

State = Assignment.State
LATE = NOW + 20 * MINUTES  # the first instant at which a lease of 20 minutes has run out
SECOND = MINUTES / 60


def take_next(project: Project, person: User | None = None) -> Assignment | None:
    return assignment_take(project=project, annotator=person or annotator(project), now=NOW)


def batches(project: Project, n: int, **values: object) -> list[Batch]:
    return [BatchFactory(query=QueryFactory(project=project), **values) for _ in range(n)]


def turns(project: Project, people: Iterable[User]) -> list[Batch | None]:
    """Return the batch each takes, in turn."""
    assignments = [take_next(project, person) for person in people]
    return [assignment.batch if assignment else None for assignment in assignments]


def state_of(assignment: Assignment) -> str:
    return Assignment.objects.get(pk=assignment.pk).state


def free_slots_of(batch: Batch) -> int:
    return Batch.objects.get(pk=batch.pk).free_slots


def escalate(batch: Batch) -> None:
    """A first round that ends far apart on the first pair, whatever else is waiting."""
    for slot, grades in ((1, [0, 1]), (2, [4, 1])):
        assignment = AssignmentFactory(batch=batch, slot=slot)
        grade(assignment, grades)
        finish(assignment)
    batch_advance(batch_id=batch.pk)


def minute(n: int) -> datetime:
    return NOW + n * MINUTES


def assignment_with(pairs: int) -> Assignment:
    return AssignmentFactory(batch=BatchFactory(pairs=pairs))  # type: ignore[no-any-return]


def withdraw(pair: Pair) -> None:
    Pair.objects.filter(pk=pair.pk).update(state="withdrawn", reason="withdrawn_by_lead")


def unflag(assignment: Assignment, pair: Pair, *, now: datetime = NOW) -> Answer:
    return flag_withdraw(annotator=assignment.annotator, pair_uuid=pair.uuid, now=now)


def everything() -> list[object]:
    """All that a submit may write."""
    return [list(model.objects.order_by("pk").values()) for model in (Assignment, Judgment, JudgmentChange, Flag)]  # type: ignore[attr-defined]
