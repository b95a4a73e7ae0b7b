"""Captions edited after queries and candidates were made of them: told, not applied."""

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render

from annotation.access import STAFF, MemberRequest, project_page
from annotation.models import Project
from annotation.spreadsheets import csv_download
from judging import selectors
from judging.selectors import Edit

PER_PAGE = 50
COLUMNS = ["made_of_it", "frozen", "video", "start", "end", "before", "after", "serves", "changed_at", "queries"]


@project_page(STAFF)
def caption_edits(request: MemberRequest, project: Project) -> HttpResponse:
    """What reads otherwise now; candidates that no batch holds can be ranked again."""
    edits = selectors.caption_edits(project)
    context = {
        "counts": selectors.edit_counts(project),
        "page": Paginator(edits, PER_PAGE).get_page(request.GET.get("page")),
        "unfrozen": selectors.queries_unfrozen(project).count(),
        "job": selectors.job_running(project),
    }
    return render(request, "judging/caption_edits.html", context)


@project_page(STAFF)
def edits_said(request: MemberRequest, project: Project) -> HttpResponse:
    """A line for the page of queries, which need not wait until everything is compared."""
    return render(request, "judging/_edits_said.html", {"edits": selectors.edit_counts(project)})


@project_page(STAFF)
def caption_edits_csv(request: MemberRequest, project: Project) -> HttpResponse:
    return csv_download("caption-edits.csv", COLUMNS, map(_row, selectors.caption_edits(project)))


def _row(edit: Edit) -> list[object]:
    changed = edit.changed_at.isoformat() if edit.changed_at else ""
    frozen, serves = ("yes" if said else "no" for said in (edit.frozen, edit.serves))
    place = [edit.video, edit.start_s, edit.end_s]
    return [edit.kind, frozen, *place, edit.before, edit.after, serves, changed, " ".join(map(str, edit.queries))]
