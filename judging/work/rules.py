"""Rules of judging: consensus, order, leases, active time, keys of forms. Pure."""

import math
import random
from collections.abc import Collection, Hashable, Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeVar
from uuid import UUID, uuid5

SHADES = range(10)


class Rules(NamedTuple):
    """How a project settles its pairs; fixed by its first judgment.

    Every judge gives a grade from 0 to ``top_grade``. A round asks ``judges`` people; where their grades lie further
    apart than ``max_spread`` and ``max_rounds`` is 2, it asks as many others.
    """

    top_grade: int  # 1 to 9
    judges: int  # 2 or 3
    max_spread: int  # 0 to top_grade - 1
    max_rounds: int  # 1 or 2

    @property
    def grades(self) -> range:
        return range(self.top_grade + 1)

    @property
    def slots(self) -> range:
        """The slots of a round, from 1."""
        return range(1, self.judges + 1)

    @property
    def most_grades(self) -> int:
        """How many grades a pair can have."""
        return self.judges * self.max_rounds

    def describe(self) -> str:
        """Describe the rules in a phrase, such as a page shows."""
        judges = {2: "two", 3: "three"}[self.judges]
        rounds = {1: "one round", 2: "two rounds"}[self.max_rounds]
        near = near_words(self.max_spread)
        return f"grades 0 to {self.top_grade}, {judges} judges a round, {rounds}, grades agree when {near}"

    def shade(self, grade: int) -> int:
        """Return which of the ten colours, worst to best, shows the grade; no two grades of a scale share one."""
        return round(grade * SHADES[-1] / self.top_grade)


TVR_RANKING = Rules(top_grade=4, judges=2, max_spread=1, max_rounds=2)


RULE_FIELDS = (*Rules._fields, "batch_size", "has_second_batch", "strata")  # of a project, fixed by its first judgment
TWENTY_AND_TWENTY: dict[str, Any] = {"batch_size": 20, "has_second_batch": True, "strata": []}
PRESETS: dict[str, tuple[str, dict[str, Any]]] = {  # what a new project can begin with: words, values of RULE_FIELDS
    "tvr-ranking": ("TVR-Ranking: grades 0 to 4, two judges a round", TVR_RANKING._asdict() | TWENTY_AND_TWENTY),
    "three-grades": ("Grades 0 to 2, two judges a round", Rules(2, 2, 0, 2)._asdict() | TWENTY_AND_TWENTY),
    "yes-or-no": ("Yes or no, three judges a round", Rules(1, 3, 0, 2)._asdict() | TWENTY_AND_TWENTY),
}


def preset_rules(preset: str, **changes: int | None) -> Rules:
    """Return the rules of a preset with ``changes`` by their names; None changes nothing.

    On a shorter scale a spread that is not among them is the largest there is. Raises ValueError: no two grades would
    be too far apart.
    """
    values = {name: value for name, value in changes.items() if value is not None}
    rules = Rules(*(PRESETS[preset][1][name] for name in Rules._fields))._replace(**values)
    if "max_spread" not in values:
        rules = rules._replace(max_spread=min(rules.max_spread, rules.top_grade - 1))
    if rules.max_spread >= rules.top_grade:
        raise ValueError(f"On grades from 0 to {rules.top_grade} no two would be more than {rules.max_spread} apart.")
    return rules


class HasRules(Protocol):
    """A project, or a batch with the rules of its project."""

    top_grade: int
    judges: int
    max_spread: int
    max_rounds: int


def rules_of(row: HasRules) -> Rules:
    return Rules(row.top_grade, row.judges, row.max_spread, row.max_rounds)


def near_words(max_spread: int) -> str:
    """Describe grades that agree."""
    return f"at most {'one' if max_spread == 1 else max_spread} apart" if max_spread else "equal"


class State(StrEnum):
    WAITING = "waiting"
    SETTLED = "settled"
    ESCALATED = "escalated"
    DROPPED = "dropped"


class Outcome(NamedTuple):
    state: State
    relevance: int | None = None


def settle(grades: Sequence[int], rules: Rules) -> Outcome:
    """Say what becomes of a pair that holds ``grades``, in any order.

    All grades of the first round decide when they lie within ``max_spread`` of each other. Otherwise a second round is
    asked for; of the grades of both, one highest and one lowest are set aside and the others decide, if they lie so
    near. Without agreement after the last round the pair is dropped.

    Returns:
        ``Outcome(state, relevance)``; relevance is the mean of the deciding grades rounded up, and None unless the
        state is SETTLED.

    Raises:
        ValueError: a grade is not of the scale, or there are more than the rounds ask for.

    Source: TVR-Ranking, section 3.2 (arXiv:2407.06597), for its rules; the others follow the same thought.
    """
    if len(grades) > rules.most_grades or any(grade not in rules.grades for grade in grades):
        raise ValueError(f"expected at most {rules.most_grades} grades from 0 to {rules.top_grade}, got {list(grades)}")
    round_number, n_missing = divmod(len(grades), rules.judges)
    if n_missing or not grades:
        return Outcome(State.WAITING)
    deciding = sorted(grades)[1:-1] if round_number == 2 else grades
    if max(deciding) - min(deciding) <= rules.max_spread:
        return Outcome(State.SETTLED, relevance=math.ceil(sum(deciding) / len(deciding)))
    return Outcome(State.ESCALATED if round_number < rules.max_rounds else State.DROPPED)


Item = TypeVar("Item")
LEAVING = timedelta(seconds=90)  # how long an assignment waits for somebody who closed the page


class RequestedPair(NamedTuple):
    """A pair that the present round of its batch asks for, and who has dealt with it."""

    pair_id: int
    graded_slots: Collection[int]  # slots that have given their grade
    known: bool  # to the person at hand: graded or flagged by them
    final_flags: int = 0  # of assignments that have ended


def free_slots(
    pairs: Sequence[RequestedPair], *, taken_slots: Collection[int], slots: Iterable[int]
) -> dict[int, list[int]]:
    """Those of a round's slots that nobody holds and that lack a grade, each with the pairs it lacks, in the order
    given."""
    pairs_by_slot = {slot: [pair.pair_id for pair in pairs if slot not in pair.graded_slots] for slot in slots}
    return {slot: lacking for slot, lacking in pairs_by_slot.items() if lacking and slot not in taken_slots}


def slot_for(
    pairs: Sequence[RequestedPair], *, taken_slots: Collection[int], slots: Iterable[int]
) -> tuple[int, list[int]] | None:
    """The free slot that offers the person most, with what it lacks and they do not know; None when that is nothing. A
    pair they know stays with the slot, for whoever takes it next. The fullest slot first: one that is given back again
    and again would otherwise keep the other from being taken."""
    known_ids = {pair.pair_id for pair in pairs if pair.known}
    offers = [
        (slot, [pair_id for pair_id in missing_ids if pair_id not in known_ids])
        for slot, missing_ids in free_slots(pairs, taken_slots=taken_slots, slots=slots).items()
    ]
    best = max(offers, key=lambda offer: len(offer[1]), default=(0, []))
    return best if best[1] else None


def to_be_decided(pairs: Sequence[RequestedPair], *, taken_slots: Collection[int], slots: Iterable[int]) -> bool:
    """Whether a round that nobody sits at has a pair with all its grades, or asks for nothing any more."""
    return not taken_slots and (not pairs or any(set(slots) <= set(pair.graded_slots) for pair in pairs))


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
