"""The multiple-choice test: annotators take it, leads write it."""

from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import ANNOTATOR, LEAD, STAFF, MemberRequest, grant, post_only, project_page
from accounts.models import Membership, Project
from core.forms import refused, refused_form
from core.texts import uuid_or_none
from judging.exceptions import AnswersIncomplete, GateClosed
from judging.models import GateAttempt, GateQuestion
from judging.projects.policies import policy_in_force
from judging.projects.selectors import clips_matching, gate_clips, gate_figures, gate_takers, moments_of
from judging.qualification.forms import MOST_OPTIONS, GateQuestionForm, gate_answers
from judging.qualification.services import gate as services
from judging.qualification.services.way import way_advance

PAGE, FORM = "judging/qualification/gate.html", "judging/qualification/gate_question.html"


@project_page(ANNOTATOR)
def gate(request: MemberRequest, project: Project) -> HttpResponse:
    """The questions of an attempt that is open; else how the last one went, and what can be done."""
    way_advance(project=project, annotator=request.user)
    request.membership.refresh_from_db(fields=["standing"])
    return render(request, PAGE, _context(request, project))


def _context(request: MemberRequest, project: Project) -> dict[str, Any]:
    attempts = list(GateAttempt.objects.filter(project=project, annotator=request.user))
    last = attempts[-1] if attempts else None
    policy = policy_in_force(project.pk)
    passed = next((attempt for attempt in attempts if attempt.passed), None)
    is_open = policy.gate_is_open and request.membership.standing == Membership.Standing.CANDIDATE
    return {
        "policy": policy,
        "is_open": is_open,
        "last": passed or last,
        "passed": passed,
        "left": max(policy.gate_attempts - len(attempts), 0),
        "questions": shown(last.asked) if last and last.answered_at is None else [],
    }


def shown(asked: list[dict[str, Any]], answers: list[int | None] | None = None) -> list[dict[str, Any]]:
    """The questions as the page shows them, with what was chosen; never which option is right."""
    clips = gate_clips(asked)
    given = answers or [None] * len(asked)
    return [
        {
            "description": question["description"],
            "options": question["options"],
            "moment": clips.get(question["moment"]),
            "chosen": answer,
        }
        for question, answer in zip(asked, given, strict=True)
    ]


@project_page(ANNOTATOR)
@post_only("judging:gate")
def attempt_start(request: MemberRequest, project: Project) -> HttpResponse:
    try:
        services.gate_attempt_start(project=project, annotator=request.user)
    except GateClosed as error:
        messages.error(request, str(error))
    return redirect("judging:gate", project.uuid)


@project_page(ANNOTATOR)
@post_only("judging:gate")
def attempt_answer(request: MemberRequest, project: Project) -> HttpResponse:
    """Take all answers at once; sent again, they find the attempt answered and change nothing."""
    uuid = uuid_or_none(request.POST.get("attempt", ""))
    held = get_object_or_404(GateAttempt, project=project, annotator=request.user, uuid=uuid)
    answers = gate_answers(request.POST, len(held.asked))
    try:
        services.gate_attempt_answer(attempt=held.uuid, annotator=request.user, answers=answers)
    except AnswersIncomplete as error:
        context = _context(request, project) | {"questions": shown(held.asked, answers)}
        return refused(request, PAGE, context, str(error), status=error.status)
    return redirect("judging:gate", project.uuid)


@project_page(STAFF)
def questions(request: MemberRequest, project: Project) -> HttpResponse:
    figures = gate_figures(project)
    asked = [row for row in figures if not row.question.is_retired]
    context = {
        "asked": asked,
        "retired": [row for row in figures if row.question.is_retired],
        "takers": gate_takers(project),
        "policy": (policy := policy_in_force(project.pk)),
        "missing": max(policy.gate_questions - len(asked), 0),
        "may_decide": request.membership.role in LEAD,
    }
    return render(request, "judging/qualification/gate_questions.html", context)


