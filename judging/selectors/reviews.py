"""What the lead decides after first batches: the queue, what each case shows, what is suggested and what follows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import connection
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.timesince import timesince

from annotation.models import Candidate, Moment, Project, User
from annotation.rules.pooling import BATCH_SIZE
from judging.models import Batch, BatchReview, Pair, Policy
from judging.rules.extension import Suggestion, suggest
from judging.rules.forecast import TVR_RANKING, Forecast, Part
from judging.selectors.people import actor_names

WAY = {BatchReview.Decision.EXTEND: "extended", BatchReview.Decision.CLOSE: "closed"}

LOOKED_AT = 2000  # waiting batches, the oldest, when many are accepted together
LATEST = 100  # finished assignments that say how long a judgment takes
LATELY = """
SELECT (SELECT avg(least(given.active_ms, 1000 * policy.pay_cap_s))::float / 1000
        FROM (SELECT id FROM judging_assignment WHERE project_id = %(project)s AND state = 'finished'
            ORDER BY id DESC LIMIT %(latest)s) held
        JOIN judging_judgment given ON given.assignment_id = held.id JOIN judging_policy policy
        ON policy.id = given.policy_id),
    (SELECT sum(second_round)::float / nullif(sum(judgments - second_round), 0) FROM judging_judgmentday
        WHERE project_id = %(project)s)"""


class Outlook(NamedTuple):
    """What the rule says of a first batch, and how many pairs a second one would hold."""

    suggestion: Suggestion
    beyond: int


def review_queue(project: Project) -> QuerySet[Batch]:
    """First batches that wait for the lead, oldest first."""
    return Batch.objects.filter(project=project, awaits_review=True).order_by("done_at", "id")


def queue_behind(project: Project, batch: Batch) -> QuerySet[Batch]:
    """What waits behind this batch."""
    later = Q(done_at__gt=batch.done_at) | Q(done_at=batch.done_at, pk__gt=batch.pk)
    return review_queue(project).filter(later)


def outlooks(batches: Sequence[Batch], *, from_mean: float) -> dict[int, Outlook]:
    """By batch, in three statements however many there are."""
    relevance: dict[int, list[int | None]] = {batch.pk: [] for batch in batches}
    rows = Pair.objects.filter(batch__in=relevance).order_by("batch", "candidate__rank")
    for batch_id, value in rows.values_list("batch", "relevance"):
        relevance[batch_id].append(value)
    beyond = second_batch_sizes(relevance)
    return {
        batch_id: Outlook(suggest(values, from_mean=from_mean, further=bool(beyond[batch_id])), beyond[batch_id])
        for batch_id, values in relevance.items()
    }


def second_batch_sizes(batch_ids: Iterable[int]) -> dict[int, int]:
    """How many pairs the query's second batch would hold, by first batch."""
    sizes = dict.fromkeys(batch_ids, 0)
    beyond = Candidate.objects.filter(
        query__batches__in=sizes,
        source=Candidate.Source.SIMILARITY,
        rank__range=(BATCH_SIZE + 1, 2 * BATCH_SIZE),
        moment__preview_state=Moment.Preview.READY,
    )
    counted = beyond.order_by().values_list("query__batches").annotate(n=Count("pk"))
    return {**sizes, **{batch_id: n for batch_id, n in counted if batch_id in sizes}}


@dataclass(frozen=True)
class Preview:
    """What accepting suggestions together would do: cases as (batch, outlook), and what the extended would add."""

    cases: list[tuple[Batch, Outlook]]
    waiting: int
    pairs: int  # that second batches would hold
    left_out: int  # they fit, and are too many for one go
    added: Part  # judgments and hours

    @property
    def extended(self) -> int:
        return sum(outlook.suggestion.extend for _, outlook in self.cases)

    @property
    def closed(self) -> int:
        return len(self.cases) - self.extended

    @property
    def rest(self) -> int:
        return self.waiting - len(self.cases)

    @property
    def hours_per_pair(self) -> float:
        return self.added.judgments * self.added.seconds / 3600 / self.pairs if self.pairs else 0.0


