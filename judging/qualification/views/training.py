"""Training material: the lead draws pairs, grades and explains them, and puts them in the tutorial's order."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from accounts.access import LEAD, STAFF, MemberRequest, project_action, project_page, row_page
from accounts.models import Project
from core.forms import refused_form
from core.lists import page_of
from judging.models import KnownPair
from judging.projects.selectors import training_pairs, training_queries, tutorial_levels, tutorial_shown
from judging.qualification.forms import DrawForm, MoveForm, TrainingPairForm
from judging.qualification.services import training as services
from judging.review.selectors import job_failed
from judging.work.rules import rules_of

TRAINING_PAIRS = KnownPair.objects.filter(source=KnownPair.Source.LEAD).select_related("project__dataset__corpus")
PAGE = "judging/qualification/training.html"
PER_PAGE = 2
SHOWS = {"open": "to grade", "graded": "graded", "": "all"}


@project_page(STAFF)
def training(request: MemberRequest, project: Project) -> HttpResponse:
    return render(request, PAGE, _context(request, project))


def _context(request: MemberRequest, project: Project) -> dict[str, Any]:
    failed = job_failed(project, services.JOB)
    show = request.GET.get("show", "")
    page = page_of(request, training_queries(project, show=show), PER_PAGE)
    return {
        **_tutorial(project),
        "page": page,
        "drawn": [(query, training_pairs(query)) for query in page],
        "show": show,
        "shows": SHOWS,
        "form": DrawForm(),
        "job": project.jobs.filter(kind=services.JOB, state="running").first(),
        "failed": failed.error if failed else "",
        "grades": rules_of(project).grades,
    }


def _tutorial(project: Project) -> dict[str, Any]:
    pairs = tutorial_shown(project)
    levels = tutorial_levels(pairs, rules_of(project).grades)
    missing = [str(grade) for grade, count in levels if not count]
    return {"tutorial": pairs, "levels": levels, "missing": missing, "most": max(count for _, count in levels) or 1}


@project_action(LEAD, back="judging:training")
def training_draw(request: MemberRequest, project: Project) -> HttpResponse:
    form = DrawForm(request.POST)
    if not form.is_valid():
        return refused_form(request, PAGE, {**_context(request, project), "form": form}, form)
    services.training_request(project=project, actor=request.user, **form.cleaned_data)
    return redirect("judging:training", project.uuid)


@row_page(TRAINING_PAIRS, STAFF)
def pair(request: MemberRequest, known_pair: KnownPair) -> HttpResponse:
    """Redirect to the pair's place among the others."""
    queries = list(training_queries(known_pair.project, show="").values_list("pk", flat=True))
    page = queries.index(known_pair.query_id) // PER_PAGE + 1
    return redirect(f"{reverse('judging:training', args=[known_pair.project.uuid])}?page={page}#pair-{known_pair.uuid}")


@row_page(TRAINING_PAIRS, LEAD, back="judging:training-pair")
def pair_grade(request: MemberRequest, known_pair: KnownPair) -> HttpResponse:
    """Keep the grade and why; with ``then`` put the pair into the tutorial, or show it as the grade's example."""
    form = TrainingPairForm(request.POST)
    if not form.is_valid():
        return refused_form(request, PAGE, _context(request, known_pair.project) | {"refused": known_pair.uuid}, form)
    then = form.cleaned_data.pop("then")
    services.training_pair_grade(known_pair=known_pair, actor=request.user, **form.cleaned_data)
    if then == "tutorial":
        services.tutorial_add(known_pair=known_pair, actor=request.user)
    if then == "example":
        services.training_pair_as_example(known_pair=known_pair, actor=request.user)
        messages.success(request, f"The guideline's draft shows this pair for grade {form.cleaned_data['grade']}.")
    return redirect("judging:training-pair", known_pair.uuid)


@row_page(TRAINING_PAIRS, LEAD, back="judging:training-pair")
def pair_move(request: MemberRequest, known_pair: KnownPair) -> HttpResponse:
    form = MoveForm(request.POST)
    if not form.is_valid():
        return refused_form(request, PAGE, _context(request, known_pair.project), form)
    services.tutorial_move(known_pair=known_pair, actor=request.user, by=form.cleaned_data["by"])
    return _tutorial_shown(request, known_pair.project)


@row_page(TRAINING_PAIRS, LEAD, back="judging:training-pair")
def pair_remove(request: MemberRequest, known_pair: KnownPair) -> HttpResponse:
    """Out of the tutorial; the pair and its grade stay."""
    services.tutorial_remove(known_pair=known_pair, actor=request.user)
    return _tutorial_shown(request, known_pair.project)


def _tutorial_shown(request: MemberRequest, project: Project) -> HttpResponse:
    if request.htmx:
        return render(request, f"{PAGE}#tutorial", _tutorial(project))
    return redirect(f"{reverse('judging:training', args=[project.uuid])}#tutorial")
