"""What leads and tasks read: what is decided, what waits, who gave which grade."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import AuditEvent, Candidate, Job, Project, Query
from annotation.selectors import queries_to_judge
from judging.models import Assignment, Batch, Flag, Judgment, Pair


def annotator_numbers(project: Project) -> dict[int, int]:
    """Account to annotator number: all that judging data may say about a person."""
    rows = project.memberships.filter(number__isnull=False).values_list("user", "number")
    return {user: number for user, number in rows if number is not None}


def batch_rows(batch: Batch) -> list[dict[str, Any]]:
    """The pairs of a batch by rank with their grades by annotator number, for the lead."""
    return rows_of([batch])[batch.pk]


def rows_of(batches: Sequence[Batch]) -> dict[int, list[dict[str, Any]]]:
    """``batch_rows`` of batches of one project, in as many statements as of one."""
    rows: dict[int, list[dict[str, Any]]] = {batch.pk: [] for batch in batches}
    if not batches:
        return rows
    pairs = Pair.objects.filter(batch__in=rows).select_related("candidate__moment__video")
    held = list(pairs.order_by("candidate__rank"))
    numbers = annotator_numbers(batches[0].project)
    given = Judgment.objects.filter(pair__batch__in=rows)
    grades, said = final_grades(given, numbers), _said_of(rows, numbers)
    why = why_withdrawn([pair.uuid for pair in held if pair.state == Pair.State.WITHDRAWN])
    for pair in held:
        rows[pair.batch_id].append(
            {
                "pair": pair,
                "grades": grades.get(pair.pk, []),
                "said": said.get(pair.pk, []),
                "why": why.get(pair.uuid, ""),
            }
        )
    return rows


def final_grades(given: QuerySet[Judgment], numbers: dict[int, int]) -> dict[int, list[tuple[int | None, int, int]]]:
    """Those that may change no more by pair: annotator number, grade, round."""
    grades: dict[int, list[tuple[int | None, int, int]]] = {}
    final = given.exclude(assignment__state=Assignment.State.OPEN)
    for pair, annotator, grade, number in final.order_by("round", "seat").values_list(
        "pair", "annotator", "grade", "round"
    ):
        grades.setdefault(pair, []).append((numbers.get(annotator), grade, number))
    return grades


def why_withdrawn(pairs: Sequence[UUID]) -> dict[UUID, str]:
    """What the lead said, by pair; the newest word where it was withdrawn twice."""
    if not pairs:
        return {}
    events = AuditEvent.objects.filter(action="pair.withdraw", subject__in=pairs)
    said = events.order_by("id").values_list("subject", "data")
    return {pair: data["reason"] for pair, data in said if pair is not None}


def _said_of(batch_ids: Iterable[int], numbers: dict[int, int]) -> dict[int, list[tuple[int | None, str, str]]]:
    """Flags and comments by pair: annotator number, reason of the flag or nothing, words."""
    said: dict[int, list[tuple[int | None, str, str]]] = {}
    for flag in Flag.objects.filter(pair__batch__in=batch_ids, withdrawn_at__isnull=True).order_by("id"):
        said.setdefault(flag.pair_id, []).append(
            (numbers.get(flag.annotator_id), flag.get_reason_display(), flag.comment)
        )
    given = Judgment.objects.filter(pair__batch__in=batch_ids).exclude(assignment__state=Assignment.State.OPEN)
    for pair, annotator, comment in (
        given.exclude(comment="").order_by("id").values_list("pair", "annotator", "comment")
    ):
        said.setdefault(pair, []).append((numbers.get(annotator), "", comment))
    return said


def queries_without_batch(project: Project) -> QuerySet[Query]:
    """Queries to be judged whose first batch is not open yet."""
    return queries_to_judge(project.pk).filter(batches__isnull=True)


def job_failed(project: Project, kind: str) -> Job | None:
    """The last job of this kind where it failed."""
    last = project.jobs.filter(kind=kind).order_by("-id").first()
    return last if last and last.state == Job.State.FAILED else None


def queries_unfrozen(project: Project) -> QuerySet[Query]:
    """Queries whose candidates may still be ranked anew: no batch holds any."""
    ranked = Candidate.objects.filter(query=OuterRef("pk"))
    begun = Batch.objects.filter(query=OuterRef("pk"))
    return queries_to_judge(project.pk).filter(Exists(ranked), ~Exists(begun))


def job_running(project: Project) -> Job | None:
    """Long work that somebody may be waiting for."""
    return project.jobs.filter(state=Job.State.RUNNING).order_by("id").first()
