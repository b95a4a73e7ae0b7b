"""Start a sitting: for whom, for what, with which pairs; and say whether a session begins with a warm-up."""

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from random import SystemRandom
from typing import NamedTuple

from django.db import transaction
from django.db.models import QuerySet

from accounts.models import Membership, Project, User
from annotation.models import Moment
from core import clock
from core.exceptions import NotPossible
from judging.exceptions import GuidelineUnconfirmed, NotAnnotator, TooFewPairs
from judging.models import Exam, Policy, Sitting
from judging.projects.policies import policy_in_force
from judging.qualification.rules.truth import TooFew, draw_even, draw_levels
from judging.qualification.rules.way import Step, next_step
from judging.qualification.selectors.exams import EXAM_SPLITS, known_pairs_shown, known_pairs_unseen
from judging.qualification.selectors.sittings import tutorial_pairs, way_facts, work_lately
from judging.qualification.services.way import way_advance
from judging.work.rules import shuffled_within

Purpose, State = Sitting.Purpose, Sitting.State
RUNNING = (State.OPEN, State.WAITING, State.FEEDBACK)
WARM_UP_PAIRS = 5
NOT_NOW = {
    Step.GATE: "First comes the multiple-choice test.",
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
def sitting_start(*, project: Project, annotator: User, purpose: str) -> Sitting:
    """The person's sitting of this purpose: the one that runs, or a new one. The tutorial is sat once.

    Raises:
        NotAnnotator: they are no annotator of the project.
        NotPossible: something else comes first, or there is nothing to sit.
        GuidelineUnconfirmed: a version of the guideline is to be confirmed first.
        TooFewPairs: there are too few pairs of known truth that they have never seen.
    """
    exam = _exam_locked(project) if purpose == Purpose.EXAM else None  # before the person, as closing it does
    member = _member_locked(project, annotator)
    running = _sittings(member, purpose).filter(state__in=RUNNING).first()
    if running:
        return running
    start: dict[str, Callable[[Membership, Exam | None], Sitting]] = {
        Purpose.TUTORIAL: _tutorial,
        Purpose.EXAM: _exam,
        Purpose.WARM_UP: _warm_up,
    }
    way_advance(project=project, annotator=annotator)
    return start[purpose](member, exam)


def _exam_locked(project: Project) -> Exam | None:
    return Exam.objects.select_for_update().filter(project=project, state=Exam.State.OPEN).first()


def _member_locked(project: Project, annotator: User) -> Membership:
    members = Membership.objects.select_for_update(of=("self",), no_key=True).select_related("project")
    member = members.filter(project=project, user=annotator, role=Membership.Role.ANNOTATOR).first()
    if member is None:
        raise NotAnnotator("You are no annotator of this project.")
    return member


def _sittings(member: Membership, purpose: str) -> QuerySet[Sitting]:
    return Sitting.objects.filter(project=member.project_id, annotator=member.user_id, purpose=purpose)


def _tutorial(member: Membership, exam: Exam | None) -> Sitting:
    done = _sittings(member, Purpose.TUTORIAL).filter(state=State.DONE).last()
    if done:
        return done
    _due_or_refused(member, Step.TUTORIAL)
    return _create(member, Purpose.TUTORIAL, list(tutorial_pairs(member.project_id)), seed=_seed())


def _exam(member: Membership, exam: Exam | None) -> Sitting:
    sat = _sittings(member, Purpose.EXAM).filter(exam=exam, exam__kind=Exam.Kind.COHORT).last() if exam else None
    if sat:
        return sat  # of the first cohort, each person sits once
    _due_or_refused(member, Step.EXAM)
    assert exam is not None  # the step says so
    seed = _seed()
    if exam.kind == Exam.Kind.COHORT:
        return _create(member, Purpose.EXAM, _cohort_pairs(exam, seed), seed=seed, exam=exam)
    drawn = stored_pairs(exam, member.user_id, seed)
    return _create(member, Purpose.EXAM, drawn.known_ids, seed=seed, exam=exam, shown_before=drawn.shown_before)


def _cohort_pairs(exam: Exam, seed: int) -> list[int]:
    asked = exam.known_pairs.filter(is_retired=False, moment__preview_state=Moment.Preview.READY).order_by("pk")
    return shuffled_within(asked.values_list("pk", "query"), seed=seed)


class Drawn(NamedTuple):
    """The pairs of a later exam, and of how many the truth was told to somebody before."""

    known_ids: list[int]
    shown_before: int


def stored_pairs(exam: Exam, annotator_id: int, seed: int) -> Drawn:
    """Pairs for one person's later exam: of the train split, never seen by them, true grades spread evenly.

    Somebody who failed may come back under another name and knows the truths they were told. So no more pairs are
    drawn whose truth anybody was told than it takes.

    Raises:
        TooFewPairs: there are not enough.
    """
    unseen = known_pairs_unseen(project_id=exam.project_id, annotator_id=annotator_id, splits=EXAM_SPLITS)
    pairs = [(known.id, known.query_id, known.truth) for known in unseen]
    shown = known_pairs_shown(project_id=exam.project_id)
    drawn = draw_even(pairs, queries=exam.queries, per_query=exam.depth, seed=seed, shown=shown)
    if isinstance(drawn, TooFew):
        raise TooFewPairs(f"{drawn} Ask your lead for a new exam.")
    return Drawn(drawn, len(shown.intersection(drawn)))


def session_begins(*, project_id: int, annotator_id: int, policy: Policy, now: datetime) -> bool:
    """Whether a session with a warm-up begins: its pairs tell their truth, so nobody is given more than it needs."""
    since = now - timedelta(hours=max(policy.warm_up_hours, 1))
    lately = work_lately(project_id=project_id, annotator_id=annotator_id, since=since)
    return policy.warm_up and not lately.graded


def _warm_up(member: Membership, exam: Exam | None) -> Sitting:
    _due_or_refused(member, Step.JUDGE)
    policy = policy_in_force(member.project_id)
    if not session_begins(project_id=member.project_id, annotator_id=member.user_id, policy=policy, now=clock.now()):
        raise NotPossible("No warm-up is due: it begins a session, where the project asks for one.")
    seed = _seed()
    return _create(member, Purpose.WARM_UP, warm_up_pairs(member.project_id, member.user_id, seed=seed), seed=seed)


def warm_up_pairs(project_id: int, annotator_id: int, *, seed: int) -> list[int]:
    """Five pairs over all levels that the person has never seen.

    Raises:
        TooFewPairs: there are fewer than five.
    """
    unseen = known_pairs_unseen(project_id=project_id, annotator_id=annotator_id)
    drawn = draw_levels([(known.id, known.truth) for known in unseen], count=WARM_UP_PAIRS, seed=seed)
    if isinstance(drawn, TooFew):
        raise TooFewPairs(str(drawn))
    return drawn.pairs


def _due_or_refused(member: Membership, wanted: Step) -> None:
    step = next_step(way_facts(project_id=member.project_id, annotator_id=member.user_id))
    if step == wanted:
        return
    if step == Step.GUIDELINE:
        raise GuidelineUnconfirmed(NOT_NOW[step])
    raise NotPossible(NOT_NOW.get(step, "This is not what comes next for you; your desk says what does."))


def _create(
    member: Membership,
    purpose: Sitting.Purpose,
    known_ids: list[int],
    *,
    seed: int,
    exam: Exam | None = None,
    shown_before: int | None = None,
) -> Sitting:
    if not known_ids:
        raise TooFewPairs("There is no pair to be shown.")
    return Sitting.objects.create(
        project_id=member.project_id,
        annotator_id=member.user_id,
        purpose=purpose,
        exam=exam,
        seed=seed,
        known_ids=known_ids,
        shown_before=shown_before,
    )


def _seed() -> int:
    return SystemRandom().randrange(2**31)


class WarmUp(StrEnum):
    NO = "no"
    DUE = "due"
    TOO_FEW = "too few"  # due, but too few pairs are left that the person has never seen


def warm_up_due(*, project: Project, annotator: User, policy: Policy, now: datetime) -> WarmUp:
    """Whether the person sits a warm-up before they are handed the next batch."""
    if not policy.warm_up:
        return WarmUp.NO
    if work_lately(project_id=project.pk, annotator_id=annotator.pk, since=now).warming_up:
        return WarmUp.DUE
    if not session_begins(project_id=project.pk, annotator_id=annotator.pk, policy=policy, now=now):
        return WarmUp.NO
    try:
        warm_up_pairs(project.pk, annotator.pk, seed=SystemRandom().randrange(2**31))
    except TooFewPairs:
        return WarmUp.TOO_FEW
    return WarmUp.DUE


def warm_up_is_missing(*, project: Project, annotator: User, now: datetime) -> bool:
    """Whether a session goes without the warm-up it should begin with, for want of pairs."""
    policy = policy_in_force(project.pk)
    return warm_up_due(project=project, annotator=annotator, policy=policy, now=now) == WarmUp.TOO_FEW
