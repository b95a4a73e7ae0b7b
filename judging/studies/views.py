"""Coverage studies: what is asked, what would be judged, and what was found."""

import secrets
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import STAFF, MemberRequest, grant, post_only, project_page
from accounts.models import Membership, Project
from annotation.models import Pooling
from annotation.pools.services.poolings import pooling_discard
from core.exceptions import NotPossible
from judging.figures.charts import study_figure
from judging.figures.views import drawing_answer, file_answer
from judging.studies.forms import LARGEST_SEED, CoverageForm
from judging.studies.selectors import (
    coverage_found,
    coverage_studies,
    plan_shortfall,
    pool_report,
    pooled_progress,
    queries_studied,
)
from judging.studies.services import coverage_request, pool_job, pool_open_request, queries_to_study


@project_page(STAFF)
def studies(request: MemberRequest, project: Project) -> HttpResponse:
    """The project's studies, and the form for another."""
    form = CoverageForm(project=project, initial={"seed": secrets.randbelow(LARGEST_SEED)})
    return _studies(request, project, form)


def _studies(request: HttpRequest, project: Project, form: CoverageForm, *, status: int = 200) -> HttpResponse:
    held = coverage_studies(project)
    context = {
        "form": form,
        "studies": [(study, queries_studied(study).count()) for study in held],
        "finished": queries_to_study(project).count(),
    }
    return render(request, "judging/studies/studies.html", context, status=status)


@project_page(STAFF)
@post_only("judging:coverage")
def study_create(request: MemberRequest, project: Project) -> HttpResponse:
    """Order a plan; nothing is opened by it."""
    form = CoverageForm(request.POST, project=project)
    if not form.is_valid():
        return _studies(request, project, form, status=422)
    queries = form.queries()
    study = coverage_request(project=project, queries=queries, draw=form.draw(), actor=request.user)
    if lack := form.lack(len(queries)):
        messages.warning(request, lack)
    return redirect("judging:coverage-study", study.uuid)


@login_required
def study(request: HttpRequest, study_uuid: UUID) -> HttpResponse:
    """One study: how far it is, what is to be judged for it, what was found."""
    held, _ = _granted(request, study_uuid)
    context: dict[str, object] = {"study": held, "queries": queries_studied(held)}
    context["shortfall"] = plan_shortfall(held)
    if held.is_at_work:
        context["job"] = held.project.jobs.filter(kind=pool_job(held)).order_by("-pk").first()
    elif held.state == Pooling.State.READY:
        context["report"] = report = pool_report(held)
        context["judgments"] = 2 * report.union.to_judge
        context["finished"] = queries_to_study(held.project).count()
    elif held.state == Pooling.State.DONE:
        context |= {"sheet": study_figure(held), "progress": pooled_progress(held)}
        context["coverage"] = found = coverage_found(held)
        context["beyond"] = [(one, one.per_query(len(found.by_query)), found.within[one.rank]) for one in found.beyond]
    return render(request, "judging/studies/study.html", context)


@login_required
@post_only("judging:coverage-study")
def study_open(request: HttpRequest, study_uuid: UUID) -> HttpResponse:
    held, membership = _granted(request, study_uuid)
    pool_open_request(pooling=held, actor=membership.user)
    return redirect("judging:coverage-study", held.uuid)


@login_required
@post_only("judging:coverage-study")
def study_discard(request: HttpRequest, study_uuid: UUID) -> HttpResponse:
    held, _ = _granted(request, study_uuid)
    try:
        pooling_discard(pooling=held)
    except NotPossible:
        messages.error(request, "This study is opened: its pairs are judged.")
        return redirect("judging:coverage-study", held.uuid)
    messages.success(request, "The plan was thrown away; nothing was opened.")
    return redirect("judging:coverage", held.project.uuid)


@login_required
def study_svg(request: HttpRequest, study_uuid: UUID) -> HttpResponse:
    held, _ = _granted(request, study_uuid)
    drawn = study_figure(held).svg(f"Coverage study: {held.project}", empty="Nothing is judged yet.")
    return drawing_answer(drawn, "coverage")


@login_required
def study_csv(request: HttpRequest, study_uuid: UUID) -> HttpResponse:
    """A row for each query and band."""
    held, _ = _granted(request, study_uuid)
    return file_answer(study_figure(held).csv(), "text/csv; charset=utf-8", "coverage.csv")


def _granted(request: HttpRequest, study_uuid: UUID) -> tuple[Pooling, Membership]:
    held = Pooling.objects.filter(seed__isnull=False).select_related("project")
    found = get_object_or_404(held, uuid=study_uuid)
    return found, grant(request, found.project, STAFF)
