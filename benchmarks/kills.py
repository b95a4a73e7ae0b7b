"""Kills services of a benchmark's own site with -9 at random moments; they are restarted as the supervisor does it."""

import contextlib
import os
import random
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.own_site import BROKER, DATABASE, WORKERS, OwnSite

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
