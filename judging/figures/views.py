"""The doors of the figures: a page, an SVG and a CSV each, under the same filters."""

from collections.abc import Callable

from csp.constants import NONE, UNSAFE_INLINE
from csp.decorators import csp_replace
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render

from accounts.access import STAFF, MemberRequest, grant, project_page
from accounts.models import Membership, Project
from annotation.models import Query
from judging.figures.asked import Asked
from judging.figures.catalogue import BY_NAME, FIGURES, Figure
from judging.quality.rules.agreement import Weights

OWN_SHEET = {"default-src": [NONE], "script-src": [NONE], "style-src": [UNSAFE_INLINE]}


def drawing(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """A view that answers with an SVG, which brings its colours and nothing else."""
    answering: Callable[..., HttpResponseBase] = csp_replace(OWN_SHEET)(view)
    return answering


@project_page(STAFF)
def figures(request: MemberRequest, project: Project) -> HttpResponse:
    """All figures in words."""
    return render(request, "judging/figures/figures.html", {"figures": figures_for(request.membership)})


@project_page(STAFF)
def figure(request: MemberRequest, project: Project, name: str) -> HttpResponse:
    shown = _figure(request, project, name)
    asked = Asked(project, request.GET)
    sheet = shown.draw(asked)
    context = {
        "figure": shown,
        "figures": figures_for(request.membership),
        "asked": asked,
        "sheet": sheet,
        "splits": Query.Split.values,
        "weights": list(Weights),
        "query": request.GET.urlencode(),
        "keep": _keep(request),
        **sheet.more,
    }
    return render(request, "judging/figures/figure.html", context)


@drawing
@project_page(STAFF)
def figure_svg(request: MemberRequest, project: Project, name: str) -> HttpResponse:
    shown = _figure(request, project, name)
    asked = Asked(project, request.GET)
    drawn = shown.draw(asked).svg(f"{shown.title}: {asked.in_words}", empty=f"Nothing yet. {shown.empty}")
    return file_answer(drawn, "image/svg+xml", f"{name}.svg")


@project_page(STAFF)
def figure_csv(request: MemberRequest, project: Project, name: str) -> HttpResponse:
    drawn = _figure(request, project, name).draw(Asked(project, request.GET)).csv()
    return file_answer(drawn, "text/csv; charset=utf-8", f"{name}.csv")


def figures_for(membership: Membership) -> list[Figure]:
    return [figure for figure in FIGURES if membership.role in figure.roles]


def _figure(request: HttpRequest, project: Project, name: str) -> Figure:
    """The figure of this name, for who may see it."""
    found = BY_NAME.get(name)
    if found is None:
        raise Http404
    grant(request, project, found.roles)
    return found


def file_answer(content: str | bytes, content_type: str, name: str) -> HttpResponse:
    disposition = f'attachment; filename="momentjudge-{name}"'
    return HttpResponse(content, content_type=content_type, headers={"Content-Disposition": disposition})


def _keep(request: HttpRequest) -> str:
    """The filters, for links to other pages of the list."""
    given = request.GET.copy()
    given.pop("page", None)
    return f"&{given.urlencode()}" if given else ""
