"""Which queries a release holds, and which it lacks."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.db.models.expressions import RawSQL

from accounts.models import Project
from annotation.models import Candidate, Moment, Query
from annotation.pools.rules.pooling import BATCH_SIZE, BATCHES
from annotation.queries.selectors import queries_to_judge
from judging.models import Batch, BatchReview, Pair, Release

IS_PILOT = Q(batches__is_pilot=True) | (Q(batches__isnull=True) & (Q(query_set__is_pilot=True) | Q(was_pilot=True)))
UNDECIDED = (Pair.State.OPEN, Pair.State.ESCALATED)


class Listed(NamedTuple):
    """A query of a release: one that was judged, or a twin that shares its pairs."""

    number: int
    text: str
    split: str
    judged: int  # the key of the query judged
    is_own: bool  # it is that query
    is_placeholder: bool


class Missing(NamedTuple):
    """A query to judge that is not in the release, and how far it is."""

    number: int
    text: str
    split: str
    state: str
    batch: int | None
    round: int | None
    undecided: int | None


@dataclass(frozen=True)
class Scope:
    """The queries of one release, read once."""

    project: Project
    includes_pilot: bool
    listed: tuple[Listed, ...]  # by number, twins among them
    missing: tuple[Missing, ...]  # by number
    is_anonymised: bool = False

    @cached_property
    def own(self) -> tuple[Listed, ...]:
        return tuple(query for query in self.listed if query.is_own)

    @cached_property
    def keys(self) -> list[int]:
        """Of the queries judged."""
        return [query.judged for query in self.own]

    @property
    def among(self) -> RawSQL:
        """The keys as ``__in`` takes them, however many there are."""
        return RawSQL("SELECT unnest(%s::bigint[])", [self.keys])

    @property
    def is_partial(self) -> bool:
        return any(query.state != PILOT for query in self.missing)

    @property
    def missing_by_state(self) -> dict[str, int]:
        found = Counter(query.state for query in self.missing)
        return {state: found[state] for state in STATES if found[state]}


PILOT = "pilot"
STATES = {
    "no_batch": "no batch is open yet",
    "being_judged": "a batch is open",
    "awaits_decision": "the first batch is done; a lead decides about a second",
    "second_batch_awaited": "a second batch was asked for and is not open yet, or its previews are not cut",
    PILOT: "of a pilot set, which this release leaves out",
}


def scope_of(release: Release) -> Scope:
    project = Project.objects.select_related("dataset__corpus").get(pk=release.project_id)
    finished = finished_queries(project.pk)
    released = finished if release.includes_pilot else finished.exclude(batches__is_pilot=True)
    own = {row["pk"]: row for row in released.distinct().values("pk", "number", "text", "split", "is_placeholder")}
    listed = [Listed(r["number"], r["text"], r["split"], pk, True, r["is_placeholder"]) for pk, r in own.items()]
    twins = Query.objects.filter(project=project, judged_as__isnull=False)
    for number, text, split, judged in twins.values_list("number", "text", "split", "judged_as"):
        if judged in own:
            listed.append(Listed(number, text, split, judged, False, False))
    return Scope(
        project=project,
        includes_pilot=release.includes_pilot,
        is_anonymised=release.is_anonymised,
        listed=tuple(sorted(listed)),
        missing=tuple(_missing(project.pk, set(own), includes_pilot=release.includes_pilot)),
    )


def finished_queries(project_id: int) -> QuerySet[Query]:
    """Judged queries with nothing left to do: closed after the first batch, second batch done, or historic.

    One that was extended is finished, too, where no candidate is left whose preview could be cut. A batch pooled from
    runs makes a query unfinished until it is done.
    """
    closed = BatchReview.objects.filter(batch__query=OuterRef("pk"), decision=BatchReview.Decision.CLOSE)
    extended = BatchReview.objects.filter(batch__query=OuterRef("pk"), decision=BatchReview.Decision.EXTEND)
    second = Batch.objects.filter(query=OuterRef("pk"), number=2)
    beyond = Candidate.objects.filter(
        query=OuterRef("pk"), source=Candidate.Source.SIMILARITY, rank__range=(BATCH_SIZE + 1, BATCHES * BATCH_SIZE)
    ).exclude(moment__preview_state=Moment.Preview.FAILED)  # nobody will ever see it
    judged = Query.objects.filter(project=project_id, batches__number=1, batches__state=Batch.State.DONE)
    return judged.filter(~Exists(Batch.objects.filter(query=OuterRef("pk"), state=Batch.State.OPEN))).filter(
        Q(is_placeholder=True)
        | Exists(closed)
        | Exists(second.filter(state=Batch.State.DONE))
        | (Exists(extended) & ~Exists(second) & ~Exists(beyond))
    )


def unfinished_queries(project_id: int) -> QuerySet[Query]:
    """Queries to judge that a release made now would lack, those of pilot sets apart."""
    left = queries_to_judge(project_id).exclude(pk__in=finished_queries(project_id).values("pk"))
    return left.exclude(pk__in=queries_to_judge(project_id).filter(IS_PILOT).values("pk"))


def _missing(project_id: int, released: set[int], *, includes_pilot: bool) -> Iterator[Missing]:
    to_judge = queries_to_judge(project_id)
    pilot = set() if includes_pilot else set(to_judge.filter(IS_PILOT).values_list("pk", flat=True))
    last, decided = _last_batches(project_id), _decisions(project_id)
    for pk, number, text, split in to_judge.order_by("number").values_list("pk", "number", "text", "split"):
        if pk in released:
            continue
        batch = last.get(pk)
        state = PILOT if pk in pilot else _state_of(batch, decided.get(pk))
        if batch is None or state == PILOT:  # how far a pilot is says nothing of what is missing
            yield Missing(number, text, split, state, None, None, None)
        else:
            yield Missing(number, text, split, state, batch["number"], batch["round"], batch["undecided"])


def _last_batches(project_id: int) -> dict[int, dict[str, Any]]:
    """The batch that each query is at: the open one, else its last."""
    rows = Batch.objects.filter(project=project_id).annotate(
        undecided=Count("pairs", filter=Q(pairs__state__in=UNDECIDED))
    )
    rows = rows.order_by("query", "state", "number")  # an open one comes last, and is kept
    return {row["query"]: dict(row) for row in rows.values("query", "number", "round", "state", "undecided")}


def _decisions(project_id: int) -> dict[int, str]:
    return dict(BatchReview.objects.filter(batch__project=project_id).values_list("batch__query", "decision"))


def _state_of(batch: dict[str, Any] | None, decision: str | None) -> str:
    if batch is None:
        return "no_batch"
    if batch["state"] == Batch.State.OPEN:
        return "being_judged"
    return "second_batch_awaited" if decision == BatchReview.Decision.EXTEND else "awaits_decision"
