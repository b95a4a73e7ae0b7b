"""The steps of an annotator towards judging, and the first of them: the screening test of multiple choice."""

import logging
from collections.abc import Sequence
from random import Random
from secrets import randbelow
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from accounts.models import Membership, Project, User
from accounts.rules import STEPS
from accounts.services.members import status_change
from annotation.models import Moment
from core.audit import audit_record
from judging.exceptions import AnswersIncomplete, NotPossibleNow, ScreeningClosed, ScreeningTooShort
from judging.guidelines.selectors import policy_in_force
from judging.models import ExamAttempt, ScreeningAttempt, ScreeningQuestion
from judging.qualification.rules.onboarding import Facts, status_due
from judging.qualification.selectors.exam_attempts import onboarding_facts

Status = Membership.Status


@transaction.atomic
def onboarding_advance(*, project: Project | int, annotator: User | int) -> Membership | None:
    """Take an annotator every step that is due; None for who is no annotator of the project. May be called at any time,
    by anybody, as often as one likes."""
    members = Membership.objects.select_for_update(of=("self",), no_key=True).select_related("project", "user")
    member = members.filter(project=project, user=annotator, roles=[Membership.Role.ANNOTATOR]).first()
    if member is None or member.status not in STEPS:
        return member
    facts = onboarding_facts(project_id=member.project_id, annotator_id=member.user_id)
    due = status_due(facts)
    for status in STEPS[STEPS.index(member.status) + 1 : STEPS.index(due) + 1]:
        member = status_change(membership=member, to=status, actor=None, reason=_reason(member, status, facts))
    return member


def _reason(member: Membership, status: str, facts: Facts) -> str:
    if status == Status.TRAINING:
        return "Passed the multiple-choice test." if facts.is_screened else "There is no test before the training."
    if status == Status.EXAM:
        tutorial_text = " and did the tutorial" if facts.has_tutorial else ""
        return f"Confirmed the guideline{tutorial_text}."
    passed = ExamAttempt.objects.filter(project=member.project_id, annotator=member.user_id, passed=True).latest(
        "ended_at"
    )
    return f"Passed exam {passed.exam.number if passed.exam else ''}: {passed.report['why']}"


logger = logging.getLogger(__name__)


@transaction.atomic
def screening_question_save(
    *, project: Project, actor: User, moment: Moment, question: ScreeningQuestion | None = None, **values: Any
) -> ScreeningQuestion:
    """Write a new question, or ask ``question`` otherwise from now on; attempts keep what they were asked. Raises
    NotPossibleNow: nobody could watch the moment."""
    preview_or_refused(project, moment)
    row, is_new = ScreeningQuestion.objects.update_or_create(
        uuid=question.uuid if question else uuid4(), project=project, defaults={"moment": moment, **values}
    )
    action = "gate.question.create" if is_new else "gate.question.change"
    audit_record(project=project, actor=actor, action=action, subject=row.uuid)
    return row


@transaction.atomic
def screening_question_retire(*, question: ScreeningQuestion, actor: User, is_retired: bool) -> None:
    """Retire the question, or ask it again. Raises ScreeningTooShort: the test is open and would have too few."""
    project = Project.objects.select_for_update().get(pk=question.project_id)
    policy = policy_in_force(project.pk)
    n_left = ScreeningQuestion.objects.filter(project=project, is_retired=False).exclude(pk=question.pk).count()
    if is_retired and policy.screening_is_open and n_left < policy.screening_questions:
        raise ScreeningTooShort(
            f"The screening test is open and asks {policy.screening_questions} questions. Write another one first."
        )
    if ScreeningQuestion.objects.filter(pk=question.pk, is_retired=not is_retired).update(is_retired=is_retired):
        action = "gate.question.retire" if is_retired else "gate.question.restore"
        audit_record(project=project, actor=actor, action=action, subject=question.uuid)