def accept_preview(project: Project, policy: Policy, *, which: str, distance: float, most: int) -> Preview:
    """The oldest waiting cases whose suggestion is ``which`` (extend, close, all), and no nearer to the threshold than
    ``distance``; at most ``most``."""
    queue = review_queue(project)
    batches = list(queue.select_related("query")[:LOOKED_AT])
    found = outlooks(batches, from_mean=policy.extend_from_mean)
    fitting = [
        (batch, found[batch.pk])
        for batch in batches
        if _fits(found[batch.pk].suggestion, which=which, distance=distance, from_mean=policy.extend_from_mean)
    ]
    chosen = fitting[:most]
    pairs = sum(outlook.beyond for _, outlook in chosen if outlook.suggestion.extend)
    return Preview(chosen, queue.count(), pairs, len(fitting) - len(chosen), work_of(project, pairs))


def _fits(suggestion: Suggestion, *, which: str, distance: float, from_mean: float) -> bool:
    if which in ("extend", "close") and suggestion.extend != (which == "extend"):
        return False
    return distance <= 0 or (suggestion.mean is not None and abs(suggestion.mean - from_mean) >= distance)


def work_of(project: Project, pairs: int) -> Part:
    """The judgments that so many more pairs take, by what this project's took lately."""
    with connection.cursor() as cursor:
        cursor.execute(LATELY, {"project": project.pk, "latest": LATEST})
        seconds, escalated = cursor.fetchone()
    given = replace(
        TVR_RANKING,
        queries=1,
        second=0,
        pairs=pairs,
        seconds=TVR_RANKING.seconds if seconds is None else seconds,
        escalated=TVR_RANKING.escalated if escalated is None else escalated,
    )
    return Forecast(given).judging


def review_in_words(review: BatchReview) -> str:
    """Who decided what, and when; for leads and admins."""
    project = review.batch.project
    who = "The automatic rule"
    if review.decided_by_id:
        who = actor_names(project).get(review.decided_by_id, "Somebody who has left")
    return f"{who} {WAY[BatchReview.Decision(review.decision)]} this query {ago(review.decided_at)}."


def ago(time: datetime) -> str:
    """How long since, in words."""
    return "a moment ago" if timezone.now() - time < timedelta(minutes=1) else f"{timesince(time, depth=1)} ago"


def deciders_of(project: Project, reviews: QuerySet[BatchReview]) -> list[str]:
    """Who gave these decisions and how many each, in words."""
    names = actor_names(project)
    counted = reviews.order_by("decided_by").values_list("decided_by").annotate(n=Count("pk"))
    return [
        f"{n} by {'the automatic rule' if who is None else names.get(who, 'somebody who has left')}"
        for who, n in counted
    ]


def last_reviews(project: Project, lead: User, count: int) -> list[BatchReview]:
    """What this lead decided last and may still take back, the newest first."""
    begun = Batch.objects.filter(query=OuterRef("batch__query"), number=2).exclude(
        begun=False, round=1, state=Batch.State.OPEN
    )
    left_out = _pooled_in_spite().filter(batch__query=OuterRef("batch__query"))
    mine = BatchReview.objects.filter(~Exists(begun), ~Exists(left_out), batch__project=project, decided_by=lead)
    return list(mine.order_by("-id").select_related("batch__query", "batch__project")[:count])


def review_may_be_undone(review: BatchReview) -> bool:
    """Until somebody has sat at the second batch, or a lead has touched its pairs; or, of a closed query, until a pool
    has taken what the second batch would hold."""
    if review.decision == BatchReview.Decision.CLOSE:
        return not _pooled_in_spite().filter(batch__query=review.batch.query_id).exists()
    second = Batch.objects.filter(query=review.batch.query_id, number=2).first()
    return second is None or is_untouched(second)


def _pooled_in_spite() -> QuerySet[Pair]:
    """Candidates by similarity that closing their query left out, and that a run returned to a pool."""
    return Pair.objects.filter(batch__pooling__isnull=False, candidate__source=Candidate.Source.SIMILARITY)


def is_untouched(batch: Batch) -> bool:
    """Nobody sat at it, and all of its pairs are as it was opened with."""
    return (
        not batch.begun and not batch.assignments.exists() and not batch.pairs.exclude(state=Pair.State.OPEN).exists()
    )
