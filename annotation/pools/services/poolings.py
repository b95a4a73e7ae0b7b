"""Pools what runs returned: a plan that can be looked at, and the candidates that come of it; plans coverage studies.

Runs belong to an app above this one; what they returned comes down as plain rows. A coverage study is a pool of
two sources: the ranking by similarity beyond its depth, and a random draw of the rest.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from accounts.models import Project, User
from annotation.models import (
    Candidate,
    Moment,
    NamedQuerySet,
    PoolAnswer,
    PoolEntry,
    Pooling,
    PoolSource,
    PoolSpan,
    PoolSpanEntry,
    Query,
)
from annotation.pools import rules
from annotation.pools.services.candidates import pool_of, similarity_of
from annotation.pools.services.new_moments import (
    NewSpan,
    Position,
    SpanIntake,
    moments_make,
    spans_store,
    videos_by_name,
)
from core.audit import audit_record
from core.exceptions import NotPossible
from moment_retrieval.records import Span

State = Pooling.State
CHUNK = 5000


class Returned(NamedTuple):
    """One span that a source returned for a query; ``rank`` is its place there, from 1."""

    query: int  # Query.number
    video: str
    start_s: float
    end_s: float
    source: str
    rank: int


@dataclass(frozen=True)
class Scope:
    """How deep to pool, from which overlap a span is a moment, how many moments a query gets, and which queries. Raises
    NotPossible where a number is out of range."""

    depth: int = rules.RUN_DEPTH
    iou_min: float = rules.IOU_MIN
    makes_moments: bool = False  # of spans that fit none
    most: int | None = None  # new candidates of a query; all
    mixing: str = Pooling.Mixing.RANK  # which of them go first
    split: str = ""  # both judged ones
    query_set: NamedQuerySet | None = None  # all

    def __post_init__(self) -> None:
        if not rules.DEPTHS[0] <= self.depth <= rules.DEPTHS[1]:
            raise NotPossible(f"The depth is a number from {rules.DEPTHS[0]} to {rules.DEPTHS[1]}.")
        if not 0 < self.iou_min <= 1:
            raise NotPossible("The IoU is above 0, and at most 1.")
        if self.most is not None and not rules.DEPTHS[0] <= self.most <= rules.DEPTHS[1]:
            raise NotPossible(f"A query gets {rules.DEPTHS[0]} to {rules.DEPTHS[1]} new candidates at most.")


@transaction.atomic
def pooling_create(
    *,
    project: Project,
    sources: Mapping[str, Sequence[UUID]],
    features: Mapping[str, Sequence[UUID]] = MappingProxyType({}),
    scope: Scope,
    actor: User | None = None,
) -> Pooling:
    """Create a pooling without a plan yet. Raises NotPossible where there is nothing to pool.

    Args:
        sources: names of systems with the UUIDs of their stored runs, none of a file.
        features: names with the UUIDs of two sets of features, of videos and of queries.
    """
    if not sources and not features:
        raise NotPossible("Choose at least one run or one pair of features.")
    pooling = Pooling.objects.create(project=project, created_by=actor, **vars(scope))
    PoolSource.objects.bulk_create(
        [
            *(PoolSource(pooling=pooling, name=name, run_uuids=uuids) for name, uuids in sources.items()),
            *(PoolSource(pooling=pooling, name=name, feature_uuids=uuids) for name, uuids in features.items()),
        ]
    )
    return pooling


@transaction.atomic
def pooling_plan(*, pooling: Pooling, queries: Mapping[int, int], returned: Iterable[Returned]) -> None:
    """Write down which moments each source returned, and what fits none.

    Where the pool makes moments, such spans become moments when it is opened, but for those of videos without a file,
    which nobody could watch.

    Args:
        queries: the queries to pool for: their numbers, and those of their twins, with their primary keys.
        returned: rows of one source after those of another.

    Raises:
        NotPossible: it has its plan, or was discarded; or it makes moments, and a span is of no video of the corpus or
            lies outside of its video.
    """
    with _planning(pooling, "This pool is planned already.") as sources:
        watchable = watchable_moments(pooling.project)
        intake = SpanIntake(videos_by_name(pooling.project) if pooling.makes_moments else {})
        answer_rows: dict[tuple[str, int], PoolAnswer] = {}
        spans: dict[str, list[tuple[int, Span]]] = {}
        moments = Moment.objects.filter(video__corpus=pooling.project.dataset.corpus_id)
        for video, pk, start_s, end_s in moments.values_list("video__name", "pk", "start_s", "end_s"):
            spans.setdefault(video, []).append((pk, Span(video, start_s, end_s)))
        for name, rows in groupby(returned, key=attrgetter("source")):
            ranked_moments: dict[int, list[tuple[int | None, int]]] = {}  # query to moments, None for what fits none
            to_make: Counter[int] = Counter()
            unseen: Counter[int] = Counter()
            others = set()
            for row in rows:
                if (query := queries.get(row.query)) is None:
                    others.add(row.query)
                elif row.rank <= pooling.depth:
                    span = Span(row.video, row.start_s, row.end_s)
                    ranked = ranked_moments.setdefault(query, [])
                    if pooling.makes_moments:
                        within = intake.clipped(span, Position(name, row.query, row.rank))
                        if within is None:
                            continue
                        span = within
                    moment = rules.moment_of(span, spans.get(row.video, ()), iou_min=pooling.iou_min)
                    if moment is not None or not pooling.makes_moments:
                        ranked.append((moment, row.rank))
                    elif intake.videos[row.video].file:
                        intake.spans.append(NewSpan(name, query, span, row.rank))
                        to_make[query] += 1
                    else:
                        unseen[query] += 1
            answers = {
                query: Answered(ranked, to_make=to_make[query], unseen=unseen[query])
                for query, ranked in ranked_moments.items()
            }
            by_query = answers_store(source=sources[name], answers=answers, watchable=watchable)
            answer_rows |= {(name, query): row for query, row in by_query.items()}
            PoolSource.objects.filter(pk=sources[name].pk).update(other_queries=len(others))
        intake.check()
        if intake.spans:
            spans_store(pooling=pooling, spans=intake.spans, answers=answer_rows, videos=intake.videos)
            _surplus_spans_drop(pooling)


def _surplus_spans_drop(pooling: Pooling) -> None:
    """Drop spans that no query takes, as each gets so many new candidates at most: no moment is made of them."""
    if pooling.most is None:
        return
    results: dict[int, list[rules.Found]] = {}
    for query, source, moment, rank in PoolEntry.objects.filter(answer__source__pooling=pooling).values_list(
        "answer__query", "answer__source", "moment", "rank"
    ):
        results.setdefault(query, []).append(rules.Found(source, moment, rank))
    for query, source, span, rank in PoolSpanEntry.objects.filter(span__pooling=pooling).values_list(
        "answer__query", "answer__source", "span", "rank"
    ):
        results.setdefault(query, []).append(rules.Found(source, -span, rank))  # below 0, as no moment is
    candidates: dict[int, set[int]] = {}
    for query, moment in Candidate.objects.filter(query__in=results).values_list("query", "moment"):
        candidates.setdefault(query, set()).add(moment)
    spans_to_keep = {
        -moment
        for query, found in results.items()
        for moment in _to_add(pooling, found, candidates.get(query, set()), most=pooling.most)
        if moment < 0
    }
    PoolSpan.objects.filter(pooling=pooling).exclude(pk__in=spans_to_keep).delete()


def _to_add(
    pooling: Pooling, results: Iterable[rules.Found], candidate_ids: Collection[int], *, most: int | None
) -> list[int]:
    in_turns = pooling.mixing == Pooling.Mixing.TURNS
    return rules.pooled(results, depth=pooling.depth, candidate_ids=candidate_ids, most=most, in_turns=in_turns)


@contextmanager
def _planning(pooling: Pooling, refusal: str) -> Iterator[dict[str, PoolSource]]:
    """Lock a pooling without a plan while its sources are read, and say that it has its plan now."""
    if not Pooling.objects.select_for_update().filter(pk=pooling.pk, state=State.PREPARING).exists():
        raise NotPossible(refusal)
    yield {source.name: source for source in pooling.sources.all()}
    Pooling.objects.filter(pk=pooling.pk).update(state=State.READY)
    pooling.refresh_from_db()


@dataclass(frozen=True)
class Answered:
    """A source's result for a query: moments, None for what fits none, with their ranks."""

    found: Sequence[tuple[int | None, int]]
    drawn_from: int | None = None  # of a random draw
    measured: Mapping[int, tuple[float, int | None]] = field(default_factory=dict)  # to similarity, rank
    to_make: int = 0  # spans of which moments are made
    unseen: int = 0  # spans of videos without a file, which would have become moments


