"""Who sends which grade of the plan. Shared by all annotators of a replay; knows nothing of HTTP or the database."""

import threading
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from benchmarks.plan import BLOCK, PlannedPair


@dataclass
class Sending:
    """One pair at work: whose hands hold which of its grades, and which the site has answered for."""

    pair: PlannedPair
    held: dict[int, int] = field(default_factory=dict)  # annotator -> place in pair.grades
    sent: set[int] = field(default_factory=set)

    def free_places(self) -> list[int]:
        """Places of the round that is on which nobody has sent or is just sending."""
        first = range(len(self.pair.first))
        on = first if not self.sent.issuperset(first) else range(len(first), len(self.pair.grades))
        return [place for place in on if place not in self.held.values()]


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
        """What this annotator says of the pair, the same each time; None when the file has no grade left for it."""
        with self._lock:
            sending = self._pairs[uuid]
            sitters = self._sitters[sending.pair.pair_id // BLOCK]
            sitters.add(annotator)
            if annotator not in sending.held:
                places = sending.free_places()
                if not places:
                    return None
                workers = [row.worker for row in sending.pair.grades]
                best = min(places, key=lambda place: (workers[place] != annotator, workers[place] in sitters, place))
                sending.held[annotator] = best
            return sending.pair.grades[sending.held[annotator]].grade

    def confirm(self, uuid: UUID, annotator: int) -> None:
        """The site has the grade."""
        with self._lock:
            sending = self._pairs[uuid]
            place = sending.held[annotator]
            if place not in sending.sent:
                sending.sent.add(place)
                self.sent += 1
                named = sending.pair.grades[place].worker == annotator
                self.by["the person named" if named else "a stand-in"] += 1

    def release(self, uuid: UUID, annotator: int) -> None:
        """The site refused it: somebody else is to send it."""
        with self._lock:
            self._pairs[uuid].held.pop(annotator, None)
