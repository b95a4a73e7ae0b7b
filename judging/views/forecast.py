"""What a project will take, before it starts and on its way. For leads: it is about money."""

from dataclasses import replace
from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from annotation.access import LEAD, MemberRequest, project_page
from annotation.models import Project
from judging import selectors
from judging.pay_forms import ForecastForm, shown
from judging.rules.forecast import TVR_RANKING, Assumptions, Forecast
from judging.services.policies import policy_in_force

STARTS = ("here", "paper")  # what a form can have been filled with


@project_page(LEAD)
def forecast(request: MemberRequest, project: Project) -> HttpResponse:
    """From what the address says; else from the project's own numbers where they are asked for, or TVR-Ranking's."""
    policy = policy_in_force(project.pk)
    here = selectors.forecast_measured(project, policy)
    money: dict[str, Any] = {"rate": policy.pay_rate, "currency": policy.pay_currency}
    measured = {name: value for name, value in here.items() if value is not None}
    came_from = request.GET.get("from", "")
    start = _start(came_from == "here", {**measured, **money})
    if "queries" in request.GET:
        form = ForecastForm(request.GET, start=start if came_from in STARTS else None)
    else:
        form = ForecastForm.of(start)
        came_from = "here" if came_from == "here" else "paper"
    valid = form.is_valid()
    rows = [
        (field, shown(name, getattr(TVR_RANKING, name)), shown(name, {**here, **money}.get(name)))
        for name, field in ((field.name, field) for field in form)
    ]
    context = {
        "form": form,
        "rows": rows,
        "forecast": Forecast(form.assumptions()) if valid else None,
        "came_from": came_from if came_from in STARTS else "",
    }
    return render(request, "pay/forecast.html", context, status=200 if valid else 422)


def _start(here: bool, measured: dict[str, Any]) -> Assumptions:
    return replace(TVR_RANKING, **measured) if here else TVR_RANKING
