"""Pages of checkers: one query at a time with its moment, and what they decided."""

from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render

from accounts.access import CHECKER, READERS, MemberRequest, grant, project_page, row_page
from accounts.models import Project, User
from annotation.previews.responses import video_answer
from core.exceptions import NotPossible
from core.forms import errors_as_messages
from core.lists import page_of
from core.refusals import refusal_log
from judging.checking import selectors, services
from judging.checking.forms import CheckForm
from judging.collection.rules import TYPE_LABELS, warnings_of
from judging.collection.selectors import lines_of
from judging.collection.views import player_data
from judging.exceptions import NotAssigned
from judging.models import QueryCheck, WrittenQuery
from judging.review.selectors import demo_job

QUERIES = WrittenQuery.objects.select_related("clip__round__project", "clip__video")
CHECKS = QueryCheck.objects.select_related("query__clip__round__project")
PROJECT = "clip.round.project"


@project_page(CHECKER)
def desk(request: MemberRequest, project: Project) -> HttpResponse:
    """Where a checker starts: how many queries wait, and what they decided."""
    context = {
        "waiting": selectors.waiting_for(project, request.user),
        "page": page_of(request, selectors.checks_by(project, request.user)),
        "job": demo_job(project),
    }
    return render(request, "judging/checking/desk.html", context)


@project_page(CHECKER)
def check(request: MemberRequest, project: Project) -> HttpResponse:
    """The query at hand, or the next one."""
    row = services.query_take(project=project, checker=request.user)
    if row is None:
        messages.info(request, "No query waits for you. Look again later.")
        return redirect("judging:checking-desk", project.uuid)
    return render(request, "judging/checking/check.html", _context(request, project, row))


def _context(request: MemberRequest, project: Project, row: WrittenQuery) -> dict[str, Any]:
    video, lines = row.clip.video, lines_of(row.clip.video)
    last = selectors.checks_by(project, request.user).first()
    return {
        "query": row,
        "video": video,
        "type": TYPE_LABELS[row.type],
        "lines": lines,
        "data": player_data(video, lines) | {"start": row.start_s, "end": row.end_s},
        "neighbours": selectors.neighbours_of(row),
        "doubles": selectors.doubles_of(row),
        "warnings": warnings_of(row.text),
        "reasons": QueryCheck.Reason.choices,
        "last": last if last and last.undone_at is None else None,
        "n_waiting": selectors.waiting_for(project, request.user),
    }


@row_page(QUERIES, READERS, project=PROJECT)
def query_video(request: MemberRequest, row: WrittenQuery) -> HttpResponseBase:
    """The video of a written query, or the part that a player needs."""
    return video_answer(request, row.clip.video)


@row_page(QUERIES, CHECKER, project=PROJECT)
def decide(request: MemberRequest, row: WrittenQuery) -> HttpResponse:
    """Take what the checker says, and go on to the next query."""
    project = row.clip.round.project
    if request.method != "POST":
        return redirect("judging:query-to-check", project.uuid)
    form = CheckForm(request.POST)
    if not form.is_valid():
        return _refused(request, row, form.first_error())
    verdict = form.verdict(start_s=row.start_s, end_s=row.end_s)
    try:
        active_ms = form.cleaned_data["active_ms"]
        services.query_check(query=row.uuid, checker=request.user, verdict=verdict, active_ms=active_ms)
    except NotPossible as error:
        return _refused(request, row, str(error))
    return redirect("judging:query-to-check", project.uuid)


def _refused(request: MemberRequest, row: WrittenQuery, problem: str) -> HttpResponse:
    """Say why nothing was stored; what was entered stays on the page while the query waits."""
    row.refresh_from_db()
    project = row.clip.round.project
    if row.state != WrittenQuery.State.WAITING or row.writer_id == request.user.pk:
        messages.error(request, problem)
        return redirect("judging:query-to-check", project.uuid)
    context = _context(request, project, row) | {"problem": problem, "sent": request.POST}
    return refusal_log(request, render(request, "judging/checking/check.html", context, status=422), problem)


@login_required
def undo(request: HttpRequest, check_uuid: UUID) -> HttpResponse:
    """Take a decision of one's own back; 404 for everybody else."""
    row = CHECKS.filter(uuid=check_uuid, checker=request.user.pk).first()
    if row is None:
        raise NotAssigned("You have made no such decision.")
    project = row.query.clip.round.project
    grant(request, project, CHECKER)
    if request.method == "POST":
        with errors_as_messages(request, NotPossible):
            services.check_undo(check=row.uuid, checker=cast(User, request.user))
            messages.success(request, "Taken back: the query waits again.")
    return redirect("judging:checking-desk", project.uuid)
