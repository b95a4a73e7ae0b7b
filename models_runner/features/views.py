"""The page of features: make them, add official files, watch, cancel, go on, delete. For who runs benchmarks."""

import time
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from accounts.access import MemberRequest, benchmark_runners, post_only, project_page, row_page
from accounts.models import Project
from accounts.uploads import save_form
from core.exceptions import NotPossible
from core.lists import page_of
from models_runner.features import services
from models_runner.features.forms import ExtractionForm, FileForm, ModelForm
from models_runner.features.selectors import uses_of
from models_runner.features.services import feature_set_start
from models_runner.models import FeatureSet
from moment_retrieval.hub import why_unreachable

PAGE = "models_runner:features"
HUB_ANSWER_S = 60  # for which what the hub answered is taken as true
feature_set_page = row_page(FeatureSet.objects.select_related("project"), benchmark_runners)


@project_page(benchmark_runners)
def features(request: MemberRequest, project: Project) -> HttpResponse:
    """All features of the project, newest first, and the forms for more."""
    return _page(request, project)


@project_page(benchmark_runners)
def hub(request: MemberRequest, project: Project) -> HttpResponse:
    """Whether a model can be fetched by its name; a part of the page of its own, as the answer may take seconds."""
    return render(
        request, "models_runner/features/_hub.html", {"why": _hub_answer(int(time.monotonic() / HUB_ANSWER_S))}
    )


@lru_cache(maxsize=1)
def _hub_answer(minute: int) -> str:
    """Return why the hub cannot be reached; the hub is requested once a minute."""
    return why_unreachable()


@post_only(PAGE)
@project_page(benchmark_runners)
def feature_set_create(request: MemberRequest, project: Project) -> HttpResponse:
    """Make features in the background."""
    return _start(request, project, "making", ExtractionForm(request.POST, project=project), feature_set_start)


@post_only(PAGE)
@project_page(benchmark_runners)
def feature_set_register(request: MemberRequest, project: Project) -> HttpResponse:
    """Add an official file, and check it in the background."""
    return _start(request, project, "adding", FileForm(request.POST), services.feature_set_register)


def _start(
    request: MemberRequest, project: Project, name: str, form: forms.Form, start: Callable[..., FeatureSet]
) -> HttpResponse:
    """Go back to the page, or show it again with the form of this ``name`` and what is wrong there."""

    def create(**values: Any) -> Project:
        return start(project=project, actor=request.user, **values).project

    def page(bound: forms.Form, status: int) -> HttpResponse:
        return _page(request, project, status=status, **{name: bound})

    return save_form(form, create, page, PAGE)


def _page(request: MemberRequest, project: Project, *, status: int = 200, **bound: forms.Form) -> HttpResponse:
    page = page_of(request, FeatureSet.objects.filter(project=project))
    context = {
        "page": page,
        "making": ExtractionForm(project=project),
        "adding": FileForm(),
        "roots": settings.FEATURES_ROOTS,
        "videos": project.dataset.corpus.videos.count(),
        "without_file": project.dataset.corpus.videos.filter(file="").count(),
        "queries": project.queries.filter(is_placeholder=False).count(),
        **bound,
    }
    return render(request, "models_runner/features/features.html", context, status=status)


@feature_set_page
def feature_set_cancel(request: MemberRequest, feature_set: FeatureSet) -> HttpResponse:
    """Stop making features; what is made stays."""
    return _changed(request, feature_set, services.feature_set_cancel)


@feature_set_page
def feature_set_resume(request: MemberRequest, feature_set: FeatureSet) -> HttpResponse:
    """Go on where it stopped."""
    return _changed(request, feature_set, services.feature_set_resume)


@feature_set_page
def feature_set_model(request: MemberRequest, feature_set: FeatureSet) -> HttpResponse:
    """Say which text model made an official file of queries."""
    form = ModelForm(request.POST)
    if form.is_valid():
        return _changed(request, feature_set, partial(services.feature_set_model, **form.cleaned_data))
    messages.error(request, str(form.errors["model"][0]))
    return redirect(PAGE, feature_set.project.uuid)


def _changed(request: MemberRequest, feature_set: FeatureSet, change: Callable[..., FeatureSet]) -> HttpResponse:
    if request.method == "POST":
        try:
            change(feature_set=feature_set, actor=request.user)
        except NotPossible as error:
            messages.error(request, str(error))
    return redirect(PAGE, feature_set.project.uuid)


@feature_set_page
def feature_set_delete(request: MemberRequest, feature_set: FeatureSet) -> HttpResponse:
    """Ask, then remove features, with their file where it was made here."""
    error = None
    if request.method == "POST":
        try:
            services.feature_set_delete(feature_set=feature_set, actor=request.user)
        except NotPossible as refusal:
            error = refusal
        else:
            messages.success(request, f"The features {feature_set.name} are gone.")
            return redirect(PAGE, feature_set.project.uuid)
    context = {"row": feature_set, "uses": uses_of(feature_set), "error": error}
    return render(request, "models_runner/features/delete.html", context, status=409 if error else 200)
