"""Which seat next, in what order its pairs are shown, and for how long. Pure."""

import random
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")


class Seat(NamedTuple):
    """A free place at one round of a batch."""

    batch_id: int
    round: int
    number: int  # 1 or 2
    begun: bool  # somebody else sits or sat at this round


def next_seat(seats: Iterable[Seat]) -> Seat | None:
    """The seat to offer: escalated pairs first, then batches somebody has begun, then new ones; oldest first."""
    return min(seats, key=lambda seat: (-seat.round, not seat.begun, seat.batch_id, seat.number), default=None)


def shuffled(pairs: Sequence[Item], *, seed: int) -> list[Item]:
    """``pairs`` in the order of this seed; the order of rank would tell what to expect."""
    order = list(pairs)
    random.Random(seed).shuffle(order)
    return order


def lease_until(now: datetime, *, minutes: int) -> datetime:
    return now + timedelta(minutes=minutes)
