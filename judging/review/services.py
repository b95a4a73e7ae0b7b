"""Decisions about many first batches at once, by a lead or by the rule, and taking one back."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.models import Project, User
from annotation.models import Query
from core.audit import audit_record
from core.jobs import durable
from core.messages import send_on_commit
from judging.exceptions import NotPossibleNow, ReviewStands
from judging.guidelines.selectors import policy_in_force
from judging.models import Batch, BatchReview, ReviewUndone
from judging.review import selectors
from judging.review.selectors import deciders_of, is_untouched, review_may_be_undone, review_queue
from judging.work.rules import Suggestion
from judging.work.services.batches import EXTEND_ALL_TASK, reviews_write

logger = logging.getLogger(__name__)
AT_ONCE = 500  # decisions in one transaction


@dataclass
class Accepted:
    """Outcomes of suggestions that a lead accepted together."""

    extended: int = 0
    closed: int = 0
    decided_before: list[str] = field(default_factory=list)  # who did, in words
    otherwise: int = 0  # the rule says something else by now


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
    reviews = reviews_write(project, decisions, lead=lead)
    if any(review.decision == BatchReview.Decision.EXTEND for review in reviews):
        send_on_commit(EXTEND_ALL_TASK, project.pk)
    logger.info("project %s: %s first batches decided as suggested", project.pk, len(reviews))
    return reviews
