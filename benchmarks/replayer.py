"""Annotators who say what the ledger says while services of the site are killed with -9 at random moments.

The services are restarted as the supervisor does it, and no annotator loses the thread.
"""

import contextlib
import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from benchmarks.annotator import GRADE, Annotator, Unexpected, key_of
from benchmarks.own_site import BROKER, DATABASE, WORKERS, OwnSite
from benchmarks.plan import Ledger

PATIENCE_S = 120  # for one form, while the site does not answer
RETRY_S = 0.1
LONGEST_IDLE_S = 1.0
HOLD_S = 1.0  # how long a batch is held that nothing is known about: meanwhile its other seat is handed out
CONFLICT = 409
UNGRADED = re.compile(r'<a href="/pairs/([0-9a-f-]{36})/">(?:(?!</a>).)*>–</b></a>', re.DOTALL)


class Done(Exception):
    """Everything planned was sent, and this annotator holds nothing."""


class Replayer(Annotator):
    """Grades what it is handed as planned, gives back what the plan knows nothing of, ends with the plan."""

    def __init__(self, *, ledger: Ledger, number: int, **values: Any) -> None:
        super().__init__(**values, media=False, seed=number)
        self.ledger, self.number = ledger, number
        self.left_out: set[UUID] = set()
        self.interruptions = self.returned = 0
        self.idle_s = RETRY_S

    def replay(self, until: float) -> None:
        """Work until everything planned was sent, or until ``until`` (monotonic seconds)."""
        page = ""
        while time.monotonic() < until:
            try:
                page = self._step(page) if page else self.browser.get(self.desk)
            except Done:
                break
            except (Unexpected, OSError) as error:
                self._note(error)
                page = ""
        self.browser.wire.close()
        self.tally.requests = self.browser.requests

    def _note(self, error: Exception) -> None:
        """An interruption is the site's absence; anything else an annotator should not meet."""
        if is_interruption(error):
            self.interruptions += 1
        else:
            self.tally.errors.append(f"{self.username}: {error!r}")
        self.browser.wire.close()
        time.sleep(RETRY_S)

    def _judge(self, page: str, path: str, pair: UUID) -> str:
        grade = self.ledger.grade_for(pair, self.number)
        if grade is None:
            return self._leave_out(pair)
        began = time.perf_counter()
        try:
            answer = self._submit(page, path, grade)
        except Unexpected:
            self.ledger.release(pair, self.number)
            raise
        self.tally.judgments_s.append(time.perf_counter() - began)
        self.ledger.confirm(pair, self.number)
        return answer

    def _submit(self, page: str, path: str, grade: int) -> str:
        """The same form with the same key until it is answered: what the site did of the first is not known."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self.browser.post_htmx(path, page, grade=str(grade), key=key_of(page))
            except (Unexpected, OSError) as error:
                if not is_interruption(error):
                    raise
                if time.monotonic() > deadline:
                    raise Unexpected(f"no answer to a grade for {PATIENCE_S} s: {error!r}") from error
                self._note(error)

    def _leave_out(self, pair: UUID) -> str:
        """Look for another pair of the batch that the plan has a grade for; give the batch back when there is none."""
        self.left_out.add(pair)
        look = self.browser.get(self.desk + "last-look/")
        for other in map(UUID, UNGRADED.findall(look)):
            if other not in self.left_out and self.ledger.grade_for(other, self.number) is not None:
                return self.browser.get(f"/pairs/{other}/")
        time.sleep(HOLD_S)
        self.returned += 1
        return self.browser.post(self.desk + "return/", look)

    def _finish(self, page: str, path: str) -> str:
        self.more = not self.ledger.complete
        return super()._finish(page, path)

    def _take(self, page: str, path: str) -> str:
        if self.ledger.complete:
            raise Done
        began = time.perf_counter()
        answer = self.browser.post(path, page)
        if GRADE.search(answer):
            self.tally.takes_s.append(time.perf_counter() - began)
            self.idle_s = RETRY_S
        else:
            self.tally.idle += 1
            time.sleep(self.idle_s)
            self.idle_s = min(LONGEST_IDLE_S, 2 * self.idle_s)
        return answer


def is_interruption(error: Exception) -> bool:
    return isinstance(error, OSError) or (isinstance(error, Unexpected) and error.status >= 500)


VICTIMS = ("judging", "web", DATABASE, BROKER)
SOONEST, LATEST = 0.05, 0.9  # of the grades planned


@dataclass(frozen=True)
class Kill:
    """Who is killed once ``after`` grades were sent: the whole service, or one of its processes."""

    after: int
    service: str
    whole: bool


def kills_planned(*, grades: int, count: int, chance: random.Random) -> list[Kill]:
    """``count`` kills at random moments, by time; the services take turns, each first as a whole."""
    moments = sorted(round(grades * chance.uniform(SOONEST, LATEST)) for _ in range(count))
    turns = [(service, turn == 0 or chance.random() < 0.5) for turn in range(count) for service in VICTIMS][:count]
    chance.shuffle(turns)
    return [Kill(after, *turn) for after, turn in zip(moments, turns, strict=True)]


@dataclass
class Killer:
    """Carries the plan out. Look and keep alive from the main thread only: restarting is its business."""

    site: OwnSite
    planned: list[Kill]
    chance: random.Random
    killed: Counter[str] = field(default_factory=Counter)

    def look(self, sent: int) -> None:
        """Kill whoever's moment has come."""
        while self.planned and sent >= self.planned[0].after:
            self._kill(self.planned.pop(0))

    def _kill(self, kill: Kill) -> None:
        family = self.site.processes(kill.service)
        if not family:
            return  # ended this very moment
        victims = self._victims(kill, family)
        self.killed[kill.service if family[0] in victims else f"a process of {kill.service}"] += 1
        kill_9(victims)

    def _victims(self, kill: Kill, family: Sequence[int]) -> Sequence[int]:
        leader, *others = family
        if not kill.whole and others:
            return [self.chance.choice(others)]
        return [leader] if kill.service == DATABASE else family  # PostgreSQL's others end as they notice


def kill_9(pids: Sequence[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def keep_alive(site: OwnSite) -> list[str]:
    """Restart what has ended; returns what that was."""
    ended = site.ended()
    for name in sorted(ended, key=[DATABASE, BROKER, "web", *WORKERS].index):
        site.restart(name)
    return ended
