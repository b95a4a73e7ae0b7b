"""Pages of the annotator around the judging page: where to start, and what was given."""

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render

from annotation.access import ANNOTATOR, MemberRequest, project_page
from annotation.models import Project
from annotation.rules.standing import OUT
from judging import selectors
from judging.models import Assignment
from judging.views.judge import midnight
from judging.views.way import way_of

PER_PAGE = 10


@project_page(ANNOTATOR)
def desk(request: MemberRequest, project: Project) -> HttpResponse:
    """Where an annotator starts: what comes next on their way; once qualified, what is open and what was done."""
    assignment = selectors.open_assignment(project=project, annotator=request.user)
    context = {
        "assignment": assignment,
        "work": selectors.work_done(project=project, annotator=request.user, since=midnight()),
        "more": assignment is None and selectors.work_waits(project_id=project.pk, annotator_id=request.user.pk),
        "job": selectors.job_running(project),
        "way": way_of(project=project, annotator=request.user),
    }
    part = "#start" if request.htmx else ""
    return render(request, f"judging/desk.html{part}", context)


@project_page(ANNOTATOR)
def own_grades(request: MemberRequest, project: Project) -> HttpResponse:
    """What the annotator gave, batch by batch; never how a pair was settled."""
    ended = request.user.assignments.filter(project=project).exclude(state=Assignment.State.OPEN)
    page = Paginator(ended.select_related("batch__query").order_by("-id"), PER_PAGE).get_page(request.GET.get("page"))
    given = [(assignment, *selectors.given_in(assignment)) for assignment in page]
    context = {"page": page, "given": given, "is_out": request.membership.standing in OUT}
    return render(request, "judging/own_grades.html", context)
