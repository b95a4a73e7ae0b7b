"""Assignments and the grades given in them."""

import logging
from datetime import datetime
from random import SystemRandom

from django.db import IntegrityError, transaction
from django.db.models import OuterRef, Subquery

from annotation.messages import send_on_commit
from annotation.models import Project, User
from judging import selectors
from judging.exceptions import AssignmentIncomplete, JudgingError, LeaseLost, NotAssigned
from judging.models import Assignment, Batch, Judgment, JudgmentChange, Pair
from judging.rules.consensus import GRADES
from judging.rules.leasing import Seat, lease_until, next_seat
from judging.services.batches import ADVANCE_TASK
from judging.services.policies import Versions, policy_in_force, versions_in_force

logger = logging.getLogger(__name__)
TAKES = 5  # how often to look again when somebody else was faster
RUN_OUT = "Your time on this batch has run out; the grades you gave are kept."


def assignment_take(*, project: Project, annotator: User, now: datetime) -> Assignment | None:
    """The annotator's open assignment, or a new one; None when nothing is left for them."""
    assignments_sweep(now=now, project=project)
    for _ in range(TAKES):
        held = selectors.open_assignment(project=project, annotator=annotator)
        if held:
            return held
        seat = next_seat(selectors.free_seats(project=project, annotator=annotator))
        if seat is None:
            return None
        try:
            taken = _seat_take(project, annotator, seat, now)
        except IntegrityError:
            continue  # this annotator's second tab was faster
        if taken:
            return taken
    return None


@transaction.atomic
def _seat_take(project: Project, annotator: User, seat: Seat, now: datetime) -> Assignment | None:
    """An assignment on this seat; None when it was taken while we looked."""
    batch = Batch.objects.select_for_update().get(pk=seat.batch_id)
    if not any(
        free[:3] == seat[:3] for free in selectors.free_seats(project=project, annotator=annotator, batch=batch)
    ):
        return None
    return Assignment.objects.create(
        project=project,
        batch=batch,
        round=seat.round,
        seat=seat.number,
        annotator=annotator,
        shuffle_seed=SystemRandom().randrange(2**31),
        expires_at=lease_until(now, minutes=policy_in_force(project.pk).lease_minutes),
    )


def judgment_submit(*, assignment: Assignment, pair: Pair, grade: int, now: datetime) -> Judgment:
    """Record one grade, or change it while the assignment is open.

    Renewing the lease locks the assignment until commit, so a sweep cannot take it away in between.

    Raises:
        ValueError: the grade is outside 0..4.
        LeaseLost: the assignment has ended or its time has run out.
        NotAssigned: the pair is not one this assignment asks for.
        JudgingError: somebody else's grade holds this place.
    """
    if grade not in GRADES:
        raise ValueError(f"a grade is 0 to 4, got {grade}")
    try:
        with transaction.atomic():
            return _judgment_write(assignment, pair, grade, now)
    except IntegrityError as error:
        raise JudgingError("This pair has been graded already.") from error


def _judgment_write(assignment: Assignment, pair: Pair, grade: int, now: datetime) -> Judgment:
    versions = versions_in_force(assignment.project_id)
    _lease_renew(assignment, until=lease_until(now, minutes=versions.lease_minutes), now=now)
    given = assignment.judgments.filter(pair=OuterRef("pk")).values("pk")
    found = selectors.pairs_asked(assignment).filter(pk=pair.pk).values_list(Subquery(given)).first()
    if found is None:
        raise NotAssigned("This pair is not in your batch.")
    if found[0] is None:
        return _judgment_create(assignment, pair, grade, versions)
    judgment = Judgment.objects.get(pk=found[0])
    if judgment.grade != grade:
        JudgmentChange.objects.create(judgment=judgment, from_grade=judgment.grade, to_grade=grade)
        judgment.grade, judgment.policy_id, judgment.guideline_id = grade, versions.policy_id, versions.guideline_id
        judgment.save(update_fields=["grade", "policy", "guideline"])
    return judgment


def _lease_renew(assignment: Assignment, *, until: datetime, now: datetime) -> None:
    """Claim the open assignment until ``until``; the row stays locked until commit."""
    held = Assignment.objects.filter(pk=assignment.pk, state=Assignment.State.OPEN, expires_at__gt=now)
    if held.update(expires_at=until):
        return
    if Assignment.objects.get(pk=assignment.pk).state == Assignment.State.FINISHED:
        raise LeaseLost("You have finished this batch; its grades are final.")
    raise LeaseLost(RUN_OUT)


def _judgment_create(held: Assignment, pair: Pair, grade: int, versions: Versions) -> Judgment:
    return Judgment.objects.create(
        pair=pair,
        assignment=held,
        annotator=held.annotator,
        round=held.round,
        seat=held.seat,
        grade=grade,
        source=Judgment.Source.SIMULATED if held.annotator.is_simulated else Judgment.Source.PERSON,
        guideline_id=versions.guideline_id,
        policy_id=versions.policy_id,
    )


@transaction.atomic
def assignment_finish(*, assignment: Assignment, now: datetime) -> None:
    """Make the assignment's grades final and wake the task that decides its batch.

    Raises:
        LeaseLost: its time has run out.
        AssignmentIncomplete: a pair has no grade yet.
    """
    held = Assignment.objects.select_for_update().get(pk=assignment.pk)
    if held.state == Assignment.State.FINISHED:
        return  # the other tab
    if held.state == Assignment.State.LAPSED or held.expires_at <= now:
        raise LeaseLost(RUN_OUT)
    if selectors.pairs_ungraded(held).exists():
        raise AssignmentIncomplete("Some pairs of this batch still need a grade.")
    _assignment_end(held, state=Assignment.State.FINISHED, now=now)


def _assignment_end(held: Assignment, *, state: Assignment.State, now: datetime) -> None:
    held.state, held.ended_at = state, now
    held.save(update_fields=["state", "ended_at"])
    logger.info("assignment %s of batch %s: %s", held.pk, held.batch_id, state)
    send_on_commit(ADVANCE_TASK, held.batch_id)


def assignments_sweep(*, now: datetime, project: Project | None = None) -> int:
    """End every lease that has run out: its grades are final, its other pairs are free again."""
    overdue = Assignment.objects.filter(state=Assignment.State.OPEN, expires_at__lte=now)
    if project:
        overdue = overdue.filter(project=project)
    ended = 0
    for assignment_id in list(overdue.values_list("pk", flat=True)):
        with transaction.atomic():
            held = overdue.select_for_update(skip_locked=True).filter(pk=assignment_id).first()
            if held:
                _assignment_end(held, state=Assignment.State.LAPSED, now=now)
                ended += 1
    return ended
