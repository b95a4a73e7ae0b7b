"""What a coverage study found so far."""

from django.db import connection
from django.db.models import QuerySet

from annotation.models import PoolAnswer, Pooling, Project, Query
from annotation.services.coverage import RANDOM
from judging.rules.coverage import Coverage, Judged, coverage_of, lack_words

JUDGED = """
SELECT answer.query_id, CASE WHEN source.name = %(random)s THEN NULL ELSE entry.rank END, pair.relevance,
    coalesce(pair.state IN ('open', 'escalated'), true)
FROM annotation_poolentry entry
JOIN annotation_poolanswer answer ON answer.id = entry.answer_id
JOIN annotation_poolsource source ON source.id = answer.source_id AND source.pooling_id = %(pooling)s
LEFT JOIN annotation_candidate candidate
    ON candidate.query_id = answer.query_id AND candidate.moment_id = entry.moment_id
LEFT JOIN judging_pair pair ON pair.candidate_id = candidate.id"""


def coverage_studies(project: Project) -> QuerySet[Pooling]:
    return project.poolings.filter(seed__isnull=False).exclude(state=Pooling.State.DISCARDED)


def queries_studied(pooling: Pooling) -> QuerySet[Query]:
    return Query.objects.filter(pool_answers__source__pooling=pooling).distinct().order_by("number")


def coverage_found(pooling: Pooling) -> Coverage:
    """The study as the rows say now."""
    with connection.cursor() as cursor:
        cursor.execute(JUDGED, {"pooling": pooling.pk, "random": RANDOM})
        judged = [Judged(*row) for row in cursor.fetchall()]
    return coverage_of(judged, top=pooling.depth, drawn_from=moments_drawn_from(pooling))


def plan_lacks(pooling: Pooling) -> str:
    """In words, what the corpus is too small for; of the query that lacks most."""
    answers = PoolAnswer.objects.filter(source__pooling=pooling)
    best = dict(answers.exclude(source__name=RANDOM).values_list("query", "spans"))
    drawn = answers.filter(source__name=RANDOM).values_list("query", "spans", "drawn_from")
    plans = [(best.get(query, 0), others, best.get(query, 0) + (rest or 0)) for query, others, rest in drawn]
    if not plans:
        return ""
    most, others, moments = min(plans)
    return lack_words(moments=moments, best=most, of_best=pooling.depth, others=others, of_others=pooling.others or 0)


def moments_drawn_from(pooling: Pooling) -> dict[int, int]:
    """By query, how many moments its others were drawn from."""
    answers = PoolAnswer.objects.filter(source__pooling=pooling, drawn_from__isnull=False)
    return {query: n or 0 for query, n in answers.values_list("query", "drawn_from")}
