"""The multiple-choice test, as annotators take it."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation.access import ANNOTATOR, MemberRequest, post_only, project_page
from annotation.models import Membership, Project
from judging import selectors
from judging.exceptions import AnswersIncomplete, GateClosed
from judging.models import GateAttempt
from judging.services import gate as services
from judging.services.policies import policy_in_force
from judging.services.way import way_advance
from judging.settings_forms import gate_answers
from judging.views.refusing import refused

PAGE = "settings/gate.html"


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
    clips = selectors.gate_clips(asked)
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
    held = get_object_or_404(
        GateAttempt, project=project, annotator=request.user, uuid=_uuid(request.POST.get("attempt", ""))
    )
    answers = gate_answers(request.POST, len(held.asked))
    try:
        services.gate_attempt_answer(attempt=held.uuid, annotator=request.user, answers=answers)
    except AnswersIncomplete as error:
        context = _context(request, project) | {"questions": shown(held.asked, answers)}
        return refused(request, PAGE, context, str(error), status=error.status)
    return redirect("judging:gate", project.uuid)


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise Http404 from error
