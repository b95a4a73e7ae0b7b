"""What pooling from runs adds to each query, and how far the sources agree: the pool report.

Everything is told from rows, so that it reads alike before a pool is opened and long after.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from django.db import connection
from django.db.models import F, Q
from django.db.models.functions import Coalesce

from annotation.models import Candidate, Pooling, PoolSource, Query
from annotation.rules.pooling import BATCH_SIZE, BATCHES
from annotation.selectors import queries_to_judge
from judging.models import Batch, Pair

SIMILARITY, ALL_RUNS = "similarity", "all runs"

ENTRIES = """
WITH entry AS MATERIALIZED (
    SELECT answer.id AS answer_id, answer.source_id, answer.query_id, entry.moment_id,
        CASE WHEN candidate.id IS NULL OR candidate.pooling_id = %(pooling)s THEN 'new'
            WHEN candidate.source = 'pooled' THEN 'earlier'
            WHEN batch.number > 2 OR batch.id IS NULL AND review.decision = 'close' THEN 'passed_over'
            ELSE 'similarity' END AS kind,
        count(*) OVER (PARTITION BY answer.query_id, entry.moment_id) AS sources
    FROM annotation_poolentry entry
    JOIN annotation_poolanswer answer ON answer.id = entry.answer_id
    JOIN annotation_poolsource source ON source.id = answer.source_id AND source.pooling_id = %(pooling)s
    LEFT JOIN annotation_candidate candidate
        ON candidate.query_id = answer.query_id AND candidate.moment_id = entry.moment_id
    LEFT JOIN judging_pair pair ON pair.candidate_id = candidate.id
    LEFT JOIN judging_batch batch ON batch.id = pair.batch_id
    LEFT JOIN judging_batch first ON first.query_id = answer.query_id AND first.number = 1
    LEFT JOIN judging_batchreview review ON review.batch_id = first.id)"""
KINDS = """count(*) FILTER (WHERE kind IN ('similarity', 'passed_over')), count(*) FILTER (WHERE kind = 'passed_over'),
    count(*) FILTER (WHERE kind = 'earlier'), count(*) FILTER (WHERE kind = 'new'),
    count(*) FILTER (WHERE kind = 'new' AND sources = 1)"""
BY_SOURCE = f"""{ENTRIES}
SELECT answer.query_id, answer.source_id, answer.spans, answer.unmatched, answer.without_preview,
    count(entry.moment_id), {KINDS}
