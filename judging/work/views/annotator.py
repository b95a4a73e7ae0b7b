"""Pages of the annotator around the judging page: where to start, what was given, and the previews."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from accounts.access import ANNOTATOR, MemberRequest, project_page
from accounts.models import Project
from accounts.rules import OUT
from judging.models import Assignment
from judging.qualification.views.way import way_of
from judging.review.selectors import job_running
from judging.work.media import preview_gif, preview_mp4
from judging.work.selectors.annotator import given_in, open_assignment, work_done
from judging.work.selectors.seats import work_waits
from judging.work.views.judge import midnight

PER_PAGE = 10


@project_page(ANNOTATOR)
def desk(request: MemberRequest, project: Project) -> HttpResponse:
    """Where an annotator starts: what comes next on their way; once qualified, what is open and what was done."""
    assignment = open_assignment(project=project, annotator=request.user)
    context = {
        "assignment": assignment,
        "work": work_done(project=project, annotator=request.user, since=midnight()),
        "more": assignment is None and work_waits(project_id=project.pk, annotator_id=request.user.pk),
        "job": job_running(project),
        "way": way_of(project=project, annotator=request.user),
    }
    part = "#start" if request.htmx else ""
    return render(request, f"judging/desk.html{part}", context)


@project_page(ANNOTATOR)
def own_grades(request: MemberRequest, project: Project) -> HttpResponse:
    """What the annotator gave, batch by batch; never how a pair was settled."""
    ended = request.user.assignments.filter(project=project).exclude(state=Assignment.State.OPEN)
    page = Paginator(ended.select_related("batch__query").order_by("-id"), PER_PAGE).get_page(request.GET.get("page"))
    given = [(assignment, *given_in(assignment)) for assignment in page]
    context = {"page": page, "given": given, "is_out": request.membership.standing in OUT}
    return render(request, "judging/own_grades.html", context)


@login_required
def preview(request: HttpRequest, preview_uuid: UUID) -> HttpResponseBase:
    return preview_gif(request, preview_uuid)


@login_required
def clip(request: HttpRequest, preview_uuid: UUID) -> HttpResponseBase:
    return preview_mp4(request, preview_uuid)
