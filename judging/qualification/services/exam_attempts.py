"""Exam attempts: started, graded, handed in, ended; each stays locked until commit, so closing its exam waits."""

import logging
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from secrets import randbelow
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce, Least

from accounts.models import Membership, Project, User
from annotation.models import Moment
from core import clock
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import JobKind
from judging.exceptions import (
    AssignmentIncomplete,
    AttemptOver,
    FormStale,
    GuidelineUnconfirmed,
    NotAnnotator,
    NotAssigned,
    NotPossibleNow,
    PairWithdrawn,
    TooFewPairs,
    grade_known_or_refused,
)
from judging.guidelines.selectors import policy_in_force
from judging.models import Exam, ExamAttempt, ExamGrade, Judgment, KnownPair, Policy
from judging.qualification.rules.onboarding import Step, next_step
from judging.qualification.rules.truth import TooFew, draw_even, draw_levels
from judging.qualification.selectors import exam_attempts as selectors
from judging.qualification.selectors.exam_attempts import AttemptGrade, AttemptPair, OpenAttempt
from judging.qualification.selectors.exams import EXAM_SPLITS, known_pairs_shown, known_pairs_unseen
from judging.qualification.services.onboarding import onboarding_advance
from judging.work import rules
from judging.work.rules import rules_of, shuffled_within

Purpose = ExamAttempt.Purpose
State = ExamAttempt.State
SEEDS = 2**31
RUNNING = (State.OPEN, State.WAITING, State.FEEDBACK)
NOT_NOW = {
    Step.SCREENING: "First comes the multiple-choice test.",
    Step.GUIDELINE: "First read and confirm the guideline.",
    Step.TUTORIAL: "First do the tutorial.",
    Step.NO_EXAM: "No exam is open now. Your lead opens the next one.",
    Step.NO_ATTEMPT: "You have no attempt left. Ask your lead.",
    Step.COUNTING: "Your result is being computed.",
    Step.JUDGE: "You are qualified: there is nothing to sit any more.",
    Step.SUSPENDED: "You are suspended. Ask your lead.",
    Step.LEFT: "You have left this project.",
}


@transaction.atomic
def attempt_start(*, project: Project, annotator: User, purpose: str) -> ExamAttempt:
    """The person's attempt of this purpose: the one that runs, or a new one. The tutorial is sat once.

    Raises:
        NotAnnotator: they are no annotator of the project.
        NotPossible: something else comes first, or there is nothing to sit.
        GuidelineUnconfirmed: a version of the guideline is to be confirmed first.
        TooFewPairs: there are too few pairs of known truth that they have never seen.
    """
    exams = Exam.objects.select_for_update().filter(project=project, state=Exam.State.OPEN)
    exam = exams.first() if purpose == Purpose.EXAM else None  # locked before the person, as closing it does
    members = Membership.objects.select_for_update(of=("self",), no_key=True).select_related("project")
    member = members.filter(project=project, user=annotator, roles=[Membership.Role.ANNOTATOR]).first()
    if member is None:
        raise NotAnnotator("You are no annotator of this project.")
    running = _attempts(member, purpose).filter(state__in=RUNNING).first()
    if running:
        return running
    onboarding_advance(project=project, annotator=annotator)
    if purpose == Purpose.TUTORIAL:
        return _tutorial(member)
    return _exam(member, exam) if purpose == Purpose.EXAM else _warm_up(member)


def _attempts(member: Membership, purpose: str) -> QuerySet[ExamAttempt]:
    return ExamAttempt.objects.filter(project=member.project_id, annotator=member.user_id, purpose=purpose)


def _tutorial(member: Membership) -> ExamAttempt:
    attempt = _attempts(member, Purpose.TUTORIAL).filter(state=State.DONE).last()
    if attempt:
        return attempt
    _due_or_refused(member, Step.TUTORIAL)
    pairs = KnownPair.objects.filter(project=member.project_id, tutorial_position__isnull=False, is_retired=False)
    ready = pairs.filter(moment__preview_state=Moment.Preview.READY).order_by("tutorial_position", "pk")
    return _create(member, Purpose.TUTORIAL, list(ready.values_list("pk", flat=True)), seed=randbelow(SEEDS))


