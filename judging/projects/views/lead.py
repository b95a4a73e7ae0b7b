"""Pages of the lead: state, queries, one batch. Admins may look, leads decide."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from accounts.access import LEAD, STAFF, MemberRequest, grant, post_only, project_page
from accounts.models import Project
from annotation.corpora.selectors import corpus_is_seen
from annotation.models import Candidate
from annotation.queries.selectors import measures_of
from annotation.similarity.base import SimilarityMissing
from judging.forms import SimilarityForm
from judging.models import Batch, BatchReview, Pair
from judging.projects import services
from judging.projects.charts import DayChart
from judging.projects.policies import policy_in_force
from judging.projects.selectors import overview as projects_overview
from judging.review.selectors import (
    job_failed,
    job_running,
    queries_unfrozen,
    queries_without_batch,
    review_may_be_undone,
)
from judging.review.views import cases_of, shared
from judging.studies.selectors import contributions

PER_PAGE = 50


@project_page(STAFF)
def overview(request: MemberRequest, project: Project) -> HttpResponse:
    """How far the project is; the page asks again by itself, and is told nothing while nothing has changed."""
    policy = policy_in_force(project.pk)
    found = projects_overview.overview(project, policy, now=timezone.now())
    if request.htmx and request.GET.get("seen") == found.digest:
        return HttpResponse(status=204)
    context = {"found": found, "chart": DayChart(found.days, found.finish.per_day), "policy": policy}
    part = "#state" if request.htmx else ""
    return render(request, f"judging/projects/overview.html{part}", context)


@project_page(STAFF)
def queries(request: MemberRequest, project: Project) -> HttpResponse:
    """Judged queries with the state of their batches."""
    found = Batch.objects.filter(project=project).select_related("query", "review", "pooling")
    if words := request.GET.get("q", "").replace("\0", "").strip():
        found = found.filter(query__text__icontains=words)
    if (state := request.GET.get("state", "")) in Batch.State.values:
        found = found.filter(state=state)
    found = found.annotate(
        total=Count("pairs"),
        settled=Count("pairs", filter=Q(pairs__state=Pair.State.SETTLED)),
        escalated=Count("pairs", filter=Q(pairs__state=Pair.State.ESCALATED)),
        dropped=Count("pairs", filter=Q(pairs__state=Pair.State.DROPPED)),
    ).order_by("query__number", "number")
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "words": words,
        "state": state,
        "without_batch": queries_without_batch(project).count(),
        "job": job_running(project),
        "stopped": job_failed(project, services.JOB),
        "measures": measures_of(project),
        "candidates": Candidate.objects.filter(query__project=project, query__is_placeholder=False).count(),
        "unfrozen": queries_unfrozen(project).count(),
        "is_seen": corpus_is_seen(project.dataset.corpus_id),
        "form": SimilarityForm(chosen=project.dataset.similarity),
    }
    return render(request, "judging/projects/queries.html", context)


@project_page(STAFF)
@post_only("judging:queries")
def batches_open(request: MemberRequest, project: Project) -> HttpResponse:
    """Rank candidates and open the first batch of every judged query that has none."""
    return _rank(request, project, services.batches_request, "Candidates are being ranked; then batches open.")


@project_page(STAFF)
@post_only("judging:queries")
def candidates_rank(request: MemberRequest, project: Project) -> HttpResponse:
    """Rank candidates, anew for queries without a batch, and open nothing."""
    return _rank(request, project, services.candidates_request, "Candidates are being ranked.")


def _rank(request: MemberRequest, project: Project, asked: Callable[..., object], said: str) -> HttpResponse:
    similarity = None
    if "similarity" in request.POST:
        form = SimilarityForm(request.POST, chosen=project.dataset.similarity)
        if not form.is_valid():
            messages.error(request, form.first_error())
            return redirect("judging:queries", project.uuid)
        similarity = form.cleaned_data["similarity"]
    try:
        asked(project=project, actor=request.user, similarity=similarity)
    except SimilarityMissing as error:
        messages.error(request, str(error))
    else:
        messages.success(request, said)
    return redirect("judging:queries", project.uuid)


@login_required
def batch(request: HttpRequest, batch_uuid: UUID) -> HttpResponse:
    """One batch: its candidates by rank, grades behind each."""
    held = get_object_or_404(Batch.objects.select_related("project", "query"), uuid=batch_uuid)
    membership = grant(request, held.project, STAFF)
    [case] = cases_of(held.project, [held])
    review = BatchReview.objects.filter(batch=held).select_related("batch").first()
    returned = contributions(row["pair"].candidate_id for row in case.rows)
    context = {
        **shared(request),
        "batch": held,
        "case": case,
        "rows": [{**row, "returned": returned.get(row["pair"].candidate_id, [])} for row in case.rows],
        "bars": case.bars,
        "review": review,
        "undoable": review is not None and review_may_be_undone(review),
        "waiting": held.awaits_review,
        "suggestion": case.outlook.suggestion,
        "others": held.query.batches.exclude(pk=held.pk).order_by("number"),
        "may_decide": membership.role in LEAD,
    }
    return render(request, "judging/projects/batch.html", context)
