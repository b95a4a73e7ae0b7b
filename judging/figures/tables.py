"""Tables 1 and 4 of TVR-Ranking over what was judged, beside what the paper prints."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render

from accounts.access import STAFF, MemberRequest, project_page
from accounts.models import Project
from annotation.models import Query, TextStatistics
from annotation.similarity.registry import wordnet_is_here
from annotation.statistics import collection as report
from annotation.statistics.collection import ROWS, Row
from annotation.statistics.services import statistics_are_old, statistics_request
from core.spreadsheets import csv_download
from judging.figures.selectors import judged_figures
from judging.figures.views import figures_for, file_answer
from judging.releases.scope import finished_queries

JUDGED = (
    Row("judged", "Queries with a settled pair", 0, "Queries of the same text are judged once and count once."),
    Row("settled", "Pairs settled", 0),
    Row("dropped", "Pairs dropped", 0),
    Row("consensus", "Pairs settled, %", 2, "Of those settled or dropped."),
    Row(
        "relevant_per_query",
        "Relevant moments per query",
        1,
        "Relevance 1 to 4, of queries judged to their end.",
    ),
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
MOMENTS = "judged and settled"


@project_page(STAFF)
def tables(request: MemberRequest, project: Project) -> HttpResponse:
    """The tables; what takes a task is as last computed, what was judged is as it is now."""
    kept = _kept(project)
    if kept is None and project.dataset.corpus.descriptions.exists():
        statistics_request(project=project)
        kept = TextStatistics.objects.get(project=project)
    found = _columns(project, kept)
    context = {
        "tables": report.tables([*found, *_published()], more=JUDGED) if found else [],
        "kept": kept,
        "is_old": bool(kept and kept.computed_at and statistics_are_old(kept)),
        "figures": figures_for(request.membership),
        "verbs_are_missing": bool(found) and not wordnet_is_here(),
    }
    return render(request, "judging/figures/tables.html", context)


@project_page(STAFF)
def tables_csv(request: MemberRequest, project: Project) -> HttpResponse:
    """Every value as a line: column, measure, value."""
    found = [*_columns(project, _kept(project)), *_published()]
    rows = report.value_rows(found, (*ROWS, *JUDGED))
    return csv_download("momentjudge-tables.csv", ("column", "measure", "value"), rows)


@project_page(STAFF)
def tables_tex(request: MemberRequest, project: Project) -> HttpResponse:
    found = [*_columns(project, _kept(project)), *_published()]
    return file_answer(report.latex(report.tables(found, more=JUDGED)), "text/x-tex; charset=utf-8", "tables.tex")


def _kept(project: Project) -> TextStatistics | None:
    return TextStatistics.objects.filter(project=project).first()


def _columns(project: Project, kept: TextStatistics | None) -> list[dict[str, Any]]:
    """The corpus and training as computed; validation and test with the moments that were judged."""
    computed = {row["column"]: row for row in kept.data.get("collection", [])} if kept else {}
    found = [row for name, row in computed.items() if not name.startswith("split")]
    if not any(name.startswith("train set") for name in computed) and "split train" in computed:
        found.append(computed["split train"])
    for split in (Query.Split.VAL, Query.Split.TEST):
        if project.queries.filter(split=split).exists():
            found.append(_judged(project, split, computed.get(f"split {split}", {})))
    return found


def _judged(project: Project, split: str, computed: dict[str, Any]) -> dict[str, Any]:
    of_queries = {name: computed[name] for name in OF_QUERIES if name in computed}
    if not of_queries:
        of_queries = {"queries": project.queries.filter(split=split).count()}
    return {
        "column": f"split {split}",
        "moments_are": MOMENTS,
        **of_queries,
        **judged_figures(project, split, finished=finished_queries(project.pk)),
    }


def _published() -> list[dict[str, Any]]:
    return [{**column, **PAPER.get(column["column"], {})} for column in report.published()]
