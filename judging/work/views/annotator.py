"""Pages of the annotator around the judging page: where to start, and what was given.

Previews, to those who may watch them.
"""

from typing import cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from accounts.access import ANNOTATOR, MemberRequest, project_page
from accounts.models import Project, User
from accounts.rules import OUT
from core.files import IMMUTABLE, file_answer
from judging.models import Assignment
from judging.qualification.views.way import way_of
from judging.review.selectors import job_running
from judging.work.selectors.annotator import given_in, open_assignment, preview_visible_to, work_done
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
    return render(request, f"judging/work/desk.html{part}", context)


@project_page(ANNOTATOR)
def own_grades(request: MemberRequest, project: Project) -> HttpResponse:
    """What the annotator gave, batch by batch; never how a pair was settled."""
    ended = request.user.assignments.filter(project=project).exclude(state=Assignment.State.OPEN)
    page = Paginator(ended.select_related("batch__query").order_by("-id"), PER_PAGE).get_page(request.GET.get("page"))
    given = [(assignment, *given_in(assignment)) for assignment in page]
    context = {"page": page, "given": given, "is_out": request.membership.standing in OUT}
    return render(request, "judging/work/own_grades.html", context)


@login_required
def preview(request: HttpRequest, preview_uuid: UUID) -> HttpResponseBase:
    """The GIF of a moment; 404 for everybody but its judges, leads and admins, and where it is an example."""
    moment = preview_visible_to(user=cast(User, request.user), preview=preview_uuid)
    if moment is None:
        raise Http404
    return file_answer(request, moment.preview, content_type="image/gif", cache=IMMUTABLE)


@login_required
def clip(request: HttpRequest, preview_uuid: UUID) -> HttpResponseBase:
    """The GIF's twin, an MP4 or a part of it, to the same people; 404 where there is none."""
    moment = preview_visible_to(user=cast(User, request.user), preview=preview_uuid)
    if moment is None or not moment.preview_clip:
        raise Http404
    return file_answer(request, moment.preview_clip, content_type="video/mp4", cache=IMMUTABLE)
