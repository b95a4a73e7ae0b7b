"""Waiting, settled, escalated or dropped. Pure."""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

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
