"""The steps of an annotator as their desk shows them, and the screening test: annotators take it, leads write it."""

from secrets import randbelow
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import ANNOTATOR, LEAD, STAFF, MemberRequest, project_action, project_page, row_page
from accounts.models import Membership, Project, User
from core.forms import errors_as_messages, refused, refused_form
from core.texts import uuid_or_none
from judging.exceptions import AnswersIncomplete, ScreeningClosed, TooFewPairs
from judging.guidelines import services as guideline_services
from judging.guidelines.selectors import policy_in_force
from judging.models import Exam, ExamAttempt, ScreeningAttempt, ScreeningQuestion
from judging.projects.selectors import (
    clips_matching,
    moments_of,
    screening_attempts,
    screening_clips,
    screening_figures,
)
from judging.qualification.forms import MOST_OPTIONS, ScreeningQuestionForm, chosen_answers
from judging.qualification.rules.onboarding import Facts, Step, next_step, status_due
from judging.qualification.selectors.exam_attempts import onboarding_facts
from judging.qualification.selectors.exams import attempts_of
from judging.qualification.services import onboarding as services
from judging.qualification.services.exam_attempts import SEEDS, pairs_of_exam
from judging.qualification.services.onboarding import onboarding_advance

NAMES = {
    Step.SCREENING: "Test",
    Step.GUIDELINE: "Guideline",
    Step.TUTORIAL: "Tutorial",
    Step.EXAM: "Exam",
    Step.FEEDBACK: "Feedback",
    Step.JUDGE: "Judging",
}
STEP_GROUPS = {
    Step.NO_EXAM: Step.EXAM,
    Step.NO_PAIRS: Step.EXAM,
    Step.NO_ATTEMPT: Step.EXAM,
    Step.WAITING: Step.EXAM,
    Step.COUNTING: Step.FEEDBACK,
}


def onboarding_of(*, project: Project, annotator: User) -> dict[str, Any]:
    """Return the next step, for the desk; steps that are due are taken first, as when the lead closed the test or the
    tutorial. For who is at the exam, their latest attempt, the latest one not passed, and how many are left."""
    facts = onboarding_facts(project_id=project.pk, annotator_id=annotator.pk)
    if status_due(facts) != facts.status:
        onboarding_advance(project=project, annotator=annotator)
        facts = onboarding_facts(project_id=project.pk, annotator_id=annotator.pk)
    step = next_step(facts)
    at_exam: dict[str, Any] = {}
    if facts.status == Membership.Status.EXAM:
        attempts = list(
            attempts_of(project=project, annotator_id=annotator.pk).filter(purpose=ExamAttempt.Purpose.EXAM)
        )
        latest = attempts[0] if attempts else None
        running = latest if latest and latest.ended_at is None else None
        exam = project.exams.filter(state=Exam.State.OPEN).first()
        if step == Step.EXAM and running is None and exam and not _pairs_are_left(exam, annotator):
            step = Step.NO_PAIRS
        failed = next((attempt for attempt in attempts if attempt.passed is False), None)
        at_exam = {"latest": latest, "running": running, "failed": failed, "attempts_left": facts.attempts_left}
    return {
        "step": step,
        "steps": _listed_steps(facts, step),
        "has_read_one": project.guidelines.filter(confirmations__annotator=annotator).exists,  # where it is shown
        "qualified": step == Step.JUDGE,
        "waits": step in (Step.WAITING, Step.COUNTING),  # the page goes on by itself
        **at_exam,
    }


def _pairs_are_left(exam: Exam, annotator: User) -> bool:
    if exam.kind == Exam.Kind.COHORT:
        return True
    try:
        pairs_of_exam(exam, annotator.pk, randbelow(SEEDS))
    except TooFewPairs:
        return False
    return True


def _listed_steps(facts: Facts, step: Step) -> list[tuple[str, str]]:
    """The steps of this project in their order, each done, now or later; none for who is qualified or out."""
    if facts.status not in ("candidate", "training", "exam"):
        return []
    skipped = {*([] if facts.screening_is_open else [Step.SCREENING]), *([] if facts.has_tutorial else [Step.TUTORIAL])}
    order = [stop for stop in NAMES if stop not in skipped]
    position = order.index(STEP_GROUPS.get(step, step))
    states = ["done" if at < position else "now" if at == position else "later" for at in range(len(order))]
    return [(NAMES[stop], state) for stop, state in zip(order, states, strict=True)]


QUESTIONS = ScreeningQuestion.objects.select_related("project__dataset__corpus", "moment")
PAGE, FORM = "judging/qualification/screening.html", "judging/qualification/screening_question.html"


@project_page(ANNOTATOR)
def screening(request: MemberRequest, project: Project) -> HttpResponse:
    """The questions of an attempt that is open; else how the last one went, and what can be done."""
    onboarding_advance(project=project, annotator=request.user)
    request.membership.refresh_from_db(fields=["status"])
    return render(request, PAGE, _context(request, project))


def _context(request: MemberRequest, project: Project) -> dict[str, Any]:
    attempts = list(ScreeningAttempt.objects.filter(project=project, annotator=request.user))
    last = attempts[-1] if attempts else None
    policy = policy_in_force(project.pk)
    passed = next((attempt for attempt in attempts if attempt.passed), None)
    is_open = policy.screening_is_open and request.membership.status == Membership.Status.CANDIDATE
    return {
        "policy": policy,
        "is_open": is_open,
        "last": passed or last,
        "passed": passed,
        "left": max(policy.screening_attempts - len(attempts), 0),
        "questions": shown(last.questions) if last and last.answered_at is None else [],
    }


