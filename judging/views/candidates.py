"""The candidates of all queries, for study outside."""

import csv
from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse

from annotation.access import STAFF, MemberRequest, project_page
from annotation.models import Candidate, Project
from annotation.services.import_reports import safe_cell

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


class _Line:
    """What the writer of rows writes to: it hands each line on."""

    def write(self, line: str) -> str:
        return line


@project_page(STAFF)
def candidates_csv(request: MemberRequest, project: Project) -> StreamingHttpResponse:
    headers = {"Content-Disposition": 'attachment; filename="candidates.csv"'}
    return StreamingHttpResponse(_lines(project), content_type="text/csv; charset=utf-8", headers=headers)


def _lines(project: Project) -> Iterator[str]:
    writer = csv.writer(_Line(), lineterminator="\n")
    yield writer.writerow(COLUMNS)
    rows = Candidate.objects.filter(query__project=project, query__is_placeholder=False)
    found: QuerySet[Any] = rows.order_by("query__number", "rank").values_list(*COLUMNS.values())
    for *facts, wordings, measure in found.iterator(chunk_size=CHUNK):
        said = " | ".join(wordings[key] for key in sorted(wordings, key=int))
        yield writer.writerow([safe_cell(value) for value in (*facts, said, measure)])
