"""Selectors for pages about queries and settings: query sets, edited captions, clips to choose from, earlier policies.

A query keeps the text it was drawn with, a candidate the texts it was ranked by; both are compared with the captions
as they read now. Differences are reported, never applied.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from accounts.models import Project
from annotation.models import Caption, Moment, NamedQuerySet, Query
from annotation.queries.selectors import queries_to_judge
from core.sql import sql_named, sql_rows
from judging.models import Batch, KnownPair, ScreeningAttempt, ScreeningQuestion
from judging.review.selectors import annotator_numbers


def query_sets_with_counts(project: Project) -> QuerySet[NamedQuerySet]:
    """The sets, each with how many ``queries`` it has, and how many of their batches are ``open`` and ``done``."""
    batches = Batch.objects.filter(query__query_set=OuterRef("pk")).order_by().values("query__query_set")
    counts = {
        state: Coalesce(Subquery(batches.filter(state=state).annotate(n=Count("pk")).values("n")), 0)
        for state in Batch.State.values
    }
    return project.query_sets.annotate(size=Count("queries"), **counts).order_by("-priority", "name")


def queries_matching(project: Project, *, split: str, words: str) -> QuerySet[Query]:
    """Queries to be judged, of a split or any, whose text holds the words."""
    queries = queries_to_judge(project.pk)
    if split:
        queries = queries.filter(split=split)
    return queries.filter(text__icontains=words.replace("\0", "").strip()) if words.strip() else queries


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
MOMENT_JOINS = """
JOIN annotation_moment moment ON moment.id = caption.moment_id
JOIN annotation_video video ON video.id = moment.video_id"""
NOW = """caption.text AS after, caption.state IN ('accepted', 'edited') AS serves,
    caption.text_changed_at AS changed_at, video.name AS video, moment.start_s, moment.end_s"""

# kind: what was made of the caption; frozen: the first batch of those queries is open; queries: their numbers
EDITS = f"""
SELECT 'candidate' AS kind, batch.id IS NOT NULL AS frozen, was.text AS before, {NOW},
    array_agg(query.number ORDER BY query.number) AS queries
{OF_CANDIDATES} {MOMENT_JOINS} GROUP BY caption.id, moment.id, video.id, was.text, frozen
UNION ALL
SELECT 'query', batch.id IS NOT NULL, query.text, {NOW}, ARRAY[query.number]
{OF_QUERIES} {MOMENT_JOINS} WHERE query.project_id = %(project)s
ORDER BY 1, 2 DESC, 6 DESC NULLS LAST, 7, 8, 3"""
COUNTS = f"""
SELECT (SELECT count(DISTINCT caption.id) {OF_CANDIDATES} WHERE batch.id IS NOT NULL) AS frozen,
    (SELECT count(DISTINCT caption.id) {OF_CANDIDATES} WHERE batch.id IS NULL) AS stale,
    (SELECT count(*) {OF_QUERIES} WHERE query.project_id = %(project)s) AS queries"""
RELEASED = f"""
SELECT (SELECT count(DISTINCT caption.id) {OF_CANDIDATES} WHERE query.id = ANY (%(queries)s)),
    (SELECT count(*) {OF_QUERIES} WHERE query.id = ANY (%(queries)s) OR query.judged_as_id = ANY (%(queries)s))"""


def caption_edits(project: Project) -> list[Any]:
    """Rows of EDITS: captions that read otherwise than when they were used, or may serve no more. Candidates first,
    frozen ones before others, the latest edit first; then queries."""
    return sql_named(EDITS, {"project": project.pk})


def edit_counts(project: Project) -> Any:
    """Captions of frozen candidates, captions of candidates that may be ranked again (stale), and queries."""
    [counts] = sql_named(COUNTS, {"project": project.pk})
    return counts


def released_edits(project: Project, queries: Sequence[int]) -> dict[str, int]:
    """Of these judged queries, by key: captions edited since their candidates were ranked; queries, or twins of
    theirs, whose own caption was."""
    [(candidates, own)] = sql_rows(RELEASED, {"project": project.pk, "queries": list(queries)})
    return {"captions_edited": candidates, "query_captions_edited": own}


CLIPS = 24


def clips_matching(project: Project, *, words: str, first: UUID | None = None) -> list[tuple[Moment, str]]:
    """Moments with a preview whose caption holds the words, each with its caption; without words, those drawn for
    training. The one called ``first`` leads the list, whether it matches or not."""
    moments = moments_of(project)
    words = words.replace("\0", "").strip()
    drawn_pairs = KnownPair.objects.filter(project=project, source=KnownPair.Source.LEAD, moment=OuterRef("pk"))
    matching = Caption.objects.filter(moment=OuterRef("pk"), text__icontains=words)
    rows = moments.filter(Exists(matching if words else drawn_pairs)).order_by("pk")[:CLIPS]
    clips = list(moments.filter(uuid=first)) if first else []
    clips += [moment for moment in rows if moment not in clips]
    return [(moment, caption_of(moment)) for moment in clips]


def moments_of(project: Project) -> QuerySet[Moment]:
    """Every moment of the project's corpus that can be watched."""
    ready = Moment.objects.filter(video__corpus=project.dataset.corpus_id, preview_state=Moment.Preview.READY)
    return ready.select_related("video").prefetch_related("captions")