def _exam(member: Membership, exam: Exam | None) -> ExamAttempt:
    open_attempt = (
        _attempts(member, Purpose.EXAM).filter(exam=exam, exam__kind=Exam.Kind.COHORT).last() if exam else None
    )
    if open_attempt:
        return open_attempt  # of the first cohort, each person sits once
    _due_or_refused(member, Step.EXAM)
    assert exam is not None  # the step says so
    seed = randbelow(SEEDS)
    if exam.kind == Exam.Kind.COHORT:
        pairs = exam.known_pairs.filter(is_retired=False, moment__preview_state=Moment.Preview.READY).order_by("pk")
        known_ids = shuffled_within(pairs.values_list("pk", "query"), seed=seed)
        return _create(member, Purpose.EXAM, known_ids, seed=seed, exam=exam)
    known_ids, n_shown = pairs_of_exam(exam, member.user_id, seed)
    return _create(member, Purpose.EXAM, known_ids, seed=seed, exam=exam, shown_before=n_shown)


def pairs_of_exam(exam: Exam, annotator_id: int, seed: int) -> tuple[list[int], int]:
    """Return pairs for one person's later exam, and of how many the truth was told to somebody before: of the train
    split, never seen by them, true grades spread evenly. Somebody who failed may come back under another name and
    knows the truths they were told. So no more pairs are drawn whose truth anybody was told than it takes. Raises
    TooFewPairs: there are not enough."""
    unseen = known_pairs_unseen(project_id=exam.project_id, annotator_id=annotator_id, splits=EXAM_SPLITS)
    shown_before = known_pairs_shown(project_id=exam.project_id)
    draw = draw_even(
        unseen,
        queries=exam.queries,
        per_query=exam.depth,
        grades=rules_of(exam.project).grades,
        seed=seed,
        shown_before=shown_before,
    )
    if isinstance(draw, TooFew):
        raise TooFewPairs(f"{draw} Ask your lead for a new exam.")
    return draw, len(shown_before.intersection(draw))


def session_begins(*, project_id: int, annotator_id: int, policy: Policy, now: datetime) -> bool:
    """Whether a session with a warm-up begins: its pairs tell their truth, so nobody is given more than it needs."""
    since = now - timedelta(hours=max(policy.warm_up_hours, 1))
    _, graded = selectors.work_lately(project_id=project_id, annotator_id=annotator_id, since=since)
    return policy.warm_up and not graded


def _warm_up(member: Membership) -> ExamAttempt:
    _due_or_refused(member, Step.JUDGE)
    policy = policy_in_force(member.project_id)
    if not session_begins(project_id=member.project_id, annotator_id=member.user_id, policy=policy, now=clock.now()):
        raise NotPossible("No warm-up is due: it begins a session, where the project asks for one.")
    seed = randbelow(SEEDS)
    return _create(member, Purpose.WARM_UP, warm_up_pairs(member.project, member.user_id, seed=seed), seed=seed)


def warm_up_pairs(project: Project, annotator_id: int, *, seed: int) -> list[int]:
    """A pair of each grade that the person has never seen. Raises TooFewPairs: there are fewer."""
    unseen = known_pairs_unseen(project_id=project.pk, annotator_id=annotator_id)
    draw = draw_levels([(pair.id, pair.truth) for pair in unseen], grades=rules_of(project).grades, seed=seed)
    if isinstance(draw, TooFew):
        raise TooFewPairs(str(draw))
    return draw


def _due_or_refused(member: Membership, required_step: Step) -> None:
    step = next_step(selectors.onboarding_facts(project_id=member.project_id, annotator_id=member.user_id))
    if step == required_step:
        return
    if step == Step.GUIDELINE:
        raise GuidelineUnconfirmed(NOT_NOW[step])
    raise NotPossible(NOT_NOW.get(step, "This is not what comes next for you; your desk says what does."))


def _create(member: Membership, purpose: ExamAttempt.Purpose, known_ids: list[int], **values: Any) -> ExamAttempt:
    if not known_ids:
        raise TooFewPairs("There is no pair to be shown.")
    return ExamAttempt.objects.create(
        project_id=member.project_id, annotator_id=member.user_id, purpose=purpose, known_ids=known_ids, **values
    )


