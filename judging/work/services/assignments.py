"""Assignments: handed out, renewed, finished, given back, and ended when their time has run out."""

import logging
from datetime import datetime
from secrets import randbelow

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Least

from accounts.models import Membership, Project, User
from annotation.models import TopicVersion
from core import clock
from core.jobs import durable
from core.messages import send_on_commit
from core.sql import row_first
from judging.exceptions import AssignmentIncomplete, GuidelineUnconfirmed, LeaseLost, NotQualified, WarmUpDue
from judging.guidelines.selectors import policy_in_force
from judging.models import Assignment, Batch, Policy
from judging.qualification.services.exam_attempts import WarmUp, warm_up_due
from judging.quality.services import gold_batch_for, gold_for, gold_slot
from judging.work.rules import LEAVING, free_slots, lease_until, rules_of, shuffled, slot_for, to_be_decided
from judging.work.selectors import assignments as selectors
from judging.work.selectors.assignments import OpenAssignment, batch_to_be_taken
from judging.work.services.batches import ADVANCE_TASK, flagged_withdraw, slots_count

logger = logging.getLogger(__name__)
SEEDS = 2**31
TAKES = 50  # how often to look again when somebody else was faster, or a batch had claimed a slot it has not
HURRIED = 4  # of these pass over what others are just taking; the rest wait their turn
LOCKED = "WHERE id = %s FOR UPDATE"
RUN_OUT = "Your time on this batch has run out; the grades you gave are kept."
FINISHED = "You have finished this batch; its grades are final."
RETURNED = "You have given this batch back; the grades you gave are kept."


def assignment_take(*, project: Project, annotator: User, now: datetime | None = None) -> Assignment | None:
    """The annotator's open assignment, or a new one; None when nothing is left for them.

    Raises:
        NotQualified: they have not come so far, are suspended, or left.
        GuidelineUnconfirmed: there is a version of the guideline that they have not confirmed.
        WarmUpDue: the session begins with pairs of known truth.
    """
    now = now or clock.now()
    readiness = _ready_or_refused(project, annotator, now)
    policy = policy_in_force(project.pk)
    begins = policy.warm_up and selectors.open_assignment(project_id=project.pk, annotator=annotator) is None
    if begins and warm_up_due(project=project, annotator=annotator, policy=policy, now=now) == WarmUp.DUE:
        raise WarmUpDue("Your session begins with a warm-up of a few pairs. Your desk leads you to it.")
    if readiness.some_lapsed:
        assignments_sweep(now=now, project=project)
    for attempt in range(TAKES):
        assignment = selectors.open_assignment(project_id=project.pk, annotator=annotator)
        if assignment:
            return assignment
        try:
            new_assignment = _next_batch_take(project, annotator, policy, now, hurry=attempt < HURRIED)
        except IntegrityError:  # this annotator's second tab was faster, or a lead has just suspended them
            _ready_or_refused(project, annotator, now)
            continue
        if new_assignment:
            return new_assignment
        if not selectors.work_waits(project_id=project.pk, annotator_id=annotator.pk):
            return None
    return None


def _ready_or_refused(project: Project, annotator: User, now: datetime) -> selectors.Readiness:
    ready = selectors.readiness(project_id=project.pk, annotator_id=annotator.pk, now=now)
    if ready.status != Membership.Status.QUALIFIED:
        raise NotQualified("Only qualified annotators are handed batches; your desk says what comes next for you.")
    if not ready.confirmed:
        raise GuidelineUnconfirmed("The guideline has a version you have not confirmed. Read it, then go on.")
    return ready


@transaction.atomic
def assignment_take_of(*, batch: Batch, annotator: User, now: datetime) -> Assignment | None:
    """A slot of this very batch; None when none is free that the annotator may take."""
    return _slot_take(batch.pk, annotator, policy_in_force(batch.project_id), now)


@transaction.atomic
def _next_batch_take(
    project: Project, annotator: User, policy: Policy, now: datetime, *, hurry: bool
) -> Assignment | None:
    """A slot of the batch whose turn it is; None when there is none, or a faster one has it. ``hurry`` passes over
    batches that somebody else is just taking, so that takers do not queue."""
    batch_id = batch_to_be_taken(project_id=project.pk, annotator_id=annotator.pk, lock=hurry)
    if batch_id is None:
        return None
    return _gold_take(project, annotator, policy, now) or _slot_take(batch_id, annotator, policy, now)


def _gold_take(project: Project, annotator: User, policy: Policy, now: datetime) -> Assignment | None:
    """A finished batch again, whose truth is known, when so much gold is due to the annotator."""
    gold_batch = gold_batch_for(project, annotator, policy=policy)
    if gold_batch is None or selectors.open_assignment(project_id=project.pk, annotator=annotator):
        return None
    batch, gold = gold_batch
    return _assign(batch, annotator, round=1, slot=gold_slot(batch), others=[], gold=gold, policy=policy, now=now)


def _slot_take(batch_id: int, annotator: User, policy: Policy, now: datetime) -> Assignment | None:
    """An assignment on the first slot of the batch that fits; the batch's count of free slots is corrected."""
    batch = row_first(Batch, LOCKED, batch_id)
    if batch is None:
        return None  # a lead has just taken back its being opened
    if selectors.open_assignment(project_id=batch.project_id, annotator=annotator):
        return None  # their other tab was faster, and a third may be ending that one: it waits for us, so not we for it
    pairs = selectors.pairs_requested(batch_id=batch.pk, annotator_id=annotator.pk)
    taken_slots, slots = selectors.slots_taken(batch.pk), rules_of(batch).slots
    offer = slot_for(pairs, taken_slots=taken_slots, slots=slots) if batch.state == Batch.State.OPEN else None
    if offer is None:
        slots_count(batch, pairs, taken_slots)
        return None
    slot, pair_ids = offer
    gold = gold_for(batch, annotator, others=len(pair_ids), policy=policy, seed=randbelow(SEEDS))
    assignment = _assign(
        batch, annotator, round=batch.round, slot=slot, others=pair_ids, gold=gold, policy=policy, now=now
    )
    batch.begun = True
    batch.free_slots = len(free_slots(pairs, taken_slots=[*taken_slots, slot], slots=slots))
    batch.save(update_fields=["begun", "free_slots"])
    return assignment


