"""Query sets and what they hold.

Captions that were edited after queries or candidates were made of them: reported, never applied.

A query keeps the text it was drawn with, a candidate the texts it was ranked by; both are compared with the captions
as they read now.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.models import Project
from annotation.models import NamedQuerySet, Query
from annotation.queries.selectors import queries_to_judge
from judging.models import Batch


def query_sets_with_counts(project: Project) -> QuerySet[NamedQuerySet]:
    """The sets, each with how many ``queries`` it has, and how many of their batches are ``open`` and ``done``."""
    batches = Batch.objects.filter(query__query_set=OuterRef("pk")).order_by().values("query__query_set")
    counted = {
        state: Coalesce(Subquery(batches.filter(state=state).annotate(n=Count("pk")).values("n")), 0)
        for state in Batch.State.values
    }
    return project.query_sets.annotate(size=Count("queries"), **counted).order_by("-priority", "name")


def queries_outside_sets(project: Project) -> QuerySet[Query]:
    return queries_to_judge(project.pk).filter(query_set__isnull=True)


def queries_matching(project: Project, *, split: str, words: str) -> QuerySet[Query]:
    """Queries to be judged, of a split or any, whose text holds the words."""
    found = queries_to_judge(project.pk)
    if split:
        found = found.filter(split=split)
    return found.filter(text__icontains=words.replace("\0", "").strip()) if words.strip() else found


CHANGED = "caption.text <> {was} OR caption.state NOT IN ('accepted', 'edited')"
OF_CANDIDATES = f"""
FROM annotation_candidate candidate
JOIN annotation_query query ON query.id = candidate.query_id AND query.project_id = %(project)s
CROSS JOIN LATERAL jsonb_each_text(candidate.wordings) AS was (caption, text)
JOIN annotation_caption caption ON caption.id = was.caption::bigint AND ({CHANGED.format(was="was.text")})
LEFT JOIN judging_batch batch ON batch.query_id = query.id AND batch.number = 1"""
OF_QUERIES = f"""
FROM annotation_query query
JOIN annotation_caption caption ON caption.id = query.caption_id AND ({CHANGED.format(was="query.text")})
LEFT JOIN judging_batch batch ON batch.query_id = query.id AND batch.number = 1"""
PLACE = """
JOIN annotation_moment moment ON moment.id = caption.moment_id
JOIN annotation_video video ON video.id = moment.video_id"""
NOW = """caption.text AS after, caption.state IN ('accepted', 'edited') AS serves, caption.text_changed_at,
    video.name, moment.start_s, moment.end_s"""

EDITS = f"""
SELECT 'candidate', batch.id IS NOT NULL AS frozen, was.text AS before, {NOW},
    array_agg(query.number ORDER BY query.number)
{OF_CANDIDATES} {PLACE} GROUP BY caption.id, moment.id, video.id, was.text, frozen
UNION ALL
SELECT 'query', batch.id IS NOT NULL, query.text, {NOW}, ARRAY[query.number]
{OF_QUERIES} {PLACE} WHERE query.project_id = %(project)s
ORDER BY 1, 2 DESC, 6 DESC NULLS LAST, 7, 8, 3"""
COUNTS = f"""
SELECT (SELECT count(DISTINCT caption.id) {OF_CANDIDATES} WHERE batch.id IS NOT NULL),
    (SELECT count(DISTINCT caption.id) {OF_CANDIDATES} WHERE batch.id IS NULL),
    (SELECT count(*) {OF_QUERIES} WHERE query.project_id = %(project)s)"""
RELEASED = f"""
SELECT (SELECT count(DISTINCT caption.id) {OF_CANDIDATES} WHERE query.id = ANY (%(queries)s)),
    (SELECT count(*) {OF_QUERIES} WHERE query.id = ANY (%(queries)s) OR query.judged_as_id = ANY (%(queries)s))"""


@dataclass(frozen=True)
class Edit:
    """One caption that reads otherwise than when it was used, or may serve no more."""

    kind: str  # what was made of it: candidate or query
    frozen: bool  # the first batch of those queries is open
    before: str
    after: str
    serves: bool
    changed_at: datetime | None
    video: str
    start_s: float
    end_s: float
    queries: list[int]  # their numbers


@dataclass(frozen=True)
class EditCounts:
    """Captions of frozen candidates, captions of candidates that may be ranked again, and queries."""

    frozen: int
    stale: int
    queries: int


def caption_edits(project: Project) -> list[Edit]:
    """Candidates first, frozen ones before others, the latest edit first; then queries."""
    with connection.cursor() as cursor:
        cursor.execute(EDITS, {"project": project.pk})
        return [Edit(*row) for row in cursor.fetchall()]


def edit_counts(project: Project) -> EditCounts:
    with connection.cursor() as cursor:
        cursor.execute(COUNTS, {"project": project.pk})
        return EditCounts(*cursor.fetchone())


def released_edits(project: Project, queries: Sequence[int]) -> tuple[int, int]:
    """Of these judged queries, by key: captions edited since their candidates were ranked; queries, or twins of
    theirs, whose own caption was."""
    with connection.cursor() as cursor:
        cursor.execute(RELEASED, {"project": project.pk, "queries": list(queries)})
        candidates, own = cursor.fetchone()
        return int(candidates), int(own)
