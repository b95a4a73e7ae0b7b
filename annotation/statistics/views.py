"""The page of statistics: descriptions and captions in words, as last computed."""

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import STAFF, MemberRequest, project_action, project_page
from accounts.models import Project
from annotation.models import TextStatistics
from annotation.statistics import selectors as report
from annotation.statistics.collection import OF_OTHERS, data_sets, published, replacement_table, tables
from annotation.statistics.services import statistics_are_old, statistics_request
from core.lists import csv_download

PAGE = "annotation:statistics"


@project_page(STAFF)
def statistics(request: MemberRequest, project: Project) -> HttpResponse:
    """The figures; whoever comes first has them computed. While that goes on the page asks again."""
    text_statistics = TextStatistics.objects.filter(project=project).first()
    has_texts = project.dataset.corpus.descriptions.exists()
    if text_statistics is None and has_texts:
        statistics_request(project=project)
        text_statistics = TextStatistics.objects.get(project=project)
    context: dict[str, object] = {"kept": text_statistics, "has_texts": has_texts}
    if text_statistics and text_statistics.computed_at:
        context |= {"is_old": statistics_are_old(text_statistics), **_shown(request, text_statistics)}
    return render(request, "annotation/statistics/statistics.html", context)


def _shown(request: MemberRequest, text_statistics: TextStatistics) -> dict[str, object]:
    groups = [{**figures, "name": report.group_name(figures["group"])} for figures in text_statistics.data["groups"]]
    if not groups:
        return {}
    group_key = request.GET.get("group", "")
    group = next((figures for figures in groups if figures["group"] == group_key), groups[0])
    limit = settings.CAPTION_SIMILARITY_MIN
    return {
        "groups": groups,
        "shown": group,
        "replacements": replacement_table(group["replacements"]),
        "data_sets": data_sets(text_statistics.data.get("collection", [])),
        "of_data_sets": OF_OTHERS,
        "words": report.words_histogram(group),
        "similarities": report.similarity_histogram(group, limit=limit) if group["similarity"]["texts"] else None,
        "limit": limit,
        "tables": tables([*text_statistics.data.get("collection", []), *published()]),
        "candidates": [
            {**row, "name": report.group_name(f"split {row['split']}")} for row in text_statistics.data["candidates"]
        ],
    }


@project_action(STAFF, back=PAGE)
def compute(request: MemberRequest, project: Project) -> HttpResponse:
    statistics_request(project=project)
    return redirect(PAGE, project.uuid)


@project_page(STAFF)
def measures_csv(request: MemberRequest, project: Project) -> HttpResponse:
    """Every figure as a line."""
    return csv_download("statistics.csv", report.COLUMNS, report.measure_rows(_computed(project).data))


@project_page(STAFF)
def histograms_csv(request: MemberRequest, project: Project) -> HttpResponse:
    """Every bin as a line."""
    return csv_download("histograms.csv", report.HISTOGRAM_COLUMNS, report.histogram_rows(_computed(project).data))


def _computed(project: Project) -> TextStatistics:
    return get_object_or_404(TextStatistics, project=project, computed_at__isnull=False)
