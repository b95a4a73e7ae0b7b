"""Counts that figures are drawn from: pairs, grades, agreement, order effects, relevance by rank."""

from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from django.core.paginator import Page, Paginator
from django.db import connection
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from accounts.models import Project
from annotation.models import Moment, Query
from annotation.statistics.selectors import span_figures
from judging.figures.rules import Relevances, relevances_by
from judging.models import Batch, BatchReview, Pair
from judging.quality.rules.quality import Effect, Moments, effect

PAIRS = """
SELECT pair.id, pair.state, pair.relevance, pair.candidate_id
FROM judging_pair pair
JOIN judging_batch batch ON batch.id = pair.batch_id AND batch.project_id = %(project)s
    AND (%(pilot)s OR NOT batch.is_pilot) AND (%(pooled)s OR batch.pooling_id IS NULL)
JOIN annotation_query query ON query.id = batch.query_id
    AND (%(split)s = '' OR query.split = %(split)s)
    AND (%(query_set)s::bigint IS NULL OR query.query_set_id = %(query_set)s::bigint)
WHERE (%(simulated)s OR NOT EXISTS (
    SELECT 1 FROM judging_judgment program
    WHERE program.pair_id = pair.id AND 'simulated' IN (program.source, program.origin)))"""

# materialized, so that a small project beside a large one is not planned as if it were large
CHOSEN = "WITH chosen AS MATERIALIZED (" + PAIRS + ")"


@dataclass(frozen=True)
class Scope:
    """Pairs of a project: of one split and one query set or of all.

    Those of pilots, of programs, and of batches that came behind the candidates by similarity are with them or not.
    """

    project_id: int
    split: str = ""
    query_set_id: int | None = None
    simulated: bool = True
    pilot: bool = False
    pooled: bool = False

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "project": self.project_id,
            "split": self.split,
            "query_set": self.query_set_id,
            "simulated": self.simulated,
            "pilot": self.pilot,
            "pooled": self.pooled,
        }

    def rows(self, statement: str, **more: Any) -> list[Any]:
        """What a statement over ``chosen`` finds."""
        return self.found(CHOSEN + statement, **more)

    def found(self, statement: str, **more: Any) -> list[Any]:
        """What a statement finds that makes something else of ``PAIRS``."""
        with connection.cursor() as cursor:
            cursor.execute(statement, self.parameters | more)
            return list(cursor.fetchall())


BY_DAY = """
, twice AS (
    SELECT (max(given.created_at) AT TIME ZONE %(zone)s)::date AS day, min(given.grade) AS low, max(given.grade) AS high
    FROM chosen JOIN judging_judgment given ON given.pair_id = chosen.id
    JOIN judging_assignment held ON held.id = given.assignment_id
        AND held.project_id = %(project)s AND held.state <> 'open'
    WHERE given.round = 1 GROUP BY given.pair_id HAVING count(*) = 2)
SELECT day, low, high, count(*) FROM twice GROUP BY 1, 2, 3"""

SHARED = """
, given AS MATERIALIZED (
    SELECT given.pair_id, given.annotator_id, given.grade
    FROM chosen JOIN judging_judgment given ON given.pair_id = chosen.id AND given.occurrence = 0
    LEFT JOIN judging_assignment held ON held.id = given.assignment_id
    WHERE held.id IS NULL OR held.state <> 'open')
SELECT one.annotator_id, other.annotator_id, one.grade, other.grade, count(*)
FROM given one JOIN given other ON other.pair_id = one.pair_id AND other.annotator_id > one.annotator_id
GROUP BY 1, 2, 3, 4"""


def agreement_by_day(scope: Scope, *, zone: str) -> list[tuple[date, int, int, int]]:
    """Day, lower grade, higher grade and how many pairs got these in their first round and on that day the second.

    Imported judgments say nothing about time and are left out.
    """
    return scope.rows(BY_DAY, zone=zone)


def grades_shared(scope: Scope) -> list[tuple[int, int, int, int, int]]:
    """Two annotators, by account, and how often the first gave a grade where the second gave another."""
    return scope.rows(SHARED)


PER_PAGE = 6

