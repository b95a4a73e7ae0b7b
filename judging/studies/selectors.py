"""Results of a coverage study so far, and what pooling from runs adds to each query: the pool report.

All of it is read from rows, so that it reads alike before a pool is opened and long after.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Coalesce

from accounts.models import Project
from annotation.models import Candidate, PoolAnswer, Pooling, PoolSource, Query
from annotation.pools.services.poolings import RANDOM
from annotation.queries.selectors import queries_to_judge
from core.sql import sql_rows
from judging.models import Batch, Pair
from judging.studies.rules import Coverage, Judged, coverage_of, lack_words

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


def queries_planned(pooling: Pooling) -> QuerySet[Query]:
    """Return the queries that a study or a pool from runs is of."""
    return Query.objects.filter(pool_answers__source__pooling=pooling).distinct().order_by("number")


def study_coverage(pooling: Pooling) -> Coverage:
    """The study as the rows say now."""
    judged = [Judged(*row) for row in sql_rows(JUDGED, {"pooling": pooling.pk, "random": RANDOM})]
    project, drawn_from = pooling.project, moments_drawn_from(pooling)
    sizes = {"batch_size": project.batch_size, "n_grades": project.top_grade + 1}
    return coverage_of(judged, top=pooling.depth, drawn_from=drawn_from, **sizes)


def plan_shortfall(pooling: Pooling) -> str:
    """In words, what the corpus is too small for; of the query that lacks most."""
    answers = PoolAnswer.objects.filter(source__pooling=pooling)
    best = dict(answers.exclude(source__name=RANDOM).values_list("query", "spans"))
    random_answers = answers.filter(source__name=RANDOM).values_list("query", "spans", "drawn_from")
    plans = [(best.get(query, 0), others, best.get(query, 0) + (rest or 0)) for query, others, rest in random_answers]
    if not plans:
        return ""
    most, others, moments = min(plans)
    return lack_words(moments=moments, best=most, of_best=pooling.depth, others=others, of_others=pooling.others or 0)


def moments_drawn_from(pooling: Pooling) -> dict[int, int]:
    """By query, how many moments its others were drawn from."""
    answers = PoolAnswer.objects.filter(source__pooling=pooling, drawn_from__isnull=False)
    return {query: n or 0 for query, n in answers.values_list("query", "drawn_from")}


SIMILARITY, ALL_RUNS = "similarity", "all runs"

KINDS = """count(entry.moment_id), count(*) FILTER (WHERE kind IN ('similarity', 'passed_over')),
    count(*) FILTER (WHERE kind = 'passed_over'), count(*) FILTER (WHERE kind = 'earlier'),
    count(*) FILTER (WHERE kind = 'new'), count(*) FILTER (WHERE kind = 'new' AND sources = 1)"""
REPORT = f"""
WITH answer AS (
    SELECT answer.* FROM annotation_poolanswer answer
    JOIN annotation_poolsource source ON source.id = answer.source_id AND source.pooling_id = %(pooling)s),
result AS ( -- a span that becomes a moment when the pool is opened stands for it, as a number below 0
    SELECT entry.answer_id, entry.moment_id FROM annotation_poolentry entry JOIN answer ON answer.id = entry.answer_id
    UNION ALL
    SELECT entry.answer_id, -entry.span_id FROM annotation_poolspanentry entry
    JOIN answer ON answer.id = entry.answer_id
    JOIN annotation_poolspan span ON span.id = entry.span_id AND span.moment_id IS NULL),
entry AS MATERIALIZED (
    SELECT answer.id AS answer_id, answer.source_id, answer.query_id, entry.moment_id,
        CASE WHEN candidate.id IS NULL OR candidate.pooling_id = %(pooling)s THEN 'new'
            WHEN candidate.source = 'pooled' THEN 'earlier'
            WHEN batch.number > 2 OR batch.id IS NULL AND (review.decision = 'close' OR cardinality(first.strata) > 0)
                THEN 'passed_over'
            ELSE 'similarity' END AS kind,
        count(*) OVER of_all AS sources, row_number() OVER of_all AS place
    FROM answer
    JOIN result entry ON entry.answer_id = answer.id
    LEFT JOIN annotation_candidate candidate
        ON candidate.query_id = answer.query_id AND candidate.moment_id = entry.moment_id
    LEFT JOIN judging_pair pair ON pair.candidate_id = candidate.id AND candidate.source = 'similarity'
    LEFT JOIN judging_batch batch ON batch.id = pair.batch_id
    LEFT JOIN judging_batch first ON first.query_id = answer.query_id AND first.number = 1
    LEFT JOIN judging_batchreview review ON review.batch_id = first.id
    WINDOW of_all AS (PARTITION BY answer.query_id, entry.moment_id))
