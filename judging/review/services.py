"""Decisions about first batches, one or many at once, by a lead or by the rule, and taking one back."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.models import Project, User
from annotation.models import Query
from core.audit import audit_record, audit_record_all
from core.jobs import durable
from core.messages import send_on_commit
from judging.exceptions import AlreadyReviewed, NothingBeyond, NotPossibleNow, NotReviewable, ReviewStands
from judging.guidelines.selectors import policy_in_force
from judging.models import Batch, BatchReview, Policy, ReviewUndone
from judging.review import selectors
from judging.review.rules import Suggestion
from judging.review.selectors import (
    Outlook,
    deciders_of,
    is_untouched,
    review_in_words,
    review_may_be_undone,
    review_queue,
)

logger = logging.getLogger(__name__)
AT_ONCE = 500  # decisions in one transaction
EXTEND_TASK, EXTEND_ALL_TASK = "judging.tasks.batch_extend", "judging.tasks.batches_extend"  # open second batches
WORD = {True: BatchReview.Decision.EXTEND, False: BatchReview.Decision.CLOSE}


@dataclass
class Accepted:
    """Outcomes of suggestions that a lead accepted together."""

    extended: int = 0
    closed: int = 0
    decided_before: list[str] = field(default_factory=list)  # who did, in words
    otherwise: int = 0  # the rule says something else by now


@transaction.atomic
def batch_review(*, batch: Batch, extend: bool, lead: User, reason: str = "") -> BatchReview:
    """Record the lead's decision on a finished first batch; extending wakes the task that opens the second.

    The same lead saying the same again is answered as the first time.

    Raises:
        NotReviewable: the batch is not finished, or not a first one.
        AlreadyReviewed: it was decided before; the message says by whom.
        NothingBeyond: it shall be extended, and no candidate is left for a second batch.
    """
    row = Batch.objects.select_for_update(of=("self",)).select_related("query", "project").get(pk=batch.pk)
    if row.state != Batch.State.DONE or row.number != 1 or row.query.is_placeholder:
        raise NotReviewable("This batch is not waiting for a decision.")
    decided = BatchReview.objects.filter(batch=row).first()
    if decided:
        if decided.decision == WORD[extend] and decided.decided_by_id == lead.pk:
            return decided
        raise AlreadyReviewed(review_in_words(decided))
    outlook = outlook_of(row, policy_in_force(row.project_id))
    if extend and not outlook.beyond:
        raise NothingBeyond("No candidate is left for a second batch, so this query can only be closed.")
    return _review_write(row, extend, outlook.suggestion, reason, lead=lead)


def batch_review_by_rule(*, batch: Batch, policy: Policy) -> BatchReview:
    """Decide as suggested about a first batch that was just closed, under the lock of the caller."""
    suggestion = outlook_of(batch, policy).suggestion
    return _review_write(batch, suggestion.extend, suggestion, f"Automatic. {suggestion.reason}", lead=None)


@transaction.atomic
def review_undo(*, batch: Batch, lead: User) -> ReviewUndone:
    """Take a decision back: the query waits for a lead again, and the automatic rule leaves it alone. A second batch
    that nobody has begun goes with it. Raises NotPossibleNow: there is no decision; ReviewStands: somebody has begun
    the second batch, or a lead has touched its pairs; or a pool has taken what closing the query left out."""
    Query.objects.select_for_update().get(pk=batch.query_id)  # as every opening of its batches
    row = Batch.objects.select_for_update(of=("self",)).select_related("project", "query").get(pk=batch.pk)
    review = BatchReview.objects.select_for_update().filter(batch=row).first()
    if review is None:
        raise NotPossibleNow("There is no decision to take back.")
    if review.decision == BatchReview.Decision.EXTEND:
        _second_remove(row)
    elif not review_may_be_undone(review):
        raise ReviewStands("A pool has taken moments of the second batch, so this decision stands.")
    was = {name: getattr(review, name) for name in ("decision", "suggestion", "reason", "decided_by", "decided_at")}
    undone = ReviewUndone.objects.create(batch=row, undone_by=lead, **was)
    review.delete()
    data = {"query": row.query.text, "was": review.decision, "reason": review.reason}
    audit_record(project=row.project, actor=lead, action="batch.review_undo", subject=row.uuid, **data)
    logger.info("batch %s: %s taken back", row.pk, review.decision)
    return undone


def _second_remove(first: Batch) -> None:
    second = Batch.objects.select_for_update().filter(query=first.query_id, number=2).first()
    if second is None:
        return
    if not is_untouched(second):
        raise ReviewStands("The second batch has been begun, so this decision stands.")
    second.pairs.all().delete()
    second.delete()


@transaction.atomic
def reviews_accept(*, project: Project, lead: User, choices: Mapping[UUID, bool]) -> Accepted:
    """Decide these first batches as the rule suggests, where it still suggests what the lead saw (extend or not). What
    somebody has decided meanwhile stays as it is."""
    policy = policy_in_force(project.pk)
    waiting = _locked(project, list(choices))
    outlooks = selectors.outlooks(waiting, from_mean=policy.extend_from_mean)
    agreed = [
        (batch, outlooks[batch.pk].suggestion)
        for batch in waiting
        if outlooks[batch.pk].suggestion.extend == choices[batch.uuid]
    ]
    reviews = _reviews_write(project, agreed, lead=lead)
    extended = sum(review.decision == BatchReview.Decision.EXTEND for review in reviews)
    earlier_reviews = BatchReview.objects.filter(
        batch__project=project, batch__uuid__in=set(choices) - {b.uuid for b in waiting}
    )
    return Accepted(
        extended=extended,
        closed=len(reviews) - extended,
        decided_before=deciders_of(project, earlier_reviews),
        otherwise=len(waiting) - len(reviews),
    )


@durable("judging.tasks.reviews_decide")
def reviews_decide(*, project_id: int) -> int:
    """Decide by the rule what waits in a project whose policy says so; say how much that was. What a lead took back is
    left to the leads."""
    project = Project.objects.filter(pk=project_id).first()
    policy = policy_in_force(project_id) if project else None
    if project is None or policy is None or not policy.extend_automatically:
        return 0
    taken_back = ReviewUndone.objects.filter(batch=OuterRef("pk"))
    waiting = review_queue(project).filter(~Exists(taken_back))
    decided = 0
    while uuids := list(waiting.values_list("uuid", flat=True)[:AT_ONCE]):
        with transaction.atomic():
            batches = _locked(project, uuids)
            outlooks = selectors.outlooks(batches, from_mean=policy.extend_from_mean)
            suggested = [(batch, outlooks[batch.pk].suggestion) for batch in batches]
            decided += len(_reviews_write(project, suggested, lead=None))
    return decided


def reviews_sweep() -> None:
    """Decide what waits where the policy lets the rule decide, as when that has just been turned on. No ``JobKind``: a
    batch waits for a person, and who decides first has decided."""
    waiting = Batch.objects.filter(awaits_review=True).order_by().values_list("project", flat=True)
    for project_id in waiting.distinct():
        reviews_decide(project_id=project_id)


def _locked(project: Project, uuids: Sequence[UUID]) -> list[Batch]:
    """Those that still wait, locked; in one order everywhere."""
    batches = Batch.objects.select_for_update(of=("self",)).filter(project=project, uuid__in=uuids, awaits_review=True)
    return list(batches.select_related("query").order_by("pk"))


def _reviews_write(
    project: Project, suggested: Sequence[tuple[Batch, Suggestion]], *, lead: User | None
) -> list[BatchReview]:
    """A decision as suggested for each batch, each with its record; one message opens all second batches."""
    begin = f"Accepted with {len(suggested)} suggestions." if lead else "Automatic."
    decisions = [(batch, hint.extend, hint, f"{begin} {hint.reason}") for batch, hint in suggested]
    reviews = _decisions_write(project, decisions, lead=lead)
    if any(review.decision == BatchReview.Decision.EXTEND for review in reviews):
        send_on_commit(EXTEND_ALL_TASK, project.pk)
    logger.info("project %s: %s first batches decided as suggested", project.pk, len(reviews))
    return reviews


def _review_write(batch: Batch, extend: bool, suggestion: Suggestion, reason: str, *, lead: User | None) -> BatchReview:
    [review] = _decisions_write(batch.project, [(batch, extend, suggestion, reason)], lead=lead)
    if extend:
        send_on_commit(EXTEND_TASK, batch.pk)
    return review


def _decisions_write(
    project: Project, decisions: Iterable[tuple[Batch, bool, Suggestion, str]], *, lead: User | None
) -> list[BatchReview]:
    """Store decisions (batch, whether it is extended, suggestion, reason) with their records.

    Args:
        lead: who decided; None for the automatic rule.
    """
    reviews = BatchReview.objects.bulk_create(
        BatchReview(batch=batch, decision=WORD[extend], suggestion=WORD[hint.extend], reason=reason, decided_by=lead)
        for batch, extend, hint, reason in decisions
    )
    events = []
    for review in reviews:
        data = {"query": review.batch.query.text, "suggestion": review.suggestion, "reason": review.reason}
        action = f"batch.{review.decision}"
        events.append((action, review.batch.uuid, data if lead else {**data, "automatic": True}))
    audit_record_all(project=project, actor=lead, events=events)
    return reviews


def outlook_of(batch: Batch, policy: Policy) -> Outlook:
    return selectors.outlooks([batch], from_mean=policy.extend_from_mean)[batch.pk]