def caption_of(moment: Moment) -> str:
    return next((caption.text for caption in moment.captions.all()), "")


def training_queries(project: Project, *, show: str) -> QuerySet[Query]:
    """Queries with drawn pairs, those drawn last first; ``show`` all, only with pairs to grade, or with graded ones."""
    drawn_pairs = KnownPair.objects.filter(project=project, source=KnownPair.Source.LEAD, query=OuterRef("pk"))
    if show == "open":
        drawn_pairs = drawn_pairs.filter(truth__isnull=True)
    elif show == "graded":
        drawn_pairs = drawn_pairs.filter(truth__isnull=False)
    return Query.objects.filter(Exists(drawn_pairs), project=project).order_by("-pk")


def training_pairs(query: Query) -> list[tuple[KnownPair, str]]:
    """The drawn pairs of a query with their captions; near ones by rank, then the others."""
    drawn_pairs = query.known_pairs.filter(source=KnownPair.Source.LEAD).select_related("moment__video")
    pairs = drawn_pairs.prefetch_related("moment__captions").order_by("rank", "pk")
    return [(pair, caption_of(pair.moment)) for pair in pairs]


def tutorial_shown(project: Project) -> list[KnownPair]:
    pairs = project.known_pairs.filter(tutorial_position__isnull=False).select_related("query", "moment")
    return list(pairs.order_by("tutorial_position"))


def tutorial_levels(pairs: list[KnownPair], grades: range) -> list[tuple[int, int]]:
    """How many pairs of the tutorial have each grade."""
    counts = Counter(int(pair.truth) for pair in pairs if pair.truth is not None)
    return [(grade, counts[grade]) for grade in grades]


class QuestionFigures(NamedTuple):
    question: ScreeningQuestion
    n_answered: int
    right: int


def screening_figures(project: Project) -> list[QuestionFigures]:
    """Every question with how often it was answered, and how often rightly."""
    n_shown, right = Counter[str](), Counter[str]()
    for attempt in ScreeningAttempt.objects.filter(project=project, answered_at__isnull=False):
        for question, answer in zip(attempt.questions, attempt.answers, strict=True):
            n_shown[question["question"]] += 1
            right[question["question"]] += question["correct"] == answer
    questions = ScreeningQuestion.objects.filter(project=project).select_related("moment").order_by("pk")
    return [QuestionFigures(row, n_shown[str(row.uuid)], right[str(row.uuid)]) for row in questions]


def screening_attempts(project: Project) -> list[tuple[int | None, list[ScreeningAttempt]]]:
    """Answered attempts by annotator number."""
    numbers = annotator_numbers(project)
    by_person: dict[int, list[ScreeningAttempt]] = {}
    for attempt in ScreeningAttempt.objects.filter(project=project, answered_at__isnull=False).order_by("pk"):
        by_person.setdefault(attempt.annotator_id, []).append(attempt)
    rows = [(numbers.get(person), attempts) for person, attempts in by_person.items()]
    return sorted(rows, key=lambda row: -1 if row[0] is None else row[0])


def screening_clips(questions: list[dict[str, Any]]) -> dict[str, Moment]:
    """The moments of an attempt's questions, by their UUID as text."""
    moments = Moment.objects.filter(uuid__in=[question["moment"] for question in questions])
    return {str(moment.uuid): moment for moment in moments}