def _assign(
    batch: Batch,
    annotator: User,
    *,
    round: int,
    slot: int,
    others: list[int],
    gold: list[int],
    policy: Policy,
    now: datetime,
) -> Assignment:
    seed = randbelow(SEEDS)
    return Assignment.objects.create(
        project_id=batch.project_id,
        batch=batch,
        round=round,
        slot=slot,
        annotator=annotator,
        shuffle_seed=seed,
        pair_ids=shuffled([*others, *gold], seed=seed),
        gold_ids=gold,
        topic_version=TopicVersion.objects.filter(topic=batch.query_id).order_by("-version").first(),
        expires_at=lease_until(now, minutes=policy.lease_minutes),
    )


def assignment_renew(*, project: Project, annotator: User, now: datetime) -> datetime:
    """Start the lease anew, as a page that is open does now and then; returns when it will end. Raises LeaseLost: there
    is none, or its time has run out."""
    until = lease_until(now, minutes=policy_in_force(project.pk).lease_minutes)
    if not _running(annotator, now).filter(project=project).update(expires_at=until):
        raise LeaseLost(RUN_OUT)
    return until


def assignment_leave(*, annotator: User, now: datetime, project: Project | None = None) -> None:
    """The page was closed: keep the assignment only so long that a reload, or a change of mind, finds it. Without a
    project, the annotator logged out: as if every page of theirs was closed."""
    running = _running(annotator, now)
    running = running.filter(project=project) if project else running
    running.update(expires_at=Least(F("expires_at"), now + LEAVING))


def _running(annotator: User, now: datetime) -> QuerySet[Assignment]:
    return Assignment.objects.filter(annotator=annotator, state=Assignment.State.OPEN, expires_at__gt=now)


@transaction.atomic
def assignment_finish(*, project: Project, annotator: User, now: datetime | None = None) -> bool:
    """Make the grades of what the annotator holds final; False when they hold nothing (the other tab was faster).
    Raises LeaseLost: its time has run out; AssignmentIncomplete: a pair has neither grade nor flag."""
    assignment = selectors.current_assignment(annotator_id=annotator.pk, project_id=project.pk, lock=True)
    if assignment is None or assignment.state == Assignment.State.FINISHED:
        return False
    running_or_refused(assignment, now or clock.now())
    pairs_left = len(assignment.pair_views) - assignment.answered
    if pairs_left:
        pairs = "One pair still needs" if pairs_left == 1 else f"{pairs_left} pairs still need"
        raise AssignmentIncomplete(f"{pairs} a grade or a flag.")
    _end(assignment.assignment_id, assignment.batch_id, state=Assignment.State.FINISHED, now=now or clock.now())
    return True


@transaction.atomic
def assignment_return(*, project: Project, annotator: User, now: datetime | None = None) -> bool:
    """Give back what the annotator holds: their grades are final, the other pairs go to somebody else at once."""
    assignments = Assignment.objects.select_for_update().filter(
        project=project, annotator=annotator, state=Assignment.State.OPEN
    )
    assignment = assignments.first()
    if assignment is None:
        return False
    _end(assignment.pk, assignment.batch_id, state=Assignment.State.RETURNED, now=now or clock.now())
    return True


def running_or_refused(assignment: OpenAssignment, now: datetime) -> None:
    """Raises LeaseLost unless the assignment is open and its time has not run out."""
    if assignment.is_open and assignment.expires_at > now:
        return
    messages = {Assignment.State.FINISHED: FINISHED, Assignment.State.RETURNED: RETURNED}
    raise LeaseLost(messages.get(Assignment.State(assignment.state), RUN_OUT))


def _end(assignment_id: int, batch_id: int, *, state: Assignment.State, now: datetime) -> None:
    """End a locked assignment; where that completes the round of some pair, wake the task that decides it."""
    Assignment.objects.filter(pk=assignment_id).update(state=state, ended_at=now)
    logger.info("assignment %s of batch %s: %s", assignment_id, batch_id, state)
    batch = row_first(Batch, LOCKED, batch_id)
    if batch is None:
        raise Batch.DoesNotExist
    pairs = flagged_withdraw(batch)
    taken_slots = selectors.slots_taken(batch_id)
    slots_count(batch, pairs, taken_slots)
    if to_be_decided(pairs, taken_slots=taken_slots, slots=rules_of(batch).slots):
        send_on_commit(ADVANCE_TASK, batch_id)


@durable("judging.tasks.assignments_sweep", autoretry_for=())
def assignments_sweep(*, now: datetime | None = None, project: Project | None = None) -> int:
    """End every lease that has run out: its grades are final, its other pairs are free again. No ``JobKind``: a
    person works on an assignment, and its time is over whatever they do."""
    now = now or clock.now()
    overdue = Assignment.objects.filter(state=Assignment.State.OPEN, expires_at__lte=now)
    if project:
        overdue = overdue.filter(project=project)
    ended = 0
    for assignment_id in list(overdue.values_list("pk", flat=True)):
        with transaction.atomic():
            assignment = overdue.select_for_update(skip_locked=True).filter(pk=assignment_id).first()
            if assignment:
                _end(assignment.pk, assignment.batch_id, state=Assignment.State.LAPSED, now=now)
                ended += 1
    return ended