@project_page(STAFF)
def preview(request: MemberRequest, project: Project) -> HttpResponse:
    """The questions as annotators see them, each option in the order written."""
    rows = GateQuestion.objects.filter(project=project, is_retired=False).select_related("moment")
    asked = [{"description": row.description, "options": row.options, "moment": str(row.moment.uuid)} for row in rows]
    return render(
        request,
        "judging/qualification/gate_preview.html",
        {"questions": shown(asked), "policy": policy_in_force(project.pk)},
    )


@project_page(LEAD)
@post_only("judging:gate-questions")
def gate_set(request: MemberRequest, project: Project) -> HttpResponse:
    """Open or close the gate: a new version of the policy."""
    is_open = request.POST.get("open") == "yes"
    services.gate_set(project=project, actor=request.user, is_open=is_open)
    said = "The gate is open: candidates take the test first." if is_open else "The gate is closed: nobody is tested."
    messages.success(request, said)
    return redirect("judging:gate-questions", project.uuid)


@project_page(LEAD)
def question_new(request: MemberRequest, project: Project) -> HttpResponse:
    return _form_page(request, project, GateQuestionForm(initial={"correct": 0}))


@project_page(LEAD)
@post_only("judging:gate-question-new")
def question_create(request: MemberRequest, project: Project) -> HttpResponse:
    form = GateQuestionForm(request.POST)
    if not form.is_valid():
        return refused_form(request, FORM, _form_context(request, project, form), form)
    moment = get_object_or_404(moments_of(project), uuid=form.cleaned_data["moment"])
    services.gate_question_create(project=project, actor=request.user, moment=moment, **form.question_values())
    messages.success(request, "The question is written.")
    return redirect("judging:gate-questions", project.uuid)


@login_required
def question(request: HttpRequest, question_uuid: UUID) -> HttpResponse:
    held = _held(request, question_uuid)
    initial = {"moment": held.moment.uuid, "description": held.description, "correct": held.correct}
    options = {f"option_{place}": text for place, text in enumerate(held.options)}
    form = GateQuestionForm(initial=initial | options)
    return _form_page(cast(MemberRequest, request), held.project, form, held)


@login_required
@post_only("judging:gate-question")
def question_change(request: HttpRequest, question_uuid: UUID) -> HttpResponse:
    held = _held(request, question_uuid)
    member, form = cast(MemberRequest, request), GateQuestionForm(request.POST)
    if not form.is_valid():
        return refused_form(request, FORM, _form_context(member, held.project, form, held), form)
    moment = get_object_or_404(moments_of(held.project), uuid=form.cleaned_data["moment"])
    services.gate_question_change(question=held, actor=member.user, moment=moment, **form.question_values())
    messages.success(request, "The question is changed; who was asked it before keeps what they saw.")
    return redirect("judging:gate-questions", held.project.uuid)


@login_required
@post_only("judging:gate-question")
def question_retire(request: HttpRequest, question_uuid: UUID) -> HttpResponse:
    """Ask it no more, or with ``again`` once more."""
    held = _held(request, question_uuid)
    services.gate_question_retire(
        question=held, actor=cast(MemberRequest, request).user, is_retired="again" not in request.POST
    )
    return redirect("judging:gate-questions", held.project.uuid)


def _form_page(
    request: MemberRequest, project: Project, form: GateQuestionForm, held: GateQuestion | None = None
) -> HttpResponse:
    part = "#clips" if request.htmx else ""
    return render(request, f"{FORM}{part}", _form_context(request, project, form, held))


def _form_context(
    request: MemberRequest, project: Project, form: GateQuestionForm, held: GateQuestion | None = None
) -> dict[str, Any]:
    words = request.GET.get("words", "")
    chosen = request.GET.get("moment") or form["moment"].value()
    return {
        "form": form,
        "question": held,
        "words": words,
        "chosen": str(chosen or ""),
        "clips": clips_matching(project, words=words, first=uuid_or_none(str(chosen))),
        "places": range(MOST_OPTIONS),
    }


def _held(request: HttpRequest, question_uuid: UUID) -> GateQuestion:
    held = get_object_or_404(
        GateQuestion.objects.select_related("project__dataset__corpus", "moment"), uuid=question_uuid
    )
    grant(request, held.project, LEAD)
    return held