def watchable_moments(project: Project) -> set[int]:
    ready = Moment.objects.filter(video__corpus=project.dataset.corpus_id, preview_state=Moment.Preview.READY)
    return set(ready.values_list("pk", flat=True))


def answers_store(
    *, source: PoolSource, answers: Mapping[int, Answered], watchable: Collection[int]
) -> dict[int, PoolAnswer]:
    """Keep what a source returned, by query; of moments those that can be watched. Return the rows by query."""
    rows, entries = [], []
    for query, answer in answers.items():
        fitting = [(moment, rank) for moment, rank in answer.found if moment is not None]
        good = [(moment, rank) for moment, rank in fitting if moment in watchable]
        row = PoolAnswer(
            source=source,
            query_id=query,
            spans=len(answer.found) + answer.to_make + answer.unseen,
            unmatched=len(answer.found) - len(fitting),
            without_preview=len(fitting) - len(good) + answer.unseen,
            drawn_from=answer.drawn_from,
        )
        rows.append(row)
        best = rules.best_ranks(good)
        for moment, rank in best.items():
            value, by_similarity = answer.measured.get(moment, (None, None))
            entries.append(
                PoolEntry(answer=row, moment_id=moment, rank=rank, similarity=value, similarity_rank=by_similarity)
            )
    PoolAnswer.objects.bulk_create(rows, batch_size=CHUNK)
    PoolEntry.objects.bulk_create(entries, batch_size=CHUNK)
    return {row.query_id: row for row in rows}


