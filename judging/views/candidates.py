"""The candidates of all queries, for study outside."""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse

from annotation.access import STAFF, MemberRequest, project_page
from annotation.models import Candidate, Project
from annotation.spreadsheets import csv_stream

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
