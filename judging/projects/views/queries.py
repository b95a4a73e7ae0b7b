"""Query sets: what goes first, and what rests.

The candidates of all queries, for study outside.

Captions edited after queries and candidates were made of them: told, not applied.
"""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import LEAD, STAFF, MemberRequest, grant, post_only, project_page
from accounts.models import Project
from annotation.models import Candidate, NamedQuerySet
from core.exceptions import NotPossible
from core.spreadsheets import csv_download, csv_stream
from judging.forms import QuerySetChangeForm, QuerySetForm
from judging.projects import services
from judging.projects.selectors import queries
from judging.projects.selectors.queries import (
    Edit,
    edit_counts,
    queries_matching,
    queries_outside_sets,
    query_sets_with_counts,
)
from judging.review.selectors import job_running, queries_unfrozen


@project_page(STAFF)
def query_sets(request: MemberRequest, project: Project) -> HttpResponse:
    context = {
        "sets": query_sets_with_counts(project),
        "priorities": NamedQuerySet.Priority.choices,
        "outside": queries_outside_sets(project).count(),
        "form": QuerySetForm(),
        "may_decide": request.membership.role in LEAD,
    }
    return render(request, "judging/projects/query_sets.html", context)


@project_page(LEAD)
@post_only("judging:query-sets")
def query_set_create(request: MemberRequest, project: Project) -> HttpResponse:
    form = QuerySetForm(request.POST)
    if not form.is_valid():
        messages.error(request, form.first_error())
        return redirect("judging:query-sets", project.uuid)
    found = queries_matching(project, split=form.cleaned_data["split"], words=form.cleaned_data["words"])
    try:
        made = services.query_set_create(
            project=project, name=form.cleaned_data["name"], queries=found, actor=request.user
        )
    except NotPossible as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"{made.name} holds {made.queries.count()} queries.")
    return redirect("judging:query-sets", project.uuid)


@login_required
@post_only("judging:query-set")
def query_set_change(request: HttpRequest, set_uuid: UUID) -> HttpResponse:
    held = get_object_or_404(NamedQuerySet.objects.select_related("project"), uuid=set_uuid)
    membership = grant(request, held.project, LEAD)
    form = QuerySetChangeForm(request.POST)
    if not form.is_valid():
        messages.error(request, form.first_error())
    else:
        paused = {"pause": True, "resume": False}.get(form.cleaned_data["pause"])
        pilot = {"yes": True, "no": False}.get(form.cleaned_data["pilot"])
        services.query_set_change(
            query_set=held,
            actor=membership.user,
            priority=form.cleaned_data["priority"],
            is_paused=paused,
            is_pilot=pilot,
        )
        held.refresh_from_db()
        state = ("paused" if held.is_paused else "open") + (", a pilot" if held.is_pilot else "")
        messages.success(request, f"{held.name}: priority {held.get_priority_display().lower()}, {state}.")
    return redirect("judging:query-sets", held.project.uuid)


@login_required
def query_set(request: HttpRequest, set_uuid: UUID) -> HttpResponse:
    """Where somebody who follows a set's address ends: its row among the others."""
    held = get_object_or_404(NamedQuerySet.objects.select_related("project"), uuid=set_uuid)
    grant(request, held.project, STAFF)
    return redirect("judging:query-sets", held.project.uuid)


CHUNK = 2000  # rows read, and sent, at once
COLUMNS: dict[str, str] = {
    "query_id": "query__number",
    "split": "query__split",
    "query": "query__text",
    "rank": "rank",
    "similarity": "similarity",
    "source": "source",
    "video_name": "moment__video__name",
    "start": "moment__start_s",
    "end": "moment__end_s",
    "captions": "wordings",
    "measure": "measure__name",
}


@project_page(STAFF)
def candidates_csv(request: MemberRequest, project: Project) -> StreamingHttpResponse:
    return csv_stream("candidates.csv", list(COLUMNS), _rows(project))


def _rows(project: Project) -> Iterator[list[object]]:
    rows = Candidate.objects.filter(query__project=project, query__is_placeholder=False)
    found: QuerySet[Any] = rows.order_by("query__number", "rank").values_list(*COLUMNS.values())
    for *facts, wordings, measure in found.iterator(chunk_size=CHUNK):
        said = " | ".join(wordings[key] for key in sorted(wordings, key=int))
        yield [*facts, said, measure]


PER_PAGE = 50
EDIT_COLUMNS = ["made_of_it", "frozen", "video", "start", "end", "before", "after", "serves", "changed_at", "queries"]


@project_page(STAFF)
def caption_edits(request: MemberRequest, project: Project) -> HttpResponse:
    """What reads otherwise now; candidates that no batch holds can be ranked again."""
    edits = queries.caption_edits(project)
    context = {
        "counts": edit_counts(project),
        "page": Paginator(edits, PER_PAGE).get_page(request.GET.get("page")),
        "unfrozen": queries_unfrozen(project).count(),
        "job": job_running(project),
    }
    return render(request, "judging/projects/caption_edits.html", context)


@project_page(STAFF)
def edits_said(request: MemberRequest, project: Project) -> HttpResponse:
    """A line for the page of queries, which need not wait until everything is compared."""
    return render(request, "judging/projects/_edits_said.html", {"edits": edit_counts(project)})


@project_page(STAFF)
def caption_edits_csv(request: MemberRequest, project: Project) -> HttpResponse:
    return csv_download("caption-edits.csv", EDIT_COLUMNS, map(_row, queries.caption_edits(project)))


def _row(edit: Edit) -> list[object]:
    changed = edit.changed_at.isoformat() if edit.changed_at else ""
    frozen, serves = ("yes" if said else "no" for said in (edit.frozen, edit.serves))
    place = [edit.video, edit.start_s, edit.end_s]
    return [edit.kind, frozen, *place, edit.before, edit.after, serves, changed, " ".join(map(str, edit.queries))]
