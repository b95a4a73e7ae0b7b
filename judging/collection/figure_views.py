"""Figures of a collection as a page, as SVG and as CSV, for leads and admins; leads alone learn who writers are."""

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render

from accounts.access import STAFF, MemberRequest, project_page
from accounts.models import Project
from core.texts import uuid_or_none
from judging.collection.figures import BY_NAME, FIGURES, Collection, Figure
from judging.figures.views import drawing_answer, file_answer

EMPTY = "Nothing yet. It fills as queries are written."


@project_page(STAFF)
def collection_figures(request: MemberRequest, project: Project) -> HttpResponse:
    """Draw all figures, of all rounds or of the one that the address names."""
    collection = _collection(request, project)
    context = {
        "figures": [(figure, figure.draw(collection)) for figure in FIGURES],
        "round": collection.round,
        "rounds": sorted(collection.rounds.values(), key=lambda row: -row.pk),
        "query": request.GET.urlencode(),
    }
    return render(request, "judging/collection/figures.html", context)


@project_page(STAFF)
def collection_figure_svg(request: MemberRequest, project: Project, name: str) -> HttpResponse:
    figure, collection = _figure(name), _collection(request, project)
    svg = figure.draw(collection).svg(f"{figure.title}: {collection.in_words}", empty=EMPTY)
    return drawing_answer(svg, f"collection-{name}")


@project_page(STAFF)
def collection_figure_csv(request: MemberRequest, project: Project, name: str) -> HttpResponse:
    table = _figure(name).draw(_collection(request, project)).csv()
    return file_answer(table, "text/csv; charset=utf-8", f"collection-{name}.csv")


def _figure(name: str) -> Figure:
    if name not in BY_NAME:
        raise Http404
    return BY_NAME[name]


def _collection(request: MemberRequest, project: Project) -> Collection:
    """Read which round the address names: none is all of them, and a round of another project is none."""
    uuid: UUID | None = uuid_or_none(request.GET.get("round", ""))
    row = get_object_or_404(project.writing_rounds, uuid=uuid) if uuid else None
    return Collection(project, row, to_lead=request.membership.is_lead)
