"""The multiple-choice test, as leads write it."""

from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation.access import LEAD, STAFF, MemberRequest, grant, post_only, project_page
from annotation.models import Project
from judging import selectors
from judging.models import GateQuestion
from judging.services import gate as services
from judging.services.policies import policy_in_force
from judging.settings_forms import MOST_OPTIONS, GateQuestionForm
from judging.views.gate import shown
from judging.views.refusing import refused_form

FORM = "settings/gate_question.html"


@project_page(STAFF)
def questions(request: MemberRequest, project: Project) -> HttpResponse:
    figures = selectors.gate_figures(project)
    asked = [row for row in figures if not row.question.is_retired]
    context = {
        "asked": asked,
        "retired": [row for row in figures if row.question.is_retired],
        "takers": selectors.gate_takers(project),
        "policy": (policy := policy_in_force(project.pk)),
        "missing": max(policy.gate_questions - len(asked), 0),
        "may_decide": request.membership.role in LEAD,
    }
    return render(request, "settings/gate_questions.html", context)


@project_page(STAFF)
def preview(request: MemberRequest, project: Project) -> HttpResponse:
    """The questions as annotators see them, each option in the order written."""
    rows = GateQuestion.objects.filter(project=project, is_retired=False).select_related("moment")
    asked = [{"description": row.description, "options": row.options, "moment": str(row.moment.uuid)} for row in rows]
    return render(
        request, "settings/gate_preview.html", {"questions": shown(asked), "policy": policy_in_force(project.pk)}
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
    moment = get_object_or_404(selectors.moments_of(project), uuid=form.cleaned_data["moment"])
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
    moment = get_object_or_404(selectors.moments_of(held.project), uuid=form.cleaned_data["moment"])
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
        "clips": selectors.clips_matching(project, words=words, first=_uuid_or_none(chosen)),
        "places": range(MOST_OPTIONS),
    }


def _uuid_or_none(given: object) -> UUID | None:
    try:
        return UUID(str(given))
    except ValueError:
        return None


def _held(request: HttpRequest, question_uuid: UUID) -> GateQuestion:
    held = get_object_or_404(GateQuestion.objects.select_related("project__corpus", "moment"), uuid=question_uuid)
    grant(request, held.project, LEAD)
    return held