MATCHING = """
SELECT query.id FROM annotation_query query WHERE query.id IN (
    SELECT candidate.query_id FROM chosen JOIN annotation_candidate candidate ON candidate.id = chosen.candidate_id
    WHERE chosen.state = 'settled')
AND (%(words)s = '' OR strpos(lower(query.text), lower(%(words)s)) > 0 OR query.number::text = %(words)s)
ORDER BY query.number"""

CASES = """
SELECT candidate.query_id, candidate.rank, chosen.relevance, chosen.state, candidate.similarity
FROM chosen JOIN annotation_candidate candidate ON candidate.id = chosen.candidate_id
WHERE candidate.query_id = ANY(%(queries)s) ORDER BY candidate.rank"""


@dataclass(frozen=True)
class Case:
    """A query and its judged candidates by rank: rank, relevance, state, similarity."""

    query: Query
    candidates: list[tuple[int, int | None, str, float | None]]


def cases_matching(scope: Scope, words: str) -> list[int]:
    """Queries with a settled pair whose text holds the words, or whose number they are; by number."""
    return [query_id for (query_id,) in scope.rows(MATCHING, words=words)]


def cases(scope: Scope, *, words: str, page: str | None) -> tuple[Page[int], list[Case]]:
    """One page of the queries that match."""
    shown: Page[int] = Paginator(cases_matching(scope, words), PER_PAGE).get_page(page)
    ids = list(shown)
    candidates: dict[int, list[tuple[int, int | None, str, float | None]]] = {query_id: [] for query_id in ids}
    for query_id, *candidate in scope.rows(CASES, queries=ids):
        candidates[query_id].append(tuple(candidate))
    queries = Query.objects.in_bulk(ids)
    return shown, [Case(queries[query_id], candidates[query_id]) for query_id in ids]


LATEST = 100_000  # judgments looked at, so that the page stays quick in a large project

# pairs are looked at one by one: the latest judgments are found without counting the others
EFFECTS = f"""
WITH latest AS MATERIALIZED (
    SELECT given.pair_id, given.annotator_id, given.grade, given.position, given.previous_grade
    FROM judging_judgment given JOIN judging_assignment held ON held.id = given.assignment_id
    WHERE held.project_id = %(project)s AND held.state <> 'open'
        AND (%(annotator)s::bigint IS NULL OR given.annotator_id = %(annotator)s::bigint)
        AND (false OR EXISTS ({PAIRS} AND pair.id = given.pair_id))
    ORDER BY given.id DESC LIMIT %(latest)s),
compared AS (
    SELECT latest.*, latest.grade - (
        SELECT avg(other.grade) FROM judging_judgment other
        JOIN judging_assignment held ON held.id = other.assignment_id AND held.state <> 'open'
        WHERE other.pair_id = latest.pair_id AND other.annotator_id <> latest.annotator_id) AS deviation
    FROM latest)
SELECT grouping(position), position, previous_grade, count(*), avg(grade)::float,
    count(deviation), coalesce(sum(deviation), 0)::float, coalesce(sum(deviation * deviation), 0)::float
FROM compared GROUP BY GROUPING SETS ((position), (previous_grade)) ORDER BY 1, 2, 3 NULLS FIRST"""  # noqa: S608  # nosec B608 - constants


class OrderEffects(NamedTuple):
    """Effects over the latest judgments of ended assignments; ``judgments`` says how many."""

    by_position: list[Effect]
    by_previous: list[Effect]

    @property
    def judgments(self) -> int:
        return sum(effect.n for effect in self.by_position)


def order_effects(scope: Scope, *, annotator_id: int | None = None) -> OrderEffects:
    """Effects of everybody, or of one annotator."""
    found = OrderEffects([], [])
    for is_previous, position, previous, n, mean, *deviations in scope.found(
        EFFECTS, annotator=annotator_id, latest=LATEST
    ):
        place = found.by_previous if is_previous else found.by_position
        place.append(effect(previous if is_previous else position, n=n, mean=mean, deviations=Moments(*deviations)))
    return found


STEPS = 20  # bins of similarity between 0 and 1

BY_SIMILARITY = """
SELECT least(floor(round(candidate.similarity * 1000000) / %(width)s)::int, %(last)s), chosen.relevance, count(*)
FROM chosen JOIN annotation_candidate candidate ON candidate.id = chosen.candidate_id
WHERE chosen.state = 'settled' AND candidate.similarity IS NOT NULL GROUP BY 1, 2"""

