"""Which seat next, in what order its pairs are shown, and for how long. Pure."""

import random
from collections.abc import Collection, Hashable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")
SEATS = (1, 2)  # a round asks two annotators
LEAVING = timedelta(seconds=90)  # how long an assignment waits for somebody who closed the page


class AskedPair(NamedTuple):
    """A pair that the present round of its batch asks for, and who has dealt with it."""

    pair_id: int
    graded_seats: Collection[int]  # seats that have given their grade
    known: bool  # to the person at hand: graded or flagged by them
    final_flags: int = 0  # of assignments that have ended


def free_seats(pairs: Sequence[AskedPair], *, held: Collection[int]) -> dict[int, list[int]]:
    """Seats that nobody holds and that lack a grade, each with the pairs it lacks, in the order given."""
    left = {seat: [pair.pair_id for pair in pairs if seat not in pair.graded_seats] for seat in SEATS}
    return {seat: lacking for seat, lacking in left.items() if lacking and seat not in held}


def seat_for(pairs: Sequence[AskedPair], *, held: Collection[int]) -> tuple[int, list[int]] | None:
    """The free seat that offers the person most, with what it lacks and they do not know; None when that is nothing.

    A pair they know stays with the seat, for whoever takes it next. The fullest seat first: one that is given back
    again and again would otherwise keep the other from being taken.
    """
    known = {pair.pair_id for pair in pairs if pair.known}
    offers = [
        (seat, [pair_id for pair_id in left if pair_id not in known])
        for seat, left in free_seats(pairs, held=held).items()
    ]
    best = max(offers, key=lambda offer: len(offer[1]), default=(0, []))
    return best if best[1] else None


def to_be_decided(pairs: Sequence[AskedPair], *, held: Collection[int]) -> bool:
    """Whether a round that nobody sits at has a pair with both its grades, or asks for nothing any more."""
    return not held and (not pairs or any(set(SEATS) <= set(pair.graded_seats) for pair in pairs))


def shuffled(pairs: Iterable[Item], *, seed: int) -> list[Item]:
    """``pairs`` in the order of this seed; the order of rank would tell what to expect."""
    order = list(pairs)
    random.Random(seed).shuffle(order)
    return order


def lease_until(now: datetime, *, minutes: int) -> datetime:
    return now + timedelta(minutes=minutes)


def shuffled_within(pairs: Iterable[tuple[Item, Hashable]], *, seed: int) -> list[Item]:
    """``shuffled``, but what shares a second value (a query) stays together."""
    groups: dict[Hashable, list[Item]] = {}
    for pair, group in pairs:
        groups.setdefault(group, []).append(pair)
    chance = random.Random(seed)
    order = list(groups.values())
    chance.shuffle(order)
    for together in order:
        chance.shuffle(together)
    return [pair for together in order for pair in together]
