"""A form that cannot be taken: its page again, with what was sent and why."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from core.refusals import refusal_log
from judging.forms import SubmitForm


def refused_form(
    request: HttpRequest, template: str, context: dict[str, Any], form: SubmitForm, *, status: int = 422
) -> HttpResponse:
    return refused(request, template, context, form.first_error(), status=status)


def refused(
    request: HttpRequest, template: str, context: dict[str, Any], note: str, *, status: int = 422
) -> HttpResponse:
    return refusal_log(request, render(request, template, {**context, "note": note}, status=status), note)
