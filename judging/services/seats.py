"""What a batch says of itself, put right from the rows: free seats, pairs that flags have withdrawn.

Every function here wants the batch's row locked by the caller's transaction.
"""

import logging

from django.db.models import Count, Q

from judging import selectors
from judging.models import Assignment, Batch, Pair
from judging.rules.leasing import AskedPair, free_seats

logger = logging.getLogger(__name__)
FLAGS_TO_WITHDRAW = 2


def seats_count(batch: Batch, asked: list[AskedPair] | None = None) -> None:
    """Write how many seats of the batch are free; ``asked`` spares reading the pairs."""
    if batch.state == Batch.State.DONE:
        free = 0
    else:
        pairs = asked if asked is not None else selectors.pairs_asked_now(batch_id=batch.pk)
        free = len(free_seats(pairs, held=selectors.seats_held(batch.pk)))
    if free != batch.free_seats:
        batch.free_seats = free
        batch.save(update_fields=["free_seats"])


def flagged_withdraw(batch: Batch) -> None:
    """Withdraw the undecided pairs that two annotators have flagged for good."""
    final = Q(flags__withdrawn_at__isnull=True) & ~Q(flags__assignment__state=Assignment.State.OPEN)
    undecided = batch.pairs.filter(state__in=[Pair.State.OPEN, Pair.State.ESCALATED], flags__isnull=False)
    flagged = undecided.annotate(final=Count("flags", filter=final)).filter(final__gte=FLAGS_TO_WITHDRAW)
    for pair_id in list(flagged.values_list("pk", flat=True)):
        Pair.objects.filter(pk=pair_id).update(state=Pair.State.WITHDRAWN, reason=Pair.Reason.FLAGGED_TWICE)
        logger.info("pair %s: withdrawn, flagged twice", pair_id)
