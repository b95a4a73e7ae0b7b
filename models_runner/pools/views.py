"""Pages of pools: choosing runs, looking at what they would add, opening it, and the report, also as CSV."""

from django.contrib import messages
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import redirect, render

from accounts.access import STAFF, MemberRequest, project_action, project_page, row_page
from accounts.models import Project
from annotation.models import Pooling
from annotation.pools.services.new_moments import new_moments_of
from annotation.pools.services.poolings import pooling_discard
from core.exceptions import NotPossible
from core.lists import csv_download, page_of
from judging.releases.selectors import finished_queries
from judging.studies.selectors import (
    COLUMNS,
    OVERLAP_COLUMNS,
    PoolReport,
    overlap_rows,
    pool_report,
    pooled_progress,
    report_rows,
)
from judging.studies.services import pool_job, pool_open_request
from models_runner.pools.forms import PoolForm
from models_runner.pools.services import pool_request

PER_PAGE = 50
POOLINGS = Pooling.objects.filter(seed=None).select_related("project", "query_set")  # coverage studies have a page


@project_page(STAFF)
def pools(request: MemberRequest, project: Project) -> HttpResponse:
    """The project's pools, and the form for another."""
    return _pools(request, project, PoolForm(project=project))


def _pools(request: MemberRequest, project: Project, form: PoolForm, *, status: int = 200) -> HttpResponse:
    poolings = project.poolings.filter(seed=None).exclude(state=Pooling.State.DISCARDED)
    poolings = poolings.select_related("query_set").prefetch_related("sources")
    context = {
        "form": form,
        "poolings": poolings.annotate(added=Count("candidates")),
        "begun": project.batches.exists(),
    }
    return render(request, "models_runner/pools/pools.html", context, status=status)


@project_action(STAFF, back="pools:pools")
def pool_create(request: MemberRequest, project: Project) -> HttpResponse:
    """Order a plan; nothing is opened by it."""
    form = PoolForm(request.POST, project=project)
    if not form.is_valid():
        return _pools(request, project, form, status=422)
    pooling = pool_request(
        project=project, runs=form.chosen(), features=form.pairs(), scope=form.scope(), actor=request.user
    )
    return redirect("pools:pool", pooling.uuid)


@row_page(POOLINGS, STAFF)
def pool(request: MemberRequest, pooling: Pooling) -> HttpResponse:
    """One pool: how far it is, what it adds or added, and the question whether to open it."""
    context: dict[str, object] = {"pooling": pooling, "sources": pooling.sources.all()}
    if pooling.is_at_work:
        context["job"] = pooling.project.jobs.filter(kind=pool_job(pooling)).order_by("-pk").first()
    elif pooling.state in (Pooling.State.READY, Pooling.State.DONE):
        report = pool_report(pooling)
        context |= {
            "report": report,
            "new_moments": new_moments_of(pooling).count(),
            "judgments": pooling.project.judges * report.union.to_judge,
            **_of_state(pooling, report),
        }
        context["page"] = page_of(request, report.queries, PER_PAGE)
    return render(request, "models_runner/pools/pool.html", context)


def _of_state(pooling: Pooling, report: PoolReport) -> dict[str, object]:
    if pooling.is_opened:
        return {"progress": pooled_progress(pooling)}
    growing = [row.query.pk for row in report.growing]
    reopened = finished_queries(pooling.project_id).filter(pk__in=growing).distinct()
    return {"reopened": reopened.count()}


@row_page(POOLINGS, STAFF, back="pools:pool")
def pool_open(request: MemberRequest, pooling: Pooling) -> HttpResponse:
    pool_open_request(pooling=pooling, actor=request.user)
    return redirect("pools:pool", pooling.uuid)


@row_page(POOLINGS, STAFF, back="pools:pool")
def pool_discard(request: MemberRequest, pooling: Pooling) -> HttpResponse:
    try:
        pooling_discard(pooling=pooling)
    except NotPossible as error:
        messages.error(request, str(error))
        return redirect("pools:pool", pooling.uuid)
    messages.success(request, "The plan was discarded; nothing was opened.")
    return redirect("pools:pools", pooling.project.uuid)


@row_page(POOLINGS, STAFF)
def pool_csv(request: MemberRequest, pooling: Pooling) -> HttpResponse:
    """The report by query and source."""
    return csv_download(f"pool-{pooling.created_at:%Y%m%d-%H%M}.csv", COLUMNS, report_rows(pool_report(pooling)))


@row_page(POOLINGS, STAFF)
def overlap_csv(request: MemberRequest, pooling: Pooling) -> HttpResponse:
    """A row for each two sources, similarity among them."""
    return csv_download(
        f"pool-overlap-{pooling.created_at:%Y%m%d-%H%M}.csv", OVERLAP_COLUMNS, overlap_rows(pool_report(pooling))
    )