class WarmUp(StrEnum):
    NO = "no"
    DUE = "due"
    TOO_FEW = "too few"  # due, but too few pairs are left that the person has never seen


def warm_up_due(*, project: Project, annotator: User, policy: Policy, now: datetime) -> WarmUp:
    """Whether the person sits a warm-up before they are handed the next batch."""
    if not policy.warm_up:
        return WarmUp.NO
    warming_up, _ = selectors.work_lately(project_id=project.pk, annotator_id=annotator.pk, since=now)
    if warming_up:
        return WarmUp.DUE
    if not session_begins(project_id=project.pk, annotator_id=annotator.pk, policy=policy, now=now):
        return WarmUp.NO
    try:
        warm_up_pairs(project, annotator.pk, seed=randbelow(SEEDS))
    except TooFewPairs:
        return WarmUp.TOO_FEW
    return WarmUp.DUE


def warm_up_is_missing(*, project: Project, annotator: User, now: datetime) -> bool:
    """Whether a session goes without the warm-up it should begin with, for want of pairs."""
    policy = policy_in_force(project.pk)
    return warm_up_due(project=project, annotator=annotator, policy=policy, now=now) == WarmUp.TOO_FEW


logger = logging.getLogger(__name__)
ATTEMPT_REPORTS = JobKind(
    "judging.tasks.attempt_report",
    lambda: ExamAttempt.objects.filter(
        purpose=ExamAttempt.Purpose.EXAM, state=ExamAttempt.State.DONE, passed__isnull=True
    ).exclude(report__has_key=ExamAttempt.NO_RESULT),
    moved="ended_at",
)


@transaction.atomic
def attempt_hand_in(*, annotator: User, attempt: UUID, now: datetime) -> OpenAttempt:
    """Make the first grades of an exam final. A first cohort then waits for all; others get their feedback at once.

    Repeating it changes nothing.

    Raises:
        NotAssigned: it is nobody's or somebody else's.
        AttemptOver: the exam was closed before.
        AssignmentIncomplete: a pair has no grade yet.
    """
    open_attempt = selectors.attempt_of(annotator_id=annotator.pk, attempt=attempt, lock=True)
    if open_attempt is None:
        raise NotAssigned("This exam attempt is not yours.")
    if open_attempt.state == State.MISSED:
        raise AttemptOver("The exam was closed before you had given all grades.")
    if not open_attempt.may_change:
        return open_attempt
    if not open_attempt.judges:
        raise NotAnnotator("You are not among the project's active annotators now.")
    if open_attempt.left:
        raise AssignmentIncomplete(
            f"{open_attempt.left} pair{' still needs' if open_attempt.left == 1 else 's still need'} a grade."
        )
    return attempt_move(open_attempt, handed_in(open_attempt), now=now)


@transaction.atomic
def missed_exam_count(*, attempt: ExamAttempt, actor: User, counts: bool, reason: str) -> ExamAttempt:
    """Let a missed exam count as an attempt, or let it count no more. Repeating it changes nothing. Raises NotPossible:
    the attempt is no missed exam, or no reason is given; NotPossibleNow: its annotator sits an exam, whose attempt is
    allowed already."""
    if not reason.strip():
        raise NotPossible("Say why: the reason is kept in the audit.")
    member = Membership.objects.select_for_update(no_key=True).filter(
        project=attempt.project_id, user=attempt.annotator_id
    )
    numbers = list(member.values_list("number", flat=True))  # locked: nobody starts an attempt meanwhile
    row = ExamAttempt.objects.select_for_update(of=("self",)).select_related("project", "exam").get(pk=attempt.pk)
    if row.purpose != ExamAttempt.Purpose.EXAM or row.state != State.MISSED:
        raise NotPossible("Only an exam that was missed is counted or not by a lead.")
    if row.missed_counts == counts:
        return row
    going = ExamAttempt.objects.filter(project=row.project_id, annotator=row.annotator_id, purpose=row.purpose)
    if going.filter(ended_at__isnull=True).exists():
        raise NotPossibleNow("This person sits an exam now; decide when that is over.")
    row.missed_counts = counts
    row.save(update_fields=["missed_counts"])
    action = "exam.missed_counts" if counts else "exam.missed_counts_not"
    number = row.exam.number if row.exam else None
    data = {"exam": number, "annotator": numbers[0] if numbers else None, "reason": reason.strip()[:1000]}
    audit_record(project=row.project, actor=actor, action=action, subject=row.uuid, **data)
    logger.info("missed exam attempt %s counts: %s", row.pk, counts)
    return row


