"""What a batch says of itself, put right from the rows: free seats, pairs that flags have withdrawn.

Every function here wants the batch's row locked by the caller's transaction.
"""

import logging

from judging import selectors
from judging.models import Batch, Pair
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


def flagged_withdraw(batch: Batch) -> list[AskedPair]:
    """Withdraw what the batch asks for though two annotators have flagged it for good; returns what it still asks."""
    asked = selectors.pairs_asked_now(batch_id=batch.pk)
    flagged = [pair.pair_id for pair in asked if pair.final_flags >= FLAGS_TO_WITHDRAW]
    if flagged:
        Pair.objects.filter(pk__in=flagged).update(state=Pair.State.WITHDRAWN, reason=Pair.Reason.FLAGGED_TWICE)
        logger.info("batch %s: flagged twice and withdrawn: pairs %s", batch.pk, flagged)
    return [pair for pair in asked if pair.pair_id not in flagged]