@transaction.atomic
def pooling_fail(*, pooling: Pooling, error: str) -> None:
    """The runs cannot be used; nothing was planned."""
    Pooling.objects.filter(pk=pooling.pk, state=State.PREPARING).update(state=State.FAILED, error=error[:2000])


@transaction.atomic
def pooling_discard(*, pooling: Pooling) -> None:
    """Discard a plan; repeating it changes nothing. Raises NotPossible where it is opened, so that its pairs are being
    judged."""
    row = Pooling.objects.select_for_update().get(pk=pooling.pk)
    if row.is_opened:
        raise NotPossible("This pool is opened: its pairs are judged.")
    Pooling.objects.filter(pk=row.pk).update(state=State.DISCARDED)
    PoolAnswer.objects.filter(source__pooling=row).delete()
    PoolSpan.objects.filter(pooling=row).delete()


@transaction.atomic
def pooling_confirm(*, pooling: Pooling, actor: User | None) -> Pooling:
    """Let the plan become candidates; repeating it changes nothing. Raises NotPossible where there is no plan, or it
    was discarded."""
    row = Pooling.objects.select_for_update().get(pk=pooling.pk)
    if row.is_opened:
        return row
    if row.state != State.READY:
        raise NotPossible("There is no plan to open.")
    row.state, row.opened_at = State.OPENING, timezone.now()
    row.save(update_fields=["state", "opened_at"])
    moments_make(pooling=row)
    facts: dict[str, object]
    if row.is_coverage:
        queries = Query.objects.filter(pool_answers__source__pooling=row).distinct().order_by("number")
        numbers = list(queries.values_list("number", flat=True))
        action, facts = "coverage.open", {"top": row.depth, "others": row.others, "seed": row.seed, "queries": numbers}
    else:
        names, query_set = [source.name for source in row.sources.all()], row.query_set.name if row.query_set else ""
        action, facts = "pool.open", {"sources": names, "depth": row.depth, "iou_min": row.iou_min}
        facts |= {"split": row.split, "query_set": query_set}
        facts |= {} if row.most is None else {"most": row.most, "mixing": row.mixing}
        facts |= {"new_moments": row.new_spans.filter(is_new=True).count()} if row.makes_moments else {}
    audit_record(project=row.project, actor=actor, action=action, subject=row.uuid, **facts)
    return row


def pooling_finish(*, pooling: Pooling) -> None:
    Pooling.objects.filter(pk=pooling.pk, state=State.OPENING).update(state=State.DONE)