@transaction.atomic
def attempt_settle(*, attempt_id: int, now: datetime) -> OpenAttempt:
    """End an attempt that asks for nothing more; a repeat finds it ended."""
    open_attempt = selectors.attempt_by_id(attempt_id=attempt_id, lock=True)
    over = open_attempt.reveals_at_once and open_attempt.is_open and not open_attempt.left
    if over or (open_attempt.in_feedback and not open_attempt.still_misaligned):
        return attempt_move(open_attempt, State.DONE, now=now)
    return open_attempt


def handed_in(open_attempt: OpenAttempt) -> State:
    """Return the state of an exam attempt after its last first grade."""
    if open_attempt.is_cohort and open_attempt.exam_state != "closed":
        return State.WAITING
    return State.FEEDBACK if open_attempt.still_misaligned else State.DONE


def attempt_move(open_attempt: OpenAttempt, state: State, *, now: datetime) -> OpenAttempt:
    """Bring a locked attempt into ``state``; reports and the next step of its annotator follow from it."""
    values: dict[str, object] = {"state": state}
    if open_attempt.is_open and state != State.MISSED:
        values["graded_at"] = now
    if state in (State.DONE, State.MISSED):
        values["ended_at"] = now
    ExamAttempt.objects.filter(pk=open_attempt.exam_attempt_id).update(**values)
    logger.info("exam attempt %s: %s to %s", open_attempt.exam_attempt_id, open_attempt.state, state)
    if open_attempt.purpose == ExamAttempt.Purpose.EXAM and state in (State.FEEDBACK, State.DONE):
        ATTEMPT_REPORTS.send(open_attempt.exam_attempt_id)
    if open_attempt.purpose == ExamAttempt.Purpose.TUTORIAL and state == State.DONE:
        onboarding_advance(project=open_attempt.project_id, annotator=open_attempt.annotator_id)
    return replace(open_attempt, state=state)


STALE = "This form does not belong to the pair as it stands. Load the page again; nothing was stored."
OVER = {
    ExamAttempt.State.WAITING: "You have handed in your grades; they are final.",
    ExamAttempt.State.DONE: "You are done with these pairs; your grades are final.",
    ExamAttempt.State.MISSED: "The exam was closed before you had given all grades.",
}


@transaction.atomic
def attempt_grade(
    *,
    annotator: User,
    pair_uuid: UUID,
    grade: int,
    key: UUID | None = None,
    active_ms: int | None = None,
    now: datetime | None = None,
) -> tuple[OpenAttempt, int | None]:
    """Record a grade for a pair of known truth, where the person's attempt asks for it.

    Before an exam is handed in a grade replaces the one before; where the truth is shown at once it is final. In the
    feedback round every grade is kept.

    Args:
        key: what the form carried; a form sent again is answered as the first time, an older one is refused.
        active_ms: how long the pair was before the annotator, as their page measured; adds up where a grade is changed.

    Returns:
        The attempt after the grade, and the index of the pair to show next: None when nothing is asked any more.

    Raises:
        GradeUnknown: the project has no such grade.
        NotAssigned: no exam attempt of the person holds the pair.
        NotAnnotator: they are no annotator any more, are suspended, or left.
        AttemptOver: grades for it are final, or the exam was closed.
        PairWithdrawn: a lead took the pair out.
        FormStale: the key is not the one of the pair as it stands.
    """
    open_attempt = _locked(annotator, pair_uuid)
    grade_known_or_refused(grade, open_attempt.top_grade)
    index = open_attempt.index_of(pair_uuid)
    pair = open_attempt.pairs[index]
    if key is not None and key != open_attempt.key_of(pair):
        return _answered_before(open_attempt, index, key, grade)
    _gradable_or_refused(open_attempt, pair)
    now, new_grade = now or clock.now(), AttemptGrade(open_attempt.key_of(pair), grade)
    spent = rules.active_ms(active_ms, since=open_attempt.changed_at, now=now, is_simulated=open_attempt.is_simulated)
    if open_attempt.in_feedback or not pair.grades:
        _add(open_attempt, index, new_grade, active_ms=spent, now=now)
        grades = (*pair.grades, new_grade)
    else:
        _replace(open_attempt, pair, new_grade, spent)
        grades = (new_grade,)
    open_attempt = open_attempt.with_grades(index, grades)
    if open_attempt.next_index() is None:
        open_attempt = replace(
            open_attempt, state=attempt_settle(attempt_id=open_attempt.exam_attempt_id, now=now).state
        )
    return open_attempt, _next(open_attempt, index)


