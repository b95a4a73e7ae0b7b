"""Which figures there are and who may see them: a page, an SVG and a CSV each; and Tables 1 and 4 of TVR-Ranking."""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.access import LEAD, STAFF, MemberRequest, grant, project_page
from accounts.models import Membership, Project
from annotation.models import Query, TextStatistics
from annotation.similarity.registry import wordnet_is_here
from annotation.statistics import collection as report
from annotation.statistics.collection import ROWS, Row
from annotation.statistics.proxies import SAMPLE
from annotation.statistics.services import statistics_are_old, statistics_request
from core.lists import csv_download
from core.middleware import POLICY
from judging.figures import charts, corpus_charts, proxy_charts, study_charts
from judging.figures.selectors import FigureFilters, judged_figures
from judging.quality.rules.agreement import FEWEST_PAIRS, Weights
from judging.releases.selectors import finished_queries
from moment_retrieval.relevance.figures import EQUIVALENT

SETTLED = "It fills as pairs settle."


@dataclass(frozen=True)
class Figure:
    """A figure: its name in addresses, its words (the label is the short one), and how it is drawn."""

    name: str
    label: str
    title: str
    line: str
    about: str
    draw: Callable[[FigureFilters], charts.DrawnFigure]
    paper: str = ""
    empty: str = SETTLED
    roles: frozenset[Membership.Role] = STAFF
    is_of_corpus: bool = False  # as last computed by a task, whatever the filters


DRAWN = {
    "similarity": study_charts.similarity,
    "rank": study_charts.rank,
    "grades": charts.grades,
    "relevance": charts.relevance,
    "cases": charts.case_studies,
    "order": charts.order,
    "time": charts.over_time,
    "partners": charts.partners,
    "lengths": corpus_charts.lengths,
    "variety": corpus_charts.variety,
    "words": corpus_charts.frequent_words,
    "actions": corpus_charts.actions,
    "proxies": proxy_charts.proxies,
    "bounds": proxy_charts.bounds,
    "correlation": proxy_charts.correlation,
}
FOR_LEADS = {"partners"}
NUMBERS = {"{fewest}": FEWEST_PAIRS, "{sample}": SAMPLE, "{equivalent}": EQUIVALENT}  # that the words of figures name
TEXTS = Path(__file__).with_name("figures.toml").read_text(encoding="utf-8")
for name_of_number, number in NUMBERS.items():
    TEXTS = TEXTS.replace(name_of_number, str(number))
WORDS = tomllib.loads(TEXTS)
FIGURES = [
    Figure(name=name, draw=draw, roles=LEAD if name in FOR_LEADS else STAFF, **WORDS[name])
    for name, draw in DRAWN.items()
]
BY_NAME = {figure.name: figure for figure in FIGURES}


DRAWING_POLICY = "default-src 'none'; script-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


@project_page(STAFF)
def figures(request: MemberRequest, project: Project) -> HttpResponse:
    """All figures, each drawn small; the page has each one sent when it is scrolled to."""
    context = {"figures": figures_for(request.membership), "filters": FigureFilters(project, request.GET)}
    return render(request, "judging/figures/figures.html", context)


@project_page(STAFF)
def figure(request: MemberRequest, project: Project, name: str) -> HttpResponse:
    current_figure, filters, drawing = _drawn(request, project, name)
    computed = _statistics_of(project) if current_figure.is_of_corpus else None
    if computed and not (computed.requested_at or computed.error or computed.data.get("analyses", {}).get("proxies")):
        statistics_request(project=project)  # computed before there were such figures
    context = {
        **{"figure": current_figure, "figures": figures_for(request.membership), "filters": filters, "sheet": drawing},
        **{"splits": Query.Split.values, "weights": list(Weights), "query": request.GET.urlencode()},
        "is_old": bool(computed and computed.computed_at and statistics_are_old(computed)),
        **drawing.more,
    }
    if request.htmx and "small" in request.GET:
        return render(request, "judging/figures/_small.html", context)
    return render(request, "judging/figures/figure.html", context)


@project_page(STAFF)
def figure_svg(request: MemberRequest, project: Project, name: str) -> HttpResponse:
    current_figure, filters, drawing = _drawn(request, project, name)
    title, empty = f"{current_figure.title}: {filters.in_words}", f"Nothing yet. {current_figure.empty}"
    return drawing_answer(drawing.svg(title, empty=empty), name)


@project_page(STAFF)
def figure_csv(request: MemberRequest, project: Project, name: str) -> HttpResponse:
    *_, drawing = _drawn(request, project, name)
    return file_answer(drawing.csv(), "text/csv; charset=utf-8", f"{name}.csv")


def figures_for(membership: Membership) -> list[Figure]:
    return [figure for figure in FIGURES if membership.has(figure.roles)]


def _drawn(request: HttpRequest, project: Project, name: str) -> tuple[Figure, FigureFilters, charts.DrawnFigure]:
    """Draw the figure of this name with the filters of the address, for who may see it."""
    if name not in BY_NAME:
        raise Http404
    grant(request, project, BY_NAME[name].roles)
    filters = FigureFilters(project, request.GET)
    return BY_NAME[name], filters, BY_NAME[name].draw(filters)