FROM annotation_poolanswer answer
JOIN annotation_poolsource source ON source.id = answer.source_id AND source.pooling_id = %(pooling)s
LEFT JOIN entry ON entry.answer_id = answer.id
GROUP BY answer.id"""  # noqa: S608
IN_ALL = f"""{ENTRIES}
SELECT query_id, count(*), {KINDS}
FROM (SELECT DISTINCT query_id, moment_id, kind, sources FROM entry) AS entry GROUP BY query_id"""  # noqa: S608
IN_BOTH = f"""{ENTRIES}
SELECT one.source_id, other.source_id, count(*)
FROM entry one JOIN entry other ON other.query_id = one.query_id AND other.moment_id = one.moment_id
GROUP BY 1, 2"""  # noqa: S608


@dataclass(frozen=True)
class Counts:
    """What a source, or all of them together, returned within the depth."""

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

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @property
    def known(self) -> int:
        return self.in_similarity + self.in_earlier_pools

    @property
    def to_judge(self) -> int:
        return self.new + self.passed_over

    @property
    def batches(self) -> int:
        """Of one query."""
        return -(-self.to_judge // BATCH_SIZE)


@dataclass(frozen=True)
class QueryReport:
    """One query: each source, and all of them."""

    query: Query
    by_source: list[Counts]
    union: Counts


@dataclass(frozen=True)
class Overlap:
    """How many moments each source returned, and how many of them each other did."""

    name: str
    moments: int
    shared: list[int]


@dataclass(frozen=True)
class PoolReport:
    """A pooling in total, by query, and source against source."""

    sources: list[PoolSource]
    queries: list[QueryReport]
    overlaps: list[Overlap]

    @property
    def totals(self) -> list[tuple[PoolSource, Counts]]:
        by_source = zip(*(row.by_source for row in self.queries), strict=True)
        totals = [sum(counts, Counts()) for counts in by_source] or [Counts()] * len(self.sources)
        return list(zip(self.sources, totals, strict=True))

    @property
    def union(self) -> Counts:
        return sum((row.union for row in self.queries), Counts())

    @property
    def growing(self) -> list[QueryReport]:
        """Queries that get pairs."""
        return [row for row in self.queries if row.union.to_judge]

    @property
    def batches(self) -> int:
        return sum(row.union.batches for row in self.queries)


def queries_to_pool(pooling: Pooling) -> dict[int, int]:
    """The numbers that runs may answer with, and the query judged for each: of those with a batch, twins too."""
    begun = queries_to_judge(pooling.project_id).filter(batches__number=1)
    if pooling.query_set_id is not None:
        begun = begun.filter(query_set=pooling.query_set_id)
    asked = Query.objects.filter(project=pooling.project_id, is_placeholder=False)
    asked = asked.filter(split=pooling.split) if pooling.split else asked.exclude(split=Query.Split.TRAIN)
    judged = asked.annotate(judged=Coalesce("judged_as", F("pk"))).filter(judged__in=begun.values("pk"))
    return dict(judged.values_list("number", "judged"))


def pool_report(pooling: Pooling) -> PoolReport:
    """The report as the rows say now; before the pool is opened, what would come of it."""
    sources = list(pooling.sources.all())
    by_source: dict[int, dict[int, Counts]] = {}
    for query, source, *counts in _rows(BY_SOURCE, pooling):
        by_source.setdefault(query, {})[source] = Counts(1, *counts)
    in_all = {query: counts for query, *counts in _rows(IN_ALL, pooling)}
    queries = Query.objects.filter(pk__in=by_source).order_by("number")
    rows = [_query_report(query, sources, by_source[query.pk], in_all.get(query.pk, [0] * 6)) for query in queries]
    return PoolReport(sources, rows, _overlaps(pooling, sources, rows))


def _query_report(
    query: Query, sources: Iterable[PoolSource], found: Mapping[int, Counts], in_all: list[int]
) -> QueryReport:
    counts = [found.get(source.pk, Counts()) for source in sources]
    told = sum(counts, Counts())
    union = Counts(1, told.spans, told.unmatched, told.without_preview, *in_all)
    return QueryReport(query, counts, union)


def _overlaps(pooling: Pooling, sources: list[PoolSource], rows: list[QueryReport]) -> list[Overlap]:
    """Similarity first, then the runs."""
    both = {(one, other): n for one, other, n in _rows(IN_BOTH, pooling)}
    ranked = Candidate.objects.filter(
        query__in=[row.query.pk for row in rows], source=Candidate.Source.SIMILARITY
    ).count()
    known = Counter({source.pk: 0 for source in sources})
    for row in rows:
        known.update({source.pk: n.in_similarity for source, n in zip(sources, row.by_source, strict=True)})
    first = Overlap(SIMILARITY, ranked, [ranked, *(known[source.pk] for source in sources)])
    others = [
        Overlap(
            source.name,
            both.get((source.pk, source.pk), 0),
            [known[source.pk], *(both.get((source.pk, other.pk), 0) for other in sources)],
        )
        for source in sources
    ]
    return [first, *others]


def _rows(statement: str, pooling: Pooling) -> list[list[int]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"pooling": pooling.pk})
        return [list(row) for row in cursor.fetchall()]


@dataclass(frozen=True)
class Progress:
    """How far the judging of a pool's candidates is."""

    pairs: int
    decided: int
    batches: int
    done: int


def pooled_progress(pooling: Pooling) -> Progress:
    passed_over = Q(
        candidate__source=Candidate.Source.SIMILARITY,
        batch__number__gt=BATCHES,
        candidate__moment__pool_entries__answer__source__pooling=pooling,
        candidate__moment__pool_entries__answer__query=F("candidate__query"),
    )
    pairs = Pair.objects.filter(Q(candidate__pooling=pooling) | passed_over).distinct()
    batches = Batch.objects.filter(pk__in=pairs.values("batch"))
    return Progress(
        pairs=pairs.count(),
        decided=pairs.exclude(state__in=[Pair.State.OPEN, Pair.State.ESCALATED]).count(),
        batches=batches.count(),
        done=batches.filter(state=Batch.State.DONE).count(),
    )


def contributions(candidate_ids: Iterable[int]) -> dict[int, list[tuple[str, int]]]:
    """Who returned each of these candidates, in a pool that was opened: source and best rank there, best first."""
    found: dict[int, list[tuple[str, int]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(CONTRIBUTIONS, [list(candidate_ids)])
        for candidate, name, rank in cursor.fetchall():
            found.setdefault(candidate, []).append((name, rank))
    return found


CONTRIBUTIONS = """
SELECT candidate.id, source.name, min(entry.rank) AS best
FROM annotation_candidate candidate
JOIN annotation_poolanswer answer ON answer.query_id = candidate.query_id
JOIN annotation_poolentry entry ON entry.answer_id = answer.id AND entry.moment_id = candidate.moment_id
JOIN annotation_poolsource source ON source.id = answer.source_id
JOIN annotation_pooling pooling ON pooling.id = source.pooling_id AND pooling.state IN ('opening', 'done')
WHERE candidate.id = ANY (%s)
GROUP BY candidate.id, source.name ORDER BY candidate.id, best, source.name"""
