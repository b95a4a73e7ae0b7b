"""What the replay sends: the grades of a judgment file, laid out in rounds. Pure.

The file holds no order in time. Round 1 of a pair with four grades is its lowest and highest; where all four lie
within 1, those two would have settled it, so only the middle two are sent.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from judging.work.rules import GRADES, MAX_SPREAD, Outcome, State, settle

BLOCK = 20  # pair ids of one query


class Grade(NamedTuple):
    """One line of the file."""

    worker: int
    grade: int


@dataclass(frozen=True)
class PlannedPair:
    """A pair of the file; ``second`` is empty when the file has nothing for a second round."""

    pair_id: int
    first: tuple[Grade, ...]
    second: tuple[Grade, ...] = ()

    @property
    def grades(self) -> tuple[Grade, ...]:
        return self.first + self.second

    @property
    def outcome(self) -> Outcome:
        """What the rule makes of it in the end; escalated where a second round is wanting."""
        return settle([row.grade for row in self.grades])


def read_rows(path: Path) -> dict[int, list[Grade]]:
    """The grades of each pair, in the file's order."""
    rows: dict[int, list[Grade]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            rows.setdefault(int(row["pair_id"]), []).append(Grade(int(row["worker"]), int(row["relevance"])))
    return rows


def plan_of(rows: Mapping[int, Sequence[Grade]], *, first: int = 0, limit: int | None = None) -> list[PlannedPair]:
    """The pairs by id, from id ``first`` on, at most ``limit``.

    Raises:
        ValueError: a pair has neither two nor four grades.
    """
    wanted = (pair_id for pair_id in sorted(rows) if pair_id >= first)
    return [planned(pair_id, rows[pair_id]) for pair_id in islice(wanted, limit)]


def planned(pair_id: int, given: Sequence[Grade]) -> PlannedPair:
    if len(given) == 2:
        return PlannedPair(pair_id, tuple(given))
    if len(given) != 4:
        raise ValueError(f"pair {pair_id} has {len(given)} grades; a pair has two or four")
    low, *middle, high = sorted(given, key=lambda row: row.grade)
    if high.grade - low.grade <= MAX_SPREAD:
        return PlannedPair(pair_id, tuple(middle))
    return PlannedPair(pair_id, (low, high), tuple(middle))


class Totals(NamedTuple):
    """What the database holds of a replay, or should."""

    judgments: int
    settled: int
    settled_after_two: int
    settled_after_four: int
    dropped: int
    escalated: int
    relevance: tuple[int, ...]  # settled pairs of relevance 0 to 4


WHOLE_FILE = Totals(224_928, 94_442, 80_500, 13_942, 2_039, 2, (5_929, 19_245, 30_056, 24_439, 14_773))


def totals(outcomes: Iterable[tuple[int, str, int | None]]) -> Totals:
    """Of pairs, each as its number of grades, its state and its relevance."""
    counted = Counter(outcomes)

    def count(state: State, *, grades: int | None = None, relevance: int | None = None) -> int:
        wanted = ((grades, 0), (relevance, 2))
        rows = (row for row in counted if row[1] == state and all(v is None or row[i] == v for v, i in wanted))
        return sum(counted[row] for row in rows)

    return Totals(
        judgments=sum(row[0] * times for row, times in counted.items()),
        settled=count(State.SETTLED),
        settled_after_two=count(State.SETTLED, grades=2),
        settled_after_four=count(State.SETTLED, grades=4),
        dropped=count(State.DROPPED),
        escalated=count(State.ESCALATED),
        relevance=tuple(count(State.SETTLED, relevance=relevance) for relevance in GRADES),
    )


def totals_planned(pairs: Sequence[PlannedPair]) -> Totals:
    return totals((len(pair.grades), pair.outcome.state, pair.outcome.relevance) for pair in pairs)