def drawing_answer(svg: bytes, name: str) -> HttpResponse:
    """Return an SVG as a download; it brings its colours and may load and run nothing."""
    answer = file_answer(svg, "image/svg+xml", f"{name}.svg")
    answer.headers[POLICY] = DRAWING_POLICY
    return answer


def file_answer(content: str | bytes, content_type: str, name: str) -> HttpResponse:
    disposition = f'attachment; filename="momentjudge-{name}"'
    return HttpResponse(content, content_type=content_type, headers={"Content-Disposition": disposition})


JUDGED = (
    Row("judged", "Queries with a settled pair", 0, "Queries of the same text are judged once and count once."),
    Row("settled", "Pairs settled", 0),
    Row("dropped", "Pairs dropped", 0),
    Row("consensus", "Pairs settled, %", 2, "Of those settled or dropped."),
    Row("relevant_per_query", "Relevant moments per query", 1, "Relevance 1 or more, of queries judged to their end."),
    Row("one_batch", "Queries of one batch", 0, "Closed after the first."),
    Row("two_batches", "Queries of two batches", 0, "Given a second."),
    Row("one_share", "Queries of one batch, %", 1, "Of those decided."),
    Row("two_share", "Queries of two batches, %", 1),
)
PAPER = {  # as printed; shares from its counts
    "published val": {"judged": 500, "settled": 14382, "dropped": 325, "consensus": 97.79, "relevant_per_query": 27.1}
    | {"one_batch": 264, "two_batches": 236, "one_share": 52.8, "two_share": 47.2},
    "published test": {"judged": 2781, "settled": 80060, "dropped": 1716, "consensus": 97.90}
    | {"relevant_per_query": 27.0, "one_batch": 1473, "two_batches": 1308, "one_share": 53.0, "two_share": 47.0},
}
OF_QUERIES = ("queries", "texts", "vocabulary", "verbs", "lemmas", "words_min", "words_mean", "words_max")


@project_page(STAFF)
def tables(request: MemberRequest, project: Project) -> HttpResponse:
    """The tables; what takes a task is as last computed, what was judged is as it is now."""
    computed = _statistics_of(project)
    columns = _columns(project, computed)
    context = {
        "tables": report.tables([*columns, *_published()], more=JUDGED) if columns else [],
        "data_sets": report.data_sets(columns),
        "of_data_sets": report.OF_OTHERS,
        "kept": computed,
        "is_old": bool(computed and computed.computed_at and statistics_are_old(computed)),
        "figures": figures_for(request.membership),
        "verbs_are_missing": bool(columns) and not wordnet_is_here(),
    }
    return render(request, "judging/figures/tables.html", context)


def _statistics_of(project: Project) -> TextStatistics | None:
    """Return the figures of the project's texts; whoever comes first has them computed."""
    computed = TextStatistics.objects.filter(project=project).first()
    if computed is None and project.dataset.corpus.descriptions.exists():
        statistics_request(project=project)
        computed = TextStatistics.objects.get(project=project)
    return computed


@project_page(STAFF)
def tables_csv(request: MemberRequest, project: Project) -> HttpResponse:
    """Every value as a line: column, measure, value."""
    rows = report.value_rows([*_all_columns(project), *report.others()], (*ROWS, *JUDGED))
    return csv_download("momentjudge-tables.csv", ("column", "measure", "value"), rows)


@project_page(STAFF)
def tables_tex(request: MemberRequest, project: Project) -> HttpResponse:
    text = report.latex(report.tables(_all_columns(project), more=JUDGED))
    return file_answer(text, "text/x-tex; charset=utf-8", "tables.tex")


def _all_columns(project: Project) -> list[dict[str, Any]]:
    return [*_columns(project, TextStatistics.objects.filter(project=project).first()), *_published()]


def _columns(project: Project, statistics: TextStatistics | None) -> list[dict[str, Any]]:
    """Return the corpus and training as computed; validation and test with the moments that were judged."""
    computed = {row["column"]: row for row in statistics.data.get("collection", [])} if statistics else {}
    columns = [row for name, row in computed.items() if not name.startswith("split")]
    if not any(name.startswith("train set") for name in computed) and "split train" in computed:
        columns.append(computed["split train"])
    for split in (Query.Split.VAL, Query.Split.TEST):
        if project.queries.filter(split=split).exists():
            columns.append(_judged(project, split, computed.get(f"split {split}", {})))
    return columns


def _judged(project: Project, split: str, computed: dict[str, Any]) -> dict[str, Any]:
    of_queries = {name: computed[name] for name in OF_QUERIES if name in computed}
    if not of_queries:
        of_queries = {"queries": project.queries.filter(split=split).count()}
    figures = judged_figures(project, split, finished=finished_queries(project.pk))
    return {"column": f"split {split}", "moments_are": "judged and settled", **of_queries, **figures}


def _published() -> list[dict[str, Any]]:
    return [{**column, **PAPER.get(column["column"], {})} for column in report.published()]
