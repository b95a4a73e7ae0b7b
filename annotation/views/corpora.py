"""Pages of the corpus."""

from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpResponse
from django.shortcuts import render

from annotation.access import STAFF, MemberRequest, project_page
from annotation.corpus_steps import next_step
from annotation.models import Moment, Project

PER_PAGE = 50


@project_page(STAFF)
def corpus(request: MemberRequest, project: Project) -> HttpResponse:
    """Videos of the corpus with the state of their moments' previews, and what could not be cut."""
    state = Moment.Preview
    videos = project.corpus.videos.annotate(
        total=Count("moments"),
        ready=Count("moments", filter=Q(moments__preview_state=state.READY)),
        failed=Count("moments", filter=Q(moments__preview_state=state.FAILED)),
    ).order_by("name")
    failures = Moment.objects.filter(video__corpus=project.corpus_id, preview_state=state.FAILED).select_related(
        "video"
    )
    counts = dict(
        Moment.objects.filter(video__corpus=project.corpus_id)
        .values_list("preview_state")
        .annotate(n=Count("pk"))
        .order_by()
    )
    page = Paginator(videos, PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "failures": failures.order_by("video__name", "start_s")[:PER_PAGE],
        "counts": counts,
        "step": next_step(project),
    }
    return render(request, "annotation/corpus.html", context)