@transaction.atomic
def screening_attempt_start(*, project: Project, annotator: User) -> ScreeningAttempt:
    """The annotator's open attempt, or a new one with questions asked of them least so far. Raises ScreeningClosed:
    there is no test, they have passed it, or no attempt is left."""
    member = Membership.objects.select_for_update().get(project=project, user=annotator)
    attempts = list(ScreeningAttempt.objects.filter(project=project, annotator=annotator))
    if attempts and attempts[-1].answered_at is None:
        return attempts[-1]
    policy = policy_in_force(project.pk)
    if member.status != Membership.Status.CANDIDATE or not policy.screening_is_open:
        raise ScreeningClosed("There is no test for you to take; your desk says what comes next.")
    if any(attempt.passed for attempt in attempts):
        raise ScreeningClosed("You have passed the test already.")
    if len(attempts) >= policy.screening_attempts:
        raise ScreeningClosed("You have no attempt left. Ask your lead.")
    return ScreeningAttempt.objects.create(
        project=project,
        annotator=annotator,
        questions=_questions(project, attempts, count=policy.screening_questions, seed=randbelow(2**31)),
        passing=policy.screening_passing,
    )


@transaction.atomic
def screening_attempt_answer(*, attempt: UUID, annotator: User, answers: Sequence[int | None]) -> ScreeningAttempt:
    """Score the answers, given as places of the options shown. What was answered before stays as it was. Raises
    AnswersIncomplete: a question has no answer, or none of those offered."""
    attempts = ScreeningAttempt.objects.select_for_update(of=("self",)).select_related("project")
    row = attempts.get(uuid=attempt, annotator=annotator)
    if row.answered_at is not None:
        return row
    if len(answers) != len(row.questions):
        raise AnswersIncomplete("Answer every question.")
    for number, (question, answer) in enumerate(zip(row.questions, answers, strict=True), start=1):
        if answer is None:
            raise AnswersIncomplete(f"Question {number} has no answer yet.")
        if answer not in range(len(question["options"])):
            raise AnswersIncomplete(f"The answer to question {number} is none of those offered.")
    row.answers = list(answers)
    row.score = sum(question["correct"] == answer for question, answer in zip(row.questions, answers, strict=True))
    row.answered_at = timezone.now()
    row.save()
    result = {"score": row.score, "passing": row.passing, "passed": row.passed}
    audit_record(project=row.project, actor=annotator, action="gate.answer", subject=row.uuid, **result)
    logger.info("screening attempt %s: %s of %s", row.pk, row.score, len(row.questions))
    if row.passed:
        onboarding_advance(project=row.project, annotator=annotator)
    return row


def preview_or_refused(project: Project, moment: Moment) -> None:
    """Raise NotPossibleNow where nobody of the project could watch the moment."""
    if moment.preview_state != Moment.Preview.READY or moment.video.corpus_id != project.dataset.corpus_id:
        raise NotPossibleNow("This moment has no preview in the project.")


def _questions(project: Project, before: Sequence[ScreeningAttempt], *, count: int, seed: int) -> list[dict[str, Any]]:
    """``count`` questions as they are shown, those asked least in earlier attempts; options in any order."""
    rng = Random(seed)
    questions = list(ScreeningQuestion.objects.filter(project=project, is_retired=False).select_related("moment"))
    if len(questions) < count:
        raise ScreeningClosed("The test has too few questions at the moment. Ask your lead.")
    rng.shuffle(questions)
    times = [item["question"] for attempt in before for item in attempt.questions]
    questions.sort(key=lambda question: times.count(str(question.uuid)))
    selection = questions[:count]
    rng.shuffle(selection)
    return [_as_shown(question, rng) for question in selection]


def _as_shown(question: ScreeningQuestion, rng: Random) -> dict[str, Any]:
    order = rng.sample(range(len(question.options)), len(question.options))
    return {
        "question": str(question.uuid),
        "moment": str(question.moment.uuid),
        "description": question.description,
        "options": [question.options[position] for position in order],
        "correct": order.index(question.correct),
    }
