"""Batches: opening them, deciding their pairs, and the lead's word on a second one."""

import logging
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.messages import send_on_commit
from annotation.models import Candidate, Moment, NamedQuerySet, Pooling, Query, User
from annotation.rules.pooling import BATCH_SIZE, BATCHES
from annotation.rules.run_pools import in_batches
from annotation.services.audit import audit_record
from judging import selectors
from judging.exceptions import NotReviewable
from judging.models import SEATS, Assignment, Batch, BatchReview, Judgment, Pair
from judging.rules import consensus
from judging.rules.extension import suggest
from judging.services.policies import policy_in_force
from judging.services.seats import flagged_withdraw, seats_count

logger = logging.getLogger(__name__)
ADVANCE_TASK = "judging.tasks.batch_advance"
EXTEND_TASK = "judging.tasks.batch_extend"


@transaction.atomic
def batch_create(*, query: Query, number: int) -> Batch | None:
    """Open ranks 1 to 20 (number 1) or 21 to 40 (number 2) by similarity for judging.

    Repeating it returns the batch that is there; None when no candidate has such a rank.
    """
    query = Query.objects.select_for_update().get(pk=query.pk)
    held = Batch.objects.filter(query=query, number=number).first()
    if held:
        return held
    ranks = ((number - 1) * BATCH_SIZE + 1, number * BATCH_SIZE)
    ranked = query.candidates.filter(source=Candidate.Source.SIMILARITY, rank__range=ranks)
    candidates = list(ranked.filter(moment__preview_state=Moment.Preview.READY).order_by("rank"))
    return _batch_open(query, number, candidates) if candidates else None


def batches_pool(*, query: Query, pooling: Pooling, candidates: Sequence[Candidate]) -> list[Batch]:
    """Open batches of twenty of these, numbered behind the last; the caller holds the query's row."""
    last = Batch.objects.filter(query=query).aggregate(last=Max("number"))["last"] or 0
    first = max(last, BATCHES) + 1
    return [
        _batch_open(query, number, twenty, pooling)
        for number, twenty in enumerate(in_batches(candidates, BATCH_SIZE), start=first)
    ]


def _batch_open(query: Query, number: int, candidates: Sequence[Candidate], pooling: Pooling | None = None) -> Batch:
    query_set = NamedQuerySet.objects.select_for_update().filter(queries=query).first()
    batch = Batch.objects.create(
        project_id=query.project_id,
        query=query,
        number=number,
        pooling=pooling,
        priority=query_set.priority if query_set else 0,
        is_paused=query_set.is_paused if query_set else False,
        is_pilot=_is_pilot(query, query_set),
    )
    Pair.objects.bulk_create(Pair(batch=batch, candidate=candidate) for candidate in candidates)
    logger.info("batch %s opened: number %s, %s pairs", batch.pk, number, len(candidates))
    return batch


def _is_pilot(query: Query, query_set: NamedQuerySet | None) -> bool:
    """As the query's first batch; of a first one, as its set says now."""
    first = Batch.objects.filter(query=query, number=1).first()
    return first.is_pilot if first else bool(query_set and query_set.is_pilot)


def batches_open(*, project_id: int) -> int:
    """Open the first batch of every query that has candidates and none yet; say how many were opened."""
    queries = Query.objects.filter(project=project_id, batches__isnull=True, is_placeholder=False, candidates__rank=1)
    return sum(batch_create(query=query, number=1) is not None for query in queries.order_by("number"))


@transaction.atomic
def batch_advance(*, batch_id: int) -> None:
    """Decide every pair whose round is complete, open the second round, or close the batch.

    It recomputes from the rows under the batch's lock, so it may run twice, late or out of order.
    """
    batch = Batch.objects.select_for_update().get(pk=batch_id)
    if batch.state == Batch.State.DONE:
        return
    flagged_withdraw(batch)
    _pairs_decide(batch)
    states = set(batch.pairs.values_list("state", flat=True))
    if Pair.State.OPEN in states:
        seats_count(batch)
    elif Pair.State.ESCALATED not in states:
        _batch_close(batch, now=timezone.now())
    elif batch.round == 1:
        batch.round, batch.free_seats, batch.begun = 2, len(SEATS), False
        batch.save(update_fields=["round", "free_seats", "begun"])
        logger.info("batch %s: second round", batch.pk)
    else:
        seats_count(batch)


def _pairs_decide(batch: Batch) -> None:
    """Write what the rule says of every pair that is open or escalated; one statement per outcome."""
    final = Judgment.objects.filter(pair__batch=batch, pair__state__in=[Pair.State.OPEN, Pair.State.ESCALATED]).exclude(
        assignment__state=Assignment.State.OPEN
    )
    grades: dict[tuple[int, str], list[int]] = {}
    for pair_id, state, grade in final.values_list("pair", "pair__state", "grade"):
        grades.setdefault((pair_id, state), []).append(grade)
    decided: dict[consensus.Outcome, list[int]] = {}
    for (pair_id, state), given in grades.items():
        outcome = consensus.settle(given)
        if outcome.state not in (consensus.State.WAITING, state):
            decided.setdefault(outcome, []).append(pair_id)
    for outcome, pair_ids in decided.items():
        reason = Pair.Reason.NO_CONSENSUS if outcome.state == consensus.State.DROPPED else ""
        Pair.objects.filter(pk__in=pair_ids).update(state=outcome.state, relevance=outcome.relevance, reason=reason)
        logger.info("batch %s: %s %s: pairs %s", batch.pk, outcome.state, outcome.relevance, pair_ids)