def shown(questions: list[dict[str, Any]], answers: list[int | None] | None = None) -> list[dict[str, Any]]:
    """The questions as the page shows them, with what was chosen; never which option is right."""
    clips = screening_clips(questions)
    choices = answers or [None] * len(questions)
    return [
        {
            "description": question["description"],
            "options": question["options"],
            "moment": clips.get(question["moment"]),
            "chosen": answer,
        }
        for question, answer in zip(questions, choices, strict=True)
    ]


@project_action(ANNOTATOR, back="judging:screening")
def attempt_start(request: MemberRequest, project: Project) -> HttpResponse:
    with errors_as_messages(request, ScreeningClosed):
        services.screening_attempt_start(project=project, annotator=request.user)
    return redirect("judging:screening", project.uuid)


@project_action(ANNOTATOR, back="judging:screening")
def attempt_answer(request: MemberRequest, project: Project) -> HttpResponse:
    """Take all answers at once; sent again, they find the attempt answered and change nothing."""
    uuid = uuid_or_none(request.POST.get("attempt", ""))
    attempt = get_object_or_404(ScreeningAttempt, project=project, annotator=request.user, uuid=uuid)
    answers = chosen_answers(request.POST, len(attempt.questions))
    try:
        services.screening_attempt_answer(attempt=attempt.uuid, annotator=request.user, answers=answers)
    except AnswersIncomplete as error:
        context = _context(request, project) | {"questions": shown(attempt.questions, answers)}
        return refused(request, PAGE, context, str(error), status=error.status)
    return redirect("judging:screening", project.uuid)


@project_page(STAFF)
def questions(request: MemberRequest, project: Project) -> HttpResponse:
    figures = screening_figures(project)
    in_use = [row for row in figures if not row.question.is_retired]
    context = {
        "in_use": in_use,
        "retired": [row for row in figures if row.question.is_retired],
        "takers": screening_attempts(project),
        "policy": (policy := policy_in_force(project.pk)),
        "missing": max(policy.screening_questions - len(in_use), 0),
    }
    return render(request, "judging/qualification/screening_questions.html", context)


@project_page(STAFF)
def preview(request: MemberRequest, project: Project) -> HttpResponse:
    """The questions as annotators see them, each option in the order written."""
    rows = ScreeningQuestion.objects.filter(project=project, is_retired=False).select_related("moment")
    questions = [
        {"description": row.description, "options": row.options, "moment": str(row.moment.uuid)} for row in rows
    ]
    return render(
        request,
        "judging/qualification/screening_preview.html",
        {"questions": shown(questions), "policy": policy_in_force(project.pk)},
    )


@project_action(LEAD, back="judging:screening-questions")
def screening_set(request: MemberRequest, project: Project) -> HttpResponse:
    """Open or close the screening test: a new version of the policy."""
    is_open = request.POST.get("open") == "yes"
    guideline_services.screening_set(project=project, actor=request.user, is_open=is_open)
    message = "The screening test is open: candidates take it first." if is_open else "It is closed: nobody is tested."
    messages.success(request, message)
    return redirect("judging:screening-questions", project.uuid)


@project_page(LEAD)
def question_new(request: MemberRequest, project: Project) -> HttpResponse:
    return _form_page(request, project, ScreeningQuestionForm(initial={"correct": 0}))


@project_action(LEAD, back="judging:screening-question-new")
def question_create(request: MemberRequest, project: Project) -> HttpResponse:
    return _question_save(request, project, None, "The question is written.")


@row_page(QUESTIONS, LEAD)
def question(request: MemberRequest, question: ScreeningQuestion) -> HttpResponse:
    initial = {"moment": question.moment.uuid, "description": question.description, "correct": question.correct}
    options = {f"option_{position}": text for position, text in enumerate(question.options)}
    return _form_page(request, question.project, ScreeningQuestionForm(initial=initial | options), question)


@row_page(QUESTIONS, LEAD, back="judging:screening-question")
def question_change(request: MemberRequest, question: ScreeningQuestion) -> HttpResponse:
    message = "The question is changed; who was asked it before keeps what they saw."
    return _question_save(request, question.project, question, message)


def _question_save(
    request: MemberRequest, project: Project, question: ScreeningQuestion | None, message: str
) -> HttpResponse:
    form = ScreeningQuestionForm(request.POST)
    if not form.is_valid():
        return refused_form(request, FORM, _form_context(request, project, form, question), form)
    moment = get_object_or_404(moments_of(project), uuid=form.cleaned_data["moment"])
    values = {name: form.cleaned_data[name] for name in ("description", "options", "correct")}
    services.screening_question_save(project=project, question=question, actor=request.user, moment=moment, **values)
    messages.success(request, message)
    return redirect("judging:screening-questions", project.uuid)


@row_page(QUESTIONS, LEAD, back="judging:screening-question")
def question_retire(request: MemberRequest, question: ScreeningQuestion) -> HttpResponse:
    """Ask it no more, or with ``again`` once more."""
    services.screening_question_retire(question=question, actor=request.user, is_retired="again" not in request.POST)
    return redirect("judging:screening-questions", question.project.uuid)


def _form_page(
    request: MemberRequest, project: Project, form: ScreeningQuestionForm, question: ScreeningQuestion | None = None
) -> HttpResponse:
    part = "#clips" if request.htmx else ""
    return render(request, f"{FORM}{part}", _form_context(request, project, form, question))


def _form_context(
    request: MemberRequest, project: Project, form: ScreeningQuestionForm, row: ScreeningQuestion | None = None
) -> dict[str, Any]:
    words = request.GET.get("words", "")
    moment = request.GET.get("moment") or form["moment"].value()
    return {
        "form": form,
        "question": row,
        "words": words,
        "chosen": str(moment or ""),
        "clips": clips_matching(project, words=words, first=uuid_or_none(str(moment))),
        "places": range(MOST_OPTIONS),
    }
