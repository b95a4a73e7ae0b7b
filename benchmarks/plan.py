"""The plan of a replay: the grades of a judgment file, laid out in rounds, and who sends them. Pure.

The file holds no order in time. Round 1 of a pair with four grades is its lowest and highest; where all four lie
within 1, those two would have settled it, so only the middle two are sent. The ledger is shared by all annotators of a
replay and knows nothing of HTTP or the database.
"""

import csv
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from judging.work.rules import TVR_RANKING, Outcome, State, settle

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
        """The rule's outcome in the end; escalated where a second round is wanting."""
        return settle([row.grade for row in self.grades], TVR_RANKING)


def read_rows(path: Path) -> dict[int, list[Grade]]:
    """Return the grades of each pair, in the file's order."""
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
    pair_ids = (pair_id for pair_id in sorted(rows) if pair_id >= first)
    return [planned(pair_id, rows[pair_id]) for pair_id in islice(pair_ids, limit)]


def planned(pair_id: int, grades: Sequence[Grade]) -> PlannedPair:
    if len(grades) == 2:
        return PlannedPair(pair_id, tuple(grades))
    if len(grades) != 4:
        raise ValueError(f"pair {pair_id} has {len(grades)} grades; a pair has two or four")
    low, *middle, high = sorted(grades, key=lambda row: row.grade)
    if high.grade - low.grade <= TVR_RANKING.max_spread:
        return PlannedPair(pair_id, tuple(middle))
    return PlannedPair(pair_id, (low, high), tuple(middle))


class Totals(NamedTuple):
    """Counts that the database holds of a replay, or should."""

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
    rows = Counter(outcomes)
    states, after, relevances = Counter[str](), Counter[int](), Counter[int | None]()
    for (grades, state, relevance), times in rows.items():
        states[state] += times
        if state == State.SETTLED:
            after[grades] += times
            relevances[relevance] += times
    return Totals(
        judgments=sum(row[0] * times for row, times in rows.items()),
        settled=states[State.SETTLED],
        settled_after_two=after[2],
        settled_after_four=after[4],
        dropped=states[State.DROPPED],
        escalated=states[State.ESCALATED],
        relevance=tuple(relevances[relevance] for relevance in TVR_RANKING.grades),
    )


def totals_planned(pairs: Sequence[PlannedPair]) -> Totals:
    return totals((len(pair.grades), pair.outcome.state, pair.outcome.relevance) for pair in pairs)


@dataclass
class Sending:
    """One pair at work: who sends which of its grades, and which the site has confirmed."""

    pair: PlannedPair
    index_of: dict[int, int] = field(default_factory=dict)  # annotator -> index in pair.grades
    sent: set[int] = field(default_factory=set)

    def free_indexes(self) -> list[int]:
        """Return the grades of the current round that are neither sent nor being sent."""
        first = range(len(self.pair.first))
        current = first if not self.sent.issuperset(first) else range(len(first), len(self.pair.grades))
        return [index for index in current if index not in self.index_of.values()]


class Ledger:
    """The plan's grades, each sent once: by the person the file names when they sit there, else by who does."""

    def __init__(self, plan: Mapping[UUID, PlannedPair]) -> None:
        self._pairs = {uuid: Sending(pair) for uuid, pair in plan.items()}
        self._sitters: defaultdict[int, set[int]] = defaultdict(set)  # block -> annotators who sat at it
        self._lock = threading.Lock()
        self.planned = sum(len(pair.grades) for pair in plan.values())
        self.sent = 0
        self.by: Counter[str] = Counter()

    @property
    def complete(self) -> bool:
        return self.sent == self.planned

    def grade_for(self, uuid: UUID, annotator: int) -> int | None:
        """Return this annotator's grade of the pair, the same each time; None when the file has none left for it."""
        with self._lock:
            sending = self._pairs[uuid]
            sitters = self._sitters[sending.pair.pair_id // BLOCK]
            sitters.add(annotator)
            if annotator not in sending.index_of:
                indexes = sending.free_indexes()
                if not indexes:
                    return None
                workers = [row.worker for row in sending.pair.grades]
                sending.index_of[annotator] = min(
                    indexes, key=lambda index: (workers[index] != annotator, workers[index] in sitters, index)
                )
            return sending.pair.grades[sending.index_of[annotator]].grade

    def confirm(self, uuid: UUID, annotator: int) -> None:
        """Note that the site has the grade."""
        with self._lock:
            sending = self._pairs[uuid]
            index = sending.index_of[annotator]
            if index not in sending.sent:
                sending.sent.add(index)
                self.sent += 1
                is_named = sending.pair.grades[index].worker == annotator
                self.by["the person named" if is_named else "a stand-in"] += 1

    def release(self, uuid: UUID, annotator: int) -> None:
        """Give back a grade that the site refused: another person is to send it."""
        with self._lock:
            self._pairs[uuid].index_of.pop(annotator, None)