def _batch_close(batch: Batch, *, now: datetime) -> None:
    batch.state, batch.done_at, batch.free_seats = Batch.State.DONE, now, 0
    batch.save(update_fields=["state", "done_at", "free_seats"])
    logger.info("batch %s: done", batch.pk)
    policy = policy_in_force(batch.project_id)
    if batch.number == 1 and policy.extend_automatically:
        extend, reason = suggest(selectors.relevance_by_rank(batch), from_mean=policy.extend_from_mean)
        _review_write(batch, extend=extend, suggested=extend, reason=f"Automatic. {reason}", lead=None)


@transaction.atomic
def batch_review(*, batch: Batch, extend: bool, lead: User, reason: str = "") -> BatchReview:
    """Record the lead's word on a finished first batch; extending wakes the task that opens the second.

    Raises:
        NotReviewable: the batch is not finished, not a first one, or was decided otherwise before.
    """
    held = Batch.objects.select_for_update(of=("self",)).select_related("query").get(pk=batch.pk)
    if held.state != Batch.State.DONE or held.number != 1 or held.query.is_placeholder:
        raise NotReviewable("This batch is not waiting for a decision.")
    decided = BatchReview.objects.filter(batch=held).first()
    if decided:
        if (decided.decision == BatchReview.Decision.EXTEND) == extend:
            return decided
        raise NotReviewable("This query was decided otherwise in the meantime.")
    policy = policy_in_force(held.project_id)
    suggested, _ = suggest(selectors.relevance_by_rank(held), from_mean=policy.extend_from_mean)
    return _review_write(held, extend=extend, suggested=suggested, reason=reason, lead=lead)


def _review_write(batch: Batch, *, extend: bool, suggested: bool, reason: str, lead: User | None) -> BatchReview:
    word = {True: BatchReview.Decision.EXTEND, False: BatchReview.Decision.CLOSE}
    review = BatchReview.objects.create(
        batch=batch, decision=word[extend], suggestion=word[suggested], reason=reason, decided_by=lead
    )
    audit_record(
        project=batch.project,
        actor=lead,
        action=f"batch.{review.decision}",
        subject=batch.uuid,
        query=batch.query.text,
        suggestion=review.suggestion,
        reason=reason,
    )
    if extend:
        send_on_commit(EXTEND_TASK, batch.pk)
    return review


def batch_extend(*, batch_id: int) -> Batch | None:
    """Open the second batch that the lead asked for; None when no candidate lies beyond the first."""
    review = BatchReview.objects.select_related("batch__query").get(batch=batch_id)
    if review.decision != BatchReview.Decision.EXTEND:
        return None
    return batch_create(query=review.batch.query, number=2)


def batches_sweep() -> None:
    """Redo what a lost message left: rounds that can be decided, second batches that were not opened."""
    held = Assignment.objects.filter(batch=OuterRef("pk"), round=OuterRef("round"), state=Assignment.State.OPEN)
    unheld = Batch.objects.filter(~Exists(held), state=Batch.State.OPEN)
    complete = unheld.filter(free_seats=0)
    in_part = unheld.filter(Exists(_pairs_with_both_grades()), free_seats__gt=0, begun=True)
    for batch_id in [*complete.values_list("pk", flat=True), *in_part.values_list("pk", flat=True)]:
        batch_advance(batch_id=batch_id)
    second = Batch.objects.filter(query=OuterRef("batch__query"), number=2)
    beyond = Candidate.objects.filter(
        query=OuterRef("batch__query"), source=Candidate.Source.SIMILARITY, rank__gt=BATCH_SIZE
    )
    asked = BatchReview.objects.filter(~Exists(second), Exists(beyond), decision=BatchReview.Decision.EXTEND)
    for batch_id in asked.values_list("batch", flat=True):
        batch_extend(batch_id=batch_id)


def _pairs_with_both_grades() -> QuerySet[Pair]:
    """Pairs of the batch around this that its round asks for, though both seats have graded them."""
    asked = Q(batch__round=1, state=Pair.State.OPEN) | Q(batch__round=2, state=Pair.State.ESCALATED)
    by_seat = [
        Judgment.objects.filter(pair=OuterRef("pk"), round=OuterRef("batch__round"), seat=seat) for seat in SEATS
    ]
    return Pair.objects.filter(asked, *map(Exists, by_seat), batch=OuterRef("pk"))