def candidates_pool(*, pooling: Pooling, query: Query) -> list[Candidate]:
    """Add what the plan holds for the query behind its last candidate; the caller holds the query's row.

    A moment that is a candidate already, and one whose preview was lost meanwhile, is left out; so is what goes beyond
    the most that a query gets.
    """
    candidate_ids = set(query.candidates.values_list("moment", flat=True))
    entries = PoolEntry.objects.filter(answer__source__pooling=pooling, answer__query=query)
    watchable = entries.filter(moment__preview_state=Moment.Preview.READY)
    results = [rules.Found(*row) for row in watchable.values_list("answer__source", "moment", "rank")]
    n_added = query.candidates.filter(pooling=pooling).count()  # by a try that was broken off
    most = None if pooling.most is None else max(0, pooling.most - n_added)
    moments = _to_add(pooling, results, candidate_ids, most=most)
    last = query.candidates.aggregate(last=Max("rank"))["last"] or 0
    return Candidate.objects.bulk_create(
        Candidate(query=query, moment_id=moment, rank=rank, source=Candidate.Source.POOLED, pooling=pooling)
        for rank, moment in enumerate(moments, start=last + 1)
    )


SIMILAR, RANDOM = "similarity", "random draw"  # names of the two sources
EXACTLY = 1.0  # moments themselves are returned, no spans that would have to fit


@dataclass(frozen=True)
class Draw:
    """How many of the best and how many others, and the seed that draws them. Raises NotPossible where a number is out
    of range."""

    seed: int
    top: int = rules.TOP
    others: int = rules.OTHERS

    def __post_init__(self) -> None:
        if not rules.DEPTHS[0] <= self.top <= rules.DEPTHS[1] or not 0 <= self.others <= rules.DEPTHS[1]:
            raise NotPossible(f"The numbers of moments are at most {rules.DEPTHS[1]}.")
        if self.seed < 0:
            raise NotPossible("The seed is 0 or more.")


@transaction.atomic
def coverage_create(*, project: Project, queries: Sequence[Query], draw: Draw, actor: User | None = None) -> Pooling:
    """A study of these queries without a plan yet. Raises NotPossible where there is no query."""
    if not queries:
        raise NotPossible("Choose at least one query.")
    pooling = Pooling.objects.create(
        project=project, depth=draw.top, iou_min=EXACTLY, seed=draw.seed, others=draw.others, created_by=actor
    )
    similar, _ = (PoolSource.objects.create(pooling=pooling, name=name) for name in (SIMILAR, RANDOM))
    PoolAnswer.objects.bulk_create(
        PoolAnswer(source=similar, query=query, spans=0, unmatched=0, without_preview=0) for query in queries
    )
    return pooling


@transaction.atomic
def coverage_plan(*, pooling: Pooling) -> None:
    """Rank the pool for each query of the study, draw the others, and write both down. Raises NotPossible where it has
    its plan, was discarded, or there is no moment to judge."""
    with _planning(pooling, "This study is planned already.") as sources:
        queries = list(Query.objects.filter(pool_answers__source__pooling=pooling).order_by("number"))
        pool = pool_of(project=pooling.project)
        if not pool.captions:
            raise NotPossible("No moment of the corpus can be judged: there is none with a preview and a caption.")
        everything = set(pool.moment_ids.tolist())
        similarity, texts = similarity_of(pooling.project), [query.text for query in queries]
        top_moments = pool.rank(texts, similarity=similarity, depth=pooling.depth)
        n_drawn, seed = pooling.others or 0, pooling.seed or 0
        similar, random = {}, {}
        for query, moments in zip(queries, top_moments, strict=True):
            frozen = query.candidates.filter(source=Candidate.Source.SIMILARITY).order_by("rank")
            top = rules.top_of(list(frozen.values_list("moment", flat=True)), moments, pooling.depth)
            others = rules.others_drawn(everything, top, n_drawn, seed=seed, query=query.number)
            n_others = len(everything - set(top))
            in_pool = [moment for moment in (*top, *others) if moment in everything]
            measured = pool.measured(query.text, in_pool, similarity=similarity)
            similar[query.pk] = Answered([(moment, rank) for rank, moment in enumerate(top, start=1)], None, measured)
            random[query.pk] = Answered([(moment, at) for at, moment in enumerate(others, start=1)], n_others, measured)
        watchable = watchable_moments(pooling.project)
        sources[SIMILAR].answers.all().delete()
        for name, answers in ((SIMILAR, similar), (RANDOM, random)):
            answers_store(source=sources[name], answers=answers, watchable=watchable)
