"""Training material: the lead draws pairs, grades and explains them, and puts them in the tutorial's order."""

from secrets import randbelow
from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from accounts.access import LEAD, STAFF, MemberRequest, grant, post_only, project_page
from accounts.models import Project
from core.forms import refused_form
from judging.models import KnownPair
from judging.projects.selectors import training_pairs, training_queries, tutorial_levels, tutorial_shown
from judging.qualification.forms import DrawForm, MoveForm, TrainingPairForm
from judging.qualification.services import training as services
from judging.review.selectors import job_failed
from judging.work.rules import GRADES

PAGE = "judging/qualification/training.html"
PER_PAGE = 2
SHOWS = {"open": "to grade", "graded": "graded", "": "all"}


@project_page(STAFF)
def training(request: MemberRequest, project: Project) -> HttpResponse:
    return render(request, PAGE, _context(request, project))


def _context(request: MemberRequest, project: Project) -> dict[str, Any]:
    failed = job_failed(project, services.JOB)
    show = request.GET.get("show", "")
    page = Paginator(training_queries(project, show=show), PER_PAGE).get_page(request.GET.get("page"))
    return {
        **_tutorial(project),
        "page": page,
        "drawn": [(query, training_pairs(query)) for query in page],
        "show": show,
        "shows": SHOWS,
        "keep": f"&{urlencode({'show': show})}" if show else "",
        "form": DrawForm(),
        "job": project.jobs.filter(kind=services.JOB, state="running").first(),
        "failed": failed.error if failed else "",
        "grades": GRADES,
        "may_decide": request.membership.role in LEAD,
    }


def _tutorial(project: Project) -> dict[str, Any]:
    pairs = tutorial_shown(project)
    levels = tutorial_levels(pairs)
    missing = [str(grade) for grade, count in levels if not count]
    return {"tutorial": pairs, "levels": levels, "missing": missing, "most": max(count for _, count in levels) or 1}


@project_page(LEAD)
@post_only("judging:training")
def training_draw(request: MemberRequest, project: Project) -> HttpResponse:
    form = DrawForm(request.POST)
    if not form.is_valid():
        return refused_form(request, PAGE, {**_context(request, project), "form": form}, form)
    seed = form.cleaned_data["seed"]
    services.training_request(
        project=project,
        actor=request.user,
        queries=form.cleaned_data["queries"],
        seed=randbelow(2**31) if seed is None else seed,
    )
    return redirect("judging:training", project.uuid)


@login_required
def pair(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    """Where somebody who follows a pair's address ends: its place among the others."""
    row = _granted(request, pair_uuid, STAFF)
    queries = list(training_queries(row.project, show="").values_list("pk", flat=True))
    page = queries.index(row.query_id) // PER_PAGE + 1
    return redirect(f"{reverse('judging:training', args=[row.project.uuid])}?page={page}#pair-{row.uuid}")


@login_required
@post_only("judging:training-pair")
def pair_grade(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    """Keep the grade and why; with ``then`` put the pair into the tutorial, or show it as the grade's example."""
    row = _granted(request, pair_uuid, LEAD)
    member = cast(MemberRequest, request)
    form = TrainingPairForm(request.POST)
    if not form.is_valid():
        return refused_form(request, PAGE, _context(member, row.project) | {"refused": row.uuid}, form)
    cleaned = form.cleaned_data
    services.training_pair_grade(
        known_pair=row, actor=member.user, grade=cleaned["grade"], explanation=cleaned["explanation"]
    )
    if cleaned["then"] == "tutorial":
        services.tutorial_add(known_pair=row, actor=member.user)
    if cleaned["then"] == "example":
        services.training_pair_as_example(known_pair=row, actor=member.user)
        messages.success(request, f"The guideline's draft shows this pair for grade {cleaned['grade']}.")
    return redirect("judging:training-pair", row.uuid)


@login_required
@post_only("judging:training-pair")
def pair_move(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    row = _granted(request, pair_uuid, LEAD)
    member = cast(MemberRequest, request)
    form = MoveForm(request.POST)
    if not form.is_valid():
        return refused_form(request, PAGE, _context(member, row.project), form)
    services.tutorial_move(known_pair=row, actor=member.user, by=form.cleaned_data["by"])
    return _tutorial_shown(member, row.project)


@login_required
@post_only("judging:training-pair")
def pair_remove(request: HttpRequest, pair_uuid: UUID) -> HttpResponse:
    """Out of the tutorial; the pair and its grade stay."""
    row = _granted(request, pair_uuid, LEAD)
    services.tutorial_remove(known_pair=row, actor=cast(MemberRequest, request).user)
    return _tutorial_shown(cast(MemberRequest, request), row.project)


def _tutorial_shown(request: MemberRequest, project: Project) -> HttpResponse:
    if request.htmx:
        return render(request, f"{PAGE}#tutorial", _tutorial(project) | {"may_decide": True})
    return redirect(f"{reverse('judging:training', args=[project.uuid])}#tutorial")


def _granted(request: HttpRequest, pair_uuid: UUID, roles: frozenset[Any]) -> KnownPair:
    pairs = KnownPair.objects.filter(source=KnownPair.Source.LEAD).select_related("project__dataset__corpus")
    row = get_object_or_404(pairs, uuid=pair_uuid)
    grant(request, row.project, roles)
    return row
