"""When a project will be judged to its end at the present pace. Pure."""

import math
from dataclasses import dataclass
from datetime import date, timedelta

PACE_DAYS = 7  # the pace is the mean of so many days
LONGEST = 3650  # days ahead; beyond that a date says nothing


@dataclass(frozen=True)
class Left:
    """Work that is not judged yet, and what to expect of it. Shares are of 1."""

    open_pairs: int
    escalated_pairs: int
    given: int  # grades that the rounds under way have got
    queries: int  # whose first batch is not open yet
    undecided: int  # first batches that are open or wait for a lead
    pairs: float  # of a batch
    escalated: float  # share of the pairs that go to a second round
    second: float  # share of the queries with a second batch
    judges: int  # of a round

    @property
    def judgments(self) -> float:
        """Grades that are still to be given, those of rounds and batches to be expected included."""
        now = self.judges * (self.open_pairs + self.escalated_pairs) - self.given
        to_come = self.judges * self.escalated * self.open_pairs
        batches = self.queries + self.second * (self.queries + self.undecided)
        a_pair = self.judges * (1 + self.escalated)
        return max(0.0, now) + to_come + batches * self.pairs * a_pair


@dataclass(frozen=True)
class Finish:
    """So many judgments are left, and so many are given a day; ``day`` is None where nobody can tell."""

    judgments: int
    per_day: float
    day: date | None

    @property
    def is_done(self) -> bool:
        return self.judgments == 0


def pace(per_day: dict[date, int], *, today: date) -> float:
    """Judgments a day over the last week, or since the first one where that is less long ago."""
    if not per_day:
        return 0.0
    first = max(today - timedelta(days=PACE_DAYS - 1), min(*per_day, today))
    n_judgments = sum(n for day, n in per_day.items() if first <= day <= today)
    return n_judgments / ((today - first).days + 1)


def finish(work_left: Left, *, per_day: float, today: date) -> Finish:
    judgments = math.ceil(work_left.judgments - 1e-9)
    days = math.ceil(judgments / per_day) if per_day > 0 else None
    far = days is None or days > LONGEST
    return Finish(judgments, per_day, None if far or days is None else today + timedelta(days=days))
