"""How a sitting goes on and ends: handed in, brought back for feedback, done."""

import logging
from datetime import datetime
from uuid import UUID

from django.db import transaction

from annotation.exceptions import NotPossible
from annotation.messages import send_on_commit
from annotation.models import Membership, Project, User
from annotation.services.audit import audit_record
from judging import selectors
from judging.exceptions import AssignmentIncomplete, NotAnnotator, NotAssigned, NotPossibleNow, SittingOver
from judging.models import Sitting
from judging.selectors.sittings import Sat
from judging.services.way import way_advance

logger = logging.getLogger(__name__)
REPORT_TASK = "judging.tasks.sitting_report"
State = Sitting.State


@transaction.atomic
def sitting_hand_in(*, annotator: User, sitting: UUID, now: datetime) -> Sat:
    """Make the first grades of an exam final. A first cohort then waits for all; others get their feedback at once.

    Repeating it changes nothing.

    Raises:
        NotAssigned: it is nobody's or somebody else's.
        SittingOver: the exam was closed before.
        AssignmentIncomplete: a pair has no grade yet.
    """
    sat = selectors.sitting_of(annotator_id=annotator.pk, sitting=sitting, lock=True)
    if sat is None:
        raise NotAssigned("This sitting is not yours.")
    if sat.state == State.MISSED:
        raise SittingOver("The exam was closed before you had given all grades.")
    if not sat.may_change:
        return sat
    if not sat.judges:
        raise NotAnnotator("You are not among the project's active annotators now.")
    if sat.left:
        raise AssignmentIncomplete(f"{sat.left} pair{' still needs' if sat.left == 1 else 's still need'} a grade.")
    return sitting_move(sat, handed_in(sat), now=now)


@transaction.atomic
def missed_exam_count(*, sitting: Sitting, actor: User, counts: bool, reason: str) -> Sitting:
    """Let a missed exam count as an attempt, or let it count no more. Repeating it changes nothing.

    Raises:
        NotPossible: the sitting is no missed exam, or no reason is given.
        NotPossibleNow: its annotator sits an exam, whose attempt is allowed already.
    """
    if not reason.strip():
        raise NotPossible("Say why: the reason is kept in the audit.")
    member = Membership.objects.select_for_update(no_key=True).filter(
        project=sitting.project_id, user=sitting.annotator_id
    )
    numbers = list(member.values_list("number", flat=True))  # locked: nobody starts a sitting meanwhile
    held = Sitting.objects.select_for_update(of=("self",)).select_related("project", "exam").get(pk=sitting.pk)
    if held.purpose != Sitting.Purpose.EXAM or held.state != State.MISSED:
        raise NotPossible("Only an exam that was missed is counted or not by a lead.")
    if held.missed_counts == counts:
        return held
    going = Sitting.objects.filter(project=held.project_id, annotator=held.annotator_id, purpose=held.purpose)
    if going.filter(ended_at__isnull=True).exists():
        raise NotPossibleNow("This person sits an exam now; decide when that is over.")
    held.missed_counts = counts
    held.save(update_fields=["missed_counts"])
    audit_record(
        project=held.project,
        actor=actor,
        action="exam.missed_counts" if counts else "exam.missed_counts_not",
        subject=held.uuid,
        exam=held.exam.number if held.exam else None,
        annotator=numbers[0] if numbers else None,
        reason=reason.strip()[:1000],
    )
    logger.info("missed sitting %s counts: %s", held.pk, counts)
    return held


@transaction.atomic
def sitting_settle(*, sitting_id: int, now: datetime) -> Sat:
    """End a sitting that asks for nothing more; a repeat finds it ended."""
    sat = selectors.sitting_by_id(sitting_id=sitting_id, lock=True)
    over = sat.tells_at_once and sat.is_open and not sat.left
    if over or (sat.in_feedback and not sat.still_misaligned):
        return sitting_move(sat, State.DONE, now=now)
    return sat


def handed_in(sat: Sat) -> State:
    """What an exam's sitting becomes with its last first grade."""
    if sat.is_cohort and sat.exam_state != "closed":
        return State.WAITING
    return State.FEEDBACK if sat.still_misaligned else State.DONE


def sitting_move(sat: Sat, state: State, *, now: datetime) -> Sat:
    """Bring a locked sitting into ``state``; reports and the next step of its annotator follow from it."""
    values: dict[str, object] = {"state": state}
    if sat.is_open and state != State.MISSED:
        values["graded_at"] = now
    if state in (State.DONE, State.MISSED):
        values["ended_at"] = now
    Sitting.objects.filter(pk=sat.sitting_id).update(**values)
    logger.info("sitting %s: %s to %s", sat.sitting_id, sat.state, state)
    if sat.purpose == Sitting.Purpose.EXAM and state in (State.FEEDBACK, State.DONE):
        send_on_commit(REPORT_TASK, sat.sitting_id)
    if sat.purpose == Sitting.Purpose.TUTORIAL and state == State.DONE:
        way_advance(project=Project.objects.get(pk=sat.project_id), annotator=User.objects.get(pk=sat.annotator_id))
    return sat.in_state(state)