def _locked(annotator: User, pair_uuid: UUID) -> OpenAttempt:
    open_attempt = selectors.attempt_by_pair(annotator_id=annotator.pk, pair=pair_uuid, lock=True)
    if open_attempt is None or open_attempt.is_annotator is None:
        raise NotAssigned("This pair is not asked of you.")
    if not open_attempt.judges:
        raise NotAnnotator("You are not among the project's active annotators now.")
    return open_attempt


def _answered_before(open_attempt: OpenAttempt, index: int, key: UUID, grade: int) -> tuple[OpenAttempt, int | None]:
    """The answer to a form that was sent before; refuses one that is older than what was said since."""
    pair = open_attempt.pairs[index]
    if AttemptGrade(key, grade) in pair.grades:
        return open_attempt, _next(open_attempt, index)
    if any(key == earlier_grade.key for earlier_grade in pair.grades):
        raise FormStale(f"This form was used already: your grade for this pair is {pair.grade}.")
    if not open_attempt.is_open and not open_attempt.in_feedback:
        raise AttemptOver(OVER[ExamAttempt.State(open_attempt.state)])
    raise FormStale(STALE)


def _gradable_or_refused(open_attempt: OpenAttempt, pair: AttemptPair) -> None:
    if not open_attempt.is_open and not open_attempt.in_feedback:
        raise AttemptOver(OVER[ExamAttempt.State(open_attempt.state)])
    if pair.is_retired:
        raise PairWithdrawn("This pair was taken out and needs no grade any more.")
    if open_attempt.is_open and open_attempt.reveals_at_once and pair.grades:
        raise AttemptOver("You have graded this pair, and its grade was shown to you.")
    if open_attempt.in_feedback and not pair.is_misaligned:
        raise AttemptOver("This pair is not in your feedback round, or you have graded it again already.")


def _next(open_attempt: OpenAttempt, index: int) -> int | None:
    """Where truths are shown at once the pair stays to show its own; so does one that is still misaligned."""
    pair = open_attempt.pairs[index]
    if open_attempt.reveals_at_once or (open_attempt.in_feedback and pair.is_misaligned):
        return index
    return open_attempt.next_index(index)


def _add(open_attempt: OpenAttempt, index: int, new_grade: AttemptGrade, *, active_ms: int, now: datetime) -> None:
    pair = open_attempt.pairs[index]
    ExamGrade.objects.create(
        uuid=new_grade.key,
        exam_attempt_id=open_attempt.exam_attempt_id,
        known_pair_id=pair.known_id,
        annotator_id=open_attempt.annotator_id,
        try_number=len(pair.grades),
        grade=new_grade.grade,
        position=index + 1,
        active_ms=active_ms,
        source=Judgment.Source.SIMULATED if open_attempt.is_simulated else Judgment.Source.PERSON,
        guideline_id=open_attempt.guideline_id,
        created_at=now,
    )


def _replace(open_attempt: OpenAttempt, pair: AttemptPair, grade: AttemptGrade, active_ms: int) -> None:
    grades = ExamGrade.objects.filter(exam_attempt=open_attempt.exam_attempt_id, known_pair=pair.known_id, try_number=0)
    spent = Least(Coalesce(F("active_ms"), 0) + active_ms, rules.LONGEST_MS)
    grades.update(uuid=grade.key, grade=grade.grade, guideline=open_attempt.guideline_id, active_ms=spent)
