"""What the lead decides after first batches: the queue, what each case shows, what is suggested and what follows."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from django.db.models import Count, Q, QuerySet
from django.utils.timesince import timesince

from annotation.models import Moment, Project, User
from annotation.rules.pooling import BATCH_SIZE
from judging.models import Batch, BatchReview, Pair
from judging.rules.extension import Suggestion, suggest
from judging.selectors.people import actor_names

WAY = {BatchReview.Decision.EXTEND: "extended", BatchReview.Decision.CLOSE: "closed"}


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
    ranks = Q(
        query__candidates__rank__range=(BATCH_SIZE + 1, 2 * BATCH_SIZE),
        query__candidates__moment__preview_state=Moment.Preview.READY,
    )
    found = Batch.objects.filter(pk__in=list(batch_ids)).annotate(beyond=Count("query__candidates", filter=ranks))
    return dict(found.values_list("pk", "beyond"))


def review_in_words(review: BatchReview) -> str:
    """Who decided what, and when; for leads and admins."""
    project = review.batch.project
    who = "The automatic rule"
    if review.decided_by_id:
        who = actor_names(project).get(review.decided_by_id, "Somebody who has left")
    return f"{who} {WAY[BatchReview.Decision(review.decision)]} this query {timesince(review.decided_at)} ago."


def deciders_of(project: Project, reviews: QuerySet[BatchReview]) -> list[str]:
    """Who gave these decisions and how many each, in words."""
    names = actor_names(project)
    counted = reviews.order_by("decided_by").values_list("decided_by").annotate(n=Count("pk"))
    return [
        f"{n} by {'the automatic rule' if who is None else names.get(who, 'somebody who has left')}"
        for who, n in counted
    ]


def last_reviews(project: Project, lead: User, count: int) -> list[BatchReview]:
    """What this lead decided last, the newest first."""
    mine = BatchReview.objects.filter(batch__project=project, decided_by=lead).order_by("-id")
    return list(mine.select_related("batch__query", "batch__project")[:count])


def review_may_be_undone(review: BatchReview) -> bool:
    """Until somebody has sat at the second batch, or a lead has touched its pairs."""
    if review.decision == BatchReview.Decision.CLOSE:
        return True
    second = Batch.objects.filter(query=review.batch.query_id, number=2).first()
    return second is None or is_untouched(second)


def is_untouched(batch: Batch) -> bool:
    """Nobody sat at it, and all of its pairs are as it was opened with."""
    return (
        not batch.begun and not batch.assignments.exists() and not batch.pairs.exclude(state=Pair.State.OPEN).exists()
    )