BY_RANK = """
SELECT candidate.rank, chosen.relevance, count(*)
FROM chosen JOIN annotation_candidate candidate ON candidate.id = chosen.candidate_id
WHERE chosen.state = 'settled' AND candidate.source = 'similarity' GROUP BY 1, 2"""

COUNTED = "SELECT 0, relevance, count(*) FROM chosen WHERE state = 'settled' GROUP BY 2"

RANGES = """
, extremes AS (
    SELECT min(given.grade) AS low, max(given.grade) AS high
    FROM chosen JOIN judging_judgment given ON given.pair_id = chosen.id
    LEFT JOIN judging_assignment held ON held.id = given.assignment_id
    WHERE chosen.state IN ('settled', 'escalated', 'dropped') AND (held.id IS NULL OR held.state <> 'open')
    GROUP BY given.pair_id)
SELECT low, high, count(*) FROM extremes GROUP BY 1, 2 ORDER BY 1, 2"""


def relevance_by_similarity(scope: Scope) -> dict[int, Relevances]:
    """Settled pairs by step of similarity; step i is from i / STEPS to below (i + 1) / STEPS, the last with its end."""
    return relevances_by(scope.rows(BY_SIMILARITY, width=1_000_000 / STEPS, last=STEPS - 1))


def relevance_of_ranks(scope: Scope) -> dict[int, Relevances]:
    return relevances_by(scope.rows(BY_RANK))


def relevance_counted(scope: Scope) -> Relevances:
    return relevances_by(scope.rows(COUNTED)).get(0, Relevances((0,) * 5))


def grade_ranges(scope: Scope) -> dict[tuple[int, int], int]:
    """How many pairs have which lowest and highest final grade, of those whose first round is complete."""
    return {(low, high): n for low, high, n in scope.rows(RANGES)}


def judged_figures(project: Project, split: str, *, finished: QuerySet[Query]) -> dict[str, Any]:
    """Of a split's settled pairs, whatever batch they are of; pilot batches are left out.

    How many moments are relevant is known of ``finished`` queries alone. A query has one batch when it was closed after
    its first, two when it was given a second. Of historic pairs the moments are not known.
    """
    pairs = Pair.objects.filter(batch__project=project, batch__query__split=split, batch__is_pilot=False)
    settled = pairs.filter(state=Pair.State.SETTLED)
    counts = pairs.aggregate(
        settled=Count("pk", filter=Q(state=Pair.State.SETTLED)),
        dropped=Count("pk", filter=Q(state=Pair.State.DROPPED)),
        relevant=Count("pk", filter=Q(state=Pair.State.SETTLED, relevance__gte=1)),
        judged=Count("batch__query", filter=Q(state=Pair.State.SETTLED), distinct=True),
    )
    moments = Moment.objects.filter(pk__in=settled.values("candidate__moment"), video__corpus__is_placeholder=False)
    decided = counts["settled"] + counts["dropped"]
    consensus = 100 * counts["settled"] / decided if decided else None
    return {
        **span_figures(moments),
        **counts,
        "consensus": consensus,
        "relevant_per_query": _relevant_per_query(pairs.filter(batch__query__in=finished.values("pk"))),
        **_batches(project, split),
    }


def _relevant_per_query(pairs: QuerySet[Pair]) -> float | None:
    found = pairs.aggregate(
        queries=Count("batch__query", distinct=True),
        relevant=Count("pk", filter=Q(state=Pair.State.SETTLED, relevance__gte=1)),
    )
    return found["relevant"] / found["queries"] if found["queries"] else None


def _batches(project: Project, split: str) -> dict[str, Any]:
    second = Batch.objects.filter(query=OuterRef("query"), number=2)
    closed = BatchReview.objects.filter(batch=OuterRef("pk"), decision=BatchReview.Decision.CLOSE)
    firsts = Batch.objects.filter(project=project, query__split=split, number=1, is_pilot=False)
    found = firsts.annotate(has_second=Exists(second), is_closed=Exists(closed)).aggregate(
        one=Count("pk", filter=Q(has_second=False, is_closed=True)), two=Count("pk", filter=Q(has_second=True))
    )
    decided = found["one"] + found["two"]
    shares = {name: 100 * n / decided if decided else None for name, n in found.items()}
    return {"one_batch": found["one"], "two_batches": found["two"], **{f"{n}_share": s for n, s in shares.items()}}
