"""Searches over settings: ordering one, watching its table fill, cancelling, resuming, deleting it."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from accounts.access import STAFF, MemberRequest, benchmark_runners, project_page, row_page
from accounts.models import Project
from core.exceptions import NotPossible
from core.lists import csv_download
from judging.exceptions import FormStale
from models_runner.experiments import files
from models_runner.experiments.settings import settings_by_name
from models_runner.experiments.views import FIRST, expectation_for, is_small, training_prerequisites
from models_runner.models import SettingsSearch
from models_runner.tuning import services
from models_runner.tuning.forms import SettingsSearchForm, combinations_of_grid, trials_of_grid
from models_runner.tuning.selectors import (
    SearchExpectation,
    columns_of,
    coverage_of,
    csv_rows,
    searches_before,
    trial_rows,
)

SEARCHES = SettingsSearch.objects.select_related("project", "release", "candidates__experiment")
FIRST_SPACE = {"try_lr": "1e-4 to 3e-3", "n_runs": 5}  # of a newcomer


@project_page(benchmark_runners)
def settings_search_new(request: MemberRequest, project: Project) -> HttpResponse:
    """Order a search; with htmx and GET, the part of the form that says how long it takes."""
    if request.htmx and request.method == "GET":
        context = {"expectation": _expectation(project, request.GET)}
        return render(request, "models_runner/tuning/_expectation.html", context)
    initial = {**FIRST, **FIRST_SPACE} if is_small(project) else {}
    form = SettingsSearchForm(request.POST if request.method == "POST" else None, project=project, initial=initial)
    if request.method != "POST":
        return _form_page(request, project, form, 200)
    if not form.is_valid():
        return _form_page(request, project, form, 422)
    try:
        row = services.settings_search_create(actor=request.user, **form.values())
    except (FormStale, NotPossible) as error:
        form.add_error(None, str(error))
        return _form_page(request, project, form, 409)
    return redirect("models_runner:settings-search", row.uuid)


def _form_page(request: MemberRequest, project: Project, form: SettingsSearchForm, status: int) -> HttpResponse:
    values = {field.name: field.value() for field in form}
    context = {
        "form": form,
        "key": uuid4(),
        "changed": any(field.errors or (form.is_bound and field.value()) for field in form.changes),
        "expectation": _expectation(project, values),
        **training_prerequisites(project),
    }
    return render(request, "models_runner/tuning/new.html", context, status=status)


def _expectation(project: Project, values: Mapping[str, Any]) -> SearchExpectation | None:
    each, n_runs = expectation_for(project, values), trials_of_grid(values)
    return SearchExpectation(n_runs, each, combinations_of_grid(values)) if each and n_runs else None


@row_page(SEARCHES, STAFF)
def settings_search(request: MemberRequest, row: SettingsSearch) -> HttpResponse:
    """One search: what is tried, how far it is, and its table, best first."""
    context = {
        "search": row,
        "columns": columns_of(row),
        "trials": trial_rows(row),
        "coverage": coverage_of(row),
        "settings": settings_by_name(row.options),
        "before": searches_before(row),
        "may_start": request.membership.has(benchmark_runners()),
    }
    return render(request, "models_runner/tuning/search.html", context)


@row_page(SEARCHES, STAFF)
def settings_search_csv(request: MemberRequest, row: SettingsSearch) -> HttpResponse:
    """Download ``trials.csv``: the trials that have begun, best first."""
    columns, *rows = csv_rows(row)
    return csv_download("trials.csv", map(str, columns), rows)


@row_page(SEARCHES, benchmark_runners, back="models_runner:settings-search")
def settings_search_cancel(request: MemberRequest, row: SettingsSearch) -> HttpResponse:
    message = "It ends within seconds; the trials that have ended are kept."
    return _changed(request, row, services.settings_search_cancel, message)


@row_page(SEARCHES, benchmark_runners, back="models_runner:settings-search")
def settings_search_resume(request: MemberRequest, row: SettingsSearch) -> HttpResponse:
    return _changed(request, row, services.settings_search_resume, "It goes on where it was.")


def _changed(
    request: MemberRequest, row: SettingsSearch, change: Callable[..., SettingsSearch], message: str
) -> HttpResponse:
    try:
        change(search=row, actor=request.user)
        messages.success(request, message)
    except NotPossible as error:
        messages.error(request, str(error))
    return redirect("models_runner:settings-search", row.uuid)


@row_page(SEARCHES, benchmark_runners)
def settings_search_delete(request: MemberRequest, row: SettingsSearch) -> HttpResponse:
    """Ask, then delete a search that has ended, with its files."""
    error = None
    if request.method == "POST":
        try:
            services.settings_search_delete(search=row, actor=request.user)
        except NotPossible as refusal:
            error = refusal
        else:
            messages.success(request, f"The search {row.name} is gone.")
            return redirect("models_runner:experiments", row.project.uuid)
    context = {"search": row, "error": error, "bytes": files.folder_bytes(row.uuid)}
    return render(request, "models_runner/tuning/delete.html", context, status=409 if error else 200)
