"""Rules of judging: consensus, order, leases, active time, keys of forms. Pure."""

import math
import random
from collections.abc import Collection, Hashable, Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, TypeVar
from uuid import UUID, uuid5

MAX_SPREAD = 1  # largest gap between two grades that still counts as consensus
GRADES = range(5)


class State(StrEnum):
    WAITING = "waiting"
    SETTLED = "settled"
    ESCALATED = "escalated"
    DROPPED = "dropped"


class Outcome(NamedTuple):
    state: State
    relevance: int | None = None


def settle(grades: Sequence[int]) -> Outcome:
    """Say what becomes of a pair that holds ``grades``, in any order.

    Two grades settle a pair when they differ by at most one. Otherwise two more are asked for;
    of the four, one highest and one lowest are set aside and the remaining two decide.

    Returns:
        ``Outcome(state, relevance)``; relevance is the mean of the deciding grades rounded up, 0 to 4,
        and None unless the state is SETTLED.

    Raises:
        ValueError: a grade is outside 0..4, or there are more than four.

    Source: TVR-Ranking, section 3.2 (arXiv:2407.06597).
    """
    if len(grades) > 4 or any(grade not in GRADES for grade in grades):
        raise ValueError(f"expected at most four grades from 0 to 4, got {list(grades)}")
    if len(grades) not in (2, 4):
        return Outcome(State.WAITING)
    low, high = sorted(grades)[len(grades) // 2 - 1 : len(grades) // 2 + 1]  # the middle two
    if high - low <= MAX_SPREAD:
        return Outcome(State.SETTLED, relevance=math.ceil((low + high) / 2))
    return Outcome(State.ESCALATED if len(grades) == 2 else State.DROPPED)


Item = TypeVar("Item")
SLOTS = (1, 2)  # a round asks two annotators
LEAVING = timedelta(seconds=90)  # how long an assignment waits for somebody who closed the page


class RequestedPair(NamedTuple):
    """A pair that the present round of its batch asks for, and who has dealt with it."""

    pair_id: int
    graded_slots: Collection[int]  # slots that have given their grade
    known: bool  # to the person at hand: graded or flagged by them
    final_flags: int = 0  # of assignments that have ended


def free_slots(pairs: Sequence[RequestedPair], *, taken_slots: Collection[int]) -> dict[int, list[int]]:
    """Slots that nobody holds and that lack a grade, each with the pairs it lacks, in the order given."""
    pairs_by_slot = {slot: [pair.pair_id for pair in pairs if slot not in pair.graded_slots] for slot in SLOTS}
    return {slot: lacking for slot, lacking in pairs_by_slot.items() if lacking and slot not in taken_slots}


def slot_for(pairs: Sequence[RequestedPair], *, taken_slots: Collection[int]) -> tuple[int, list[int]] | None:
    """The free slot that offers the person most, with what it lacks and they do not know; None when that is nothing. A
    pair they know stays with the slot, for whoever takes it next. The fullest slot first: one that is given back again
    and again would otherwise keep the other from being taken."""
    known_ids = {pair.pair_id for pair in pairs if pair.known}
    offers = [
        (slot, [pair_id for pair_id in missing_ids if pair_id not in known_ids])
        for slot, missing_ids in free_slots(pairs, taken_slots=taken_slots).items()
    ]
    best = max(offers, key=lambda offer: len(offer[1]), default=(0, []))
    return best if best[1] else None


def to_be_decided(pairs: Sequence[RequestedPair], *, taken_slots: Collection[int]) -> bool:
    """Whether a round that nobody sits at has a pair with both its grades, or asks for nothing any more."""
    return not taken_slots and (not pairs or any(set(SLOTS) <= set(pair.graded_slots) for pair in pairs))


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


LONGEST_MS = 60 * 60 * 1000  # stored of one judgment; what is paid of it is the policy's cap
MS = timedelta(milliseconds=1)


def active_ms(measured: int | None, *, since: datetime, now: datetime, is_simulated: bool = False) -> int:
    """Milliseconds from the pair shown to the grade sent.

    Args:
        measured: what the page says; None where it says nothing that can be read.
        since: when the assignment was handed out, or the last thing was said in it: no pair was waiting for this
            grade for longer. So the times of an assignment add up to no more than it was held.
        is_simulated: a program stands for a person, and says what that person would have taken.

    Returns:
        ``measured``, but never more than the time since then (of a person), nor than an hour.
    """
    if is_simulated and measured is not None:
        return min(max(0, measured), LONGEST_MS)
    possible = max(0, (now - since) // MS)
    return min(possible if measured is None else max(0, measured), possible, LONGEST_MS)


def with_change(before: int | None, added: int) -> int:
    """The time of a judgment whose grade was changed."""
    return min((before or 0) + added, LONGEST_MS)


def form_key(*, assignment: UUID, pair: UUID, n_answers: int) -> UUID:
    """Return the key of the next grade or flag of ``pair`` in ``assignment``, after ``n_answers``. Two tabs that show
    the same pair in the same state hold the same key, so that of two submits one is the first and the other is known as
    its repetition, or as stale when it says something else."""
    return uuid5(assignment, f"{pair}/{n_answers}")


def attempt_key(*, attempt: UUID, pair: UUID, last: UUID | None) -> UUID:
    """``form_key`` for a pair of known truth in an attempt, after the form named ``last``: None before the first."""
    return uuid5(attempt, f"{pair}/{last or 'first'}")