SELECT 'source', answer.query_id, answer.source_id, answer.spans, answer.unmatched, answer.without_preview, {KINDS}
FROM answer LEFT JOIN entry ON entry.answer_id = answer.id
GROUP BY answer.id, answer.query_id, answer.source_id, answer.spans, answer.unmatched, answer.without_preview
UNION ALL
SELECT 'all', query_id, 0, 0, 0, 0, {KINDS} FROM entry WHERE place = 1 GROUP BY query_id
UNION ALL
SELECT 'both', one.source_id, other.source_id, count(*), 0, 0, 0, 0, 0, 0, 0, 0
FROM entry one JOIN entry other ON other.query_id = one.query_id AND other.moment_id = one.moment_id
WHERE one.sources > 1 AND other.sources > 1 AND one.source_id <> other.source_id GROUP BY 2, 3"""  # noqa: S608  # nosec B608 - constants


class Counts(NamedTuple):
    """Counts returned within the depth by a source, or by all of them."""

    queries: int = 0
    spans: int = 0
    unmatched: int = 0
    without_preview: int = 0
    moments: int = 0
    in_similarity: int = 0
    passed_over: int = 0  # of these, those that no batch holds although the query is closed
    in_earlier_pools: int = 0
    new: int = 0
    new_alone: int = 0
    batches: int = 0  # only of all sources: a query's batches hold what any of them returned
    surplus: int = 0  # only of all sources: new ones beyond the most that a query gets

    @property
    def known(self) -> int:
        return self.in_similarity + self.in_earlier_pools

    @property
    def to_judge(self) -> int:
        return self.new - self.surplus + self.passed_over


@dataclass(frozen=True)
class QueryReport:
    """One query: each source, and all of them."""

    query: Query
    by_source: list[Counts]
    union: Counts


class Overlap(NamedTuple):
    """How many moments each source returned, and how many of them each other did."""

    name: str
    moments: int
    shared: list[int]


@dataclass(frozen=True)
class PoolReport:
    """A pooling in total, by query, and source against source."""

    totals: list[tuple[PoolSource, Counts]]
    union: Counts
    queries: list[QueryReport]
    overlaps: list[Overlap]  # similarity first, then the runs

    @property
    def sources(self) -> list[PoolSource]:
        return [source for source, _ in self.totals]

    @property
    def growing(self) -> list[QueryReport]:
        """Queries that get pairs."""
        return [row for row in self.queries if row.union.to_judge]

    @property
    def batches(self) -> int:
        return self.union.batches


def queries_to_pool(pooling: Pooling) -> dict[int, int]:
    """The numbers that runs may answer with, and the query judged for each: of those with a batch, twins too."""
    begun = queries_to_judge(pooling.project_id).filter(batches__number=1)
    if pooling.query_set_id is not None:
        begun = begun.filter(query_set=pooling.query_set_id)
    queries = Query.objects.filter(project=pooling.project_id, is_placeholder=False)
    queries = queries.filter(split=pooling.split) if pooling.split else queries.exclude(split=Query.Split.TRAIN)
    judged = queries.annotate(judged=Coalesce("judged_as", F("pk"))).filter(judged__in=begun.values("pk"))
    return dict(judged.values_list("number", "judged"))


def pool_report(pooling: Pooling) -> PoolReport:
    """The report as the rows say now; before the pool is opened, what would come of it."""
    sources = list(pooling.sources.all())
    by_source: dict[int, dict[int, Counts]] = {}
    in_all: dict[int, list[int]] = {}
    both: dict[tuple[int, int], int] = {}
    for part, one, other, *numbers in sql_rows(REPORT, {"pooling": pooling.pk}):
        if part == "source":
            by_source.setdefault(one, {})[other] = Counts(1, *numbers)
        elif part == "all":
            in_all[one] = numbers[3:]
        else:
            both[one, other] = numbers[0]
    queries = Query.objects.filter(pk__in=by_source).order_by("number")
    rows = []
    for query in queries:
        returned = [by_source[query.pk].get(source.pk, Counts()) for source in sources]
        total = _sum(returned)
        union = Counts(1, total.spans, total.unmatched, total.without_preview, *in_all.get(query.pk, []))
        most = union.new if pooling.most is None else pooling.most
        union = union._replace(surplus=max(0, union.new - most))
        n_batches = math.ceil(union.to_judge / pooling.project.batch_size)
        rows.append(QueryReport(query, returned, union._replace(batches=n_batches)))
    totals = [(source, _sum(row.by_source[index] for row in rows)) for index, source in enumerate(sources)]
    ranked = Candidate.objects.filter(query__in=queries, source=Candidate.Source.SIMILARITY).count()
    overlaps = [Overlap(SIMILARITY, ranked, [ranked, *(counts.in_similarity for _, counts in totals)])]
    both |= {(source.pk, source.pk): counts.moments for source, counts in totals}
    for source, counts in totals:
        with_others = [both.get((source.pk, other.pk), 0) for other in sources]
        overlaps.append(Overlap(source.name, counts.moments, [counts.in_similarity, *with_others]))
    return PoolReport(totals, _sum(row.union for row in rows), rows, overlaps)


def _sum(counts: Iterable[Counts]) -> Counts:
    return Counts(*map(sum, zip(Counts(), *counts, strict=True)))


def pooled_progress(pooling: Pooling) -> dict[str, int]:
    """Return how many pairs and batches the pool has, and how many pairs are decided and batches done."""
    decided, done = ~Q(state__in=[Pair.State.OPEN, Pair.State.ESCALATED]), Q(state=Batch.State.DONE)
    pairs = Pair.objects.filter(batch__pooling=pooling)
    return {
        **pairs.aggregate(pairs=Count("pk"), decided=Count("pk", filter=decided)),
        **Batch.objects.filter(pooling=pooling).aggregate(batches=Count("pk"), done=Count("pk", filter=done)),
    }


def contributions(candidate_ids: Iterable[int]) -> dict[int, list[tuple[str, int]]]:
    """Who returned each of these candidates, in a pool that was opened: source and best rank there, best first."""
    sources: dict[int, list[tuple[str, int]]] = {}
    for candidate, name, rank in sql_rows(CONTRIBUTIONS, {"candidates": list(candidate_ids)}):
        sources.setdefault(candidate, []).append((name, rank))
    return sources


CONTRIBUTIONS = """
SELECT candidate.id, source.name, min(entry.rank) AS best
FROM annotation_candidate candidate
JOIN annotation_poolanswer answer ON answer.query_id = candidate.query_id
JOIN annotation_poolentry entry ON entry.answer_id = answer.id AND entry.moment_id = candidate.moment_id
JOIN annotation_poolsource source ON source.id = answer.source_id
JOIN annotation_pooling pooling ON pooling.id = source.pooling_id AND pooling.state IN ('opening', 'done')
WHERE candidate.id = ANY (%(candidates)s)
GROUP BY candidate.id, source.name ORDER BY candidate.id, best, source.name"""


# The report as rows

COUNTS = ["spans", "unmatched", "without_preview", "moments", "in_similarity", "passed_over"]
COUNTS += ["in_earlier_pools", "new", "new_alone"]
COLUMNS = ["query_id", "query", "source", "queries", *COUNTS, "to_judge"]
OVERLAP_COLUMNS = ["source", "moments", "other", "other_moments", "both"]


def report_rows(report: PoolReport) -> Iterator[list[object]]:
    """Yield rows of each query, one a source and one for all runs; those without a query are the totals."""
    for source, counts in report.totals:
        yield _row("", "", source.name, counts)
    yield _row("", "", ALL_RUNS, report.union)
    for entry in report.queries:
        for source, counts in zip(report.sources, entry.by_source, strict=True):
            yield _row(entry.query.number, entry.query.text, source.name, counts)
        yield _row(entry.query.number, entry.query.text, ALL_RUNS, entry.union)


def _row(number: object, text: str, source: str, counts: Counts) -> list[object]:
    return [number, text, source, counts.queries, *(getattr(counts, name) for name in COUNTS), counts.to_judge]


def overlap_rows(report: PoolReport) -> Iterator[list[object]]:
    """Yield a row for each two sources, similarity among them: how many moments both have."""
    for one in report.overlaps:
        for other, both in zip(report.overlaps, one.shared, strict=True):
            yield [one.name, one.moments, other.name, other.moments, both]
