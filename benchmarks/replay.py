"""Plays real judgments through the HTTP interface, with at least 21 annotators at once, and compares what comes of it.

    python -m benchmarks.replay --json                        all 227,808 judgments of the file
    python -m benchmarks.replay --limit 2000 --kill --json    the first 2,000 pairs, while services are killed

Method and figures: docs/benchmarks/replay.md. The file is raw_annotation.csv below MOMENTJUDGE_SHARED. Exit status 1:
the database is not as planned, or something went wrong; 2: the file is not there.
"""

import argparse
import contextlib
import os
import random
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from benchmarks import common
from benchmarks.annotator import Annotator, Unexpected, errors_of, key_of, seconds_of
from benchmarks.common import each_ms, percentile_ms, say
from benchmarks.own_site import BROKER, DATABASE, OwnSite, own_site
from benchmarks.plan import WHOLE_FILE, Ledger, PlannedPair, Totals, plan_of, read_rows, totals_planned

if TYPE_CHECKING:
    from benchmarks.database import SeededPlan

FILE = Path("data/tvr_ranking/raw_annotation.csv")
FIRST_STAND_IN = 1001
SLOWEST_PER_S = 10  # judgments; a run that is slower than this is given up
START_S, DRAIN_S, TICK_S, SAY_S = 120, 120, 0.05, 15
SWEEP_S = 2.0  # sweeps come closer together than beat sends them, so that a short run sees some
SWEEPS = ("judging.tasks.assignments_sweep", "judging.tasks.batches_sweep")
SHOWN = 10
PATIENCE_S = 120  # for one form, while the site does not answer
RETRY_S = 0.1
HOLD_S = 1.0  # how long a batch is kept that nothing is known about: meanwhile its other slot is handed out
UNGRADED = re.compile(r'<a href="/pairs/([0-9a-f-]{36})/">(?:(?!</a>).)*>–</b></a>', re.DOTALL)
VICTIMS = ("judging", "web", DATABASE, BROKER)
SOONEST, LATEST = 0.05, 0.9  # of the grades planned


@common.stoppable
def main(argv: Sequence[str] | None = None) -> int:
    options = options_from(argv)
    file = judgment_file()
    if not file.is_file():
        say(f"There is no {file}. MOMENTJUDGE_SHARED names the folder that holds {FILE}.")
        return 2
    plan = plan_of(read_rows(file), first=options.first, limit=options.limit)
    with own_site(with_django=True) as site:
        result = replay(site, plan, options)
    common.show(result, as_json=options.json)
    return 1 if result["faults"] else 0


def judgment_file() -> Path:
    return Path(os.environ.get("MOMENTJUDGE_SHARED", common.ROOT.parent / "shared")) / FILE


def options_from(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = common.arguments(
        __doc__,
        annotators=(24, "at once, 4 or more; stand-ins included"),
        kill=(False, "kill services with -9 at random moments, and restart them"),
        kills=(9, "how many, with --kill"),
        seed=(1, "of the moments and victims"),
    )
    parser.add_argument("--limit", type=int, metavar="PAIRS", help="so many pairs only")
    parser.add_argument("--first", type=int, default=0, metavar="PAIR_ID", help="from this pair on")
    options = parser.parse_args(argv)
    if options.annotators < 4 or options.kills < 1 or (options.limit is not None and options.limit < 1):
        parser.error("--limit and --kills must be positive, --annotators at least 4: that many judge an escalated pair")
    options.kills *= options.kill
    return options


def replay(site: OwnSite, plan: Sequence[PlannedPair], options: argparse.Namespace) -> dict[str, Any]:
    """Seed the plan's pairs, have its grades sent, and compare the database with the plan.

    ``cpu_ms`` is processor time per judgment of each service; unknown where killed ones took theirs along.
    """
    from benchmarks import database

    numbers = annotator_numbers(plan, options.annotators)
    say(f"{len(plan)} pairs for {len(numbers)} annotators ...")
    seeded = database.plan_seed(plan, annotators=numbers)
    ledger = Ledger(seeded.pairs)
    crowd = crowd_of(site, seeded, ledger)
    chance = random.Random(options.seed)
    kills = kills_planned(grades=ledger.planned, count=options.kills, chance=chance)
    watch = Watch(site, kills, chance, is_killing=bool(kills))
    load, cpu, client = common.load_now(), site.cpu_s(), time.process_time()
    seconds = send(crowd, ledger, watch)
    client = time.process_time() - client
    cpu_by_service = {} if options.kills else {name: total - cpu[name] for name, total in site.cpu_s().items()}
    cpu_by_service |= {"all": sum(cpu_by_service.values())} if cpu_by_service else {}
    undecided, decided_after_s = drain(seeded, watch, totals_planned(plan).escalated)
    judgments = seconds_of(crowd, "judgments_s")
    totals = database.read_totals(seeded.project)
    whole = options.first == 0 and options.limit is None
    messages = faults(site, crowd, ledger, totals, whole=whole, killing=options.kills > 0)
    messages += database.replay_faults(seeded.project, plan)
    for message in messages[:SHOWN]:
        say(f"fault: {message}")
    if messages:
        say(f"{len(messages)} faults. The end of the web server's log:\n{site.log_tail('web')}")
    return {
        "pairs": len(plan),
        "annotators": len(crowd),
        "seconds": round(seconds, 1),
        "judgments_per_s": round(ledger.sent / seconds, 1),
        "p50_ms": percentile_ms(judgments, 50),
        "p95_ms": percentile_ms(judgments, 95),
        "take_p95_ms": percentile_ms(seconds_of(crowd, "takes_s"), 95),
        "cpu_ms": {name: each_ms(total, ledger.sent) for name, total in cpu_by_service.items()},
        "client_cpu_ms": each_ms(client, ledger.sent),
        "planned": totals_planned(plan)._asdict(),
        "stored": totals._asdict(),
        "sent_by": dict(ledger.by),
        "returned": sum(annotator.returned for annotator in crowd),
        "idle": sum(annotator.tally.idle for annotator in crowd),
        "interruptions": sum(annotator.interruptions for annotator in crowd),
        "killed": dict(watch.killed),
        "restarts": dict(site.returned),
        "sweeps": watch.sweeps,
        "undecided_at_the_end_of_sending": undecided,
        "decided_after_s": decided_after_s,
        "faults": messages,
        "durability": database.durability(),
        "load_before": load,
        "machine": common.machine(),
    }


def annotator_numbers(plan: Sequence[PlannedPair], count: int) -> list[int]:
    """Return the people whom the plan names most often, and stand-ins up to ``count``."""
    grades = Counter(row.worker for pair in plan for row in pair.grades)
    people = [worker for worker, _ in grades.most_common(count)]
    return people + list(range(FIRST_STAND_IN, FIRST_STAND_IN + count - len(people)))


def crowd_of(site: OwnSite, seeded: "SeededPlan", ledger: Ledger) -> list["Replayer"]:
    """Return everybody, logged in."""
    desk = f"/judge/{seeded.project.uuid}/"
    crowd = [
        Replayer(ledger=ledger, number=number, port=site.port, username=user.username, desk=desk)
        for number, user in seeded.annotators.items()
    ]
    for annotator in crowd:
        annotator.log_in()
    return crowd


def send(crowd: Sequence["Replayer"], ledger: Ledger, watch: "Watch") -> float:
    """Have everything planned sent; return the seconds until the last annotator was done."""
    began = reported = time.monotonic()
    until = began + START_S + ledger.planned / SLOWEST_PER_S
    threads = [threading.Thread(target=annotator.work, args=[until], daemon=True) for annotator in crowd]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        watch.look(ledger.sent)
        time.sleep(TICK_S)
        if time.monotonic() - reported > SAY_S:
            reported = time.monotonic()
            say(f"{ledger.sent} of {ledger.planned} grades, {ledger.sent / (reported - began):.0f} per second")
    return time.monotonic() - began


def drain(seeded: "SeededPlan", watch: "Watch", n_escalated: int) -> tuple[int, float]:
    """Wait until the worker has decided all; return its pairs left when sending ended, and the seconds they took."""
    from django.db import connection

    from benchmarks import database

    connection.close()  # PostgreSQL may have been killed meanwhile
    began = time.monotonic()
    undecided = database.pairs_undecided(seeded.project) - n_escalated

    def decided() -> bool:
        watch.look(0)
        return database.pairs_undecided(seeded.project) <= n_escalated

    database.wait(decided, DRAIN_S)
    return undecided, round(time.monotonic() - began, 1)


def faults(
    site: OwnSite, crowd: Sequence["Replayer"], ledger: Ledger, totals: Totals, *, whole: bool, killing: bool
) -> list[str]:
    """Return the errors on the way, and whether the whole file gives the published totals."""
    messages = errors_of(crowd) + [f"the service {name} has ended" for name in site.ended()]
    interruptions = sum(annotator.interruptions for annotator in crowd)
    if interruptions and not killing:
        messages.append(f"nothing was killed, and the site did not answer {interruptions} times")
    if not ledger.complete:
        messages.append(f"{ledger.planned - ledger.sent} grades could not be sent")
    if whole and totals != WHOLE_FILE:
        messages.append(f"the whole file gives {WHOLE_FILE}, stored is {totals}")
    return messages


# Annotators who grade as the ledger says while services are killed with -9, and lose no grade by it


class Done(Exception):
    """Everything planned was sent, and this annotator holds nothing."""


class Replayer(Annotator):
    """Grades what it is handed as planned, gives back what the plan knows nothing of, ends with the plan."""

    longest_idle_s = 1.0

    def __init__(self, *, ledger: Ledger, number: int, **values: Any) -> None:
        super().__init__(**values, seed=number)
        self.ledger, self.number = ledger, number
        self.left_out: set[UUID] = set()
        self.interruptions = self.returned = 0

    def work(self, until: float) -> None:
        """Work until everything planned was sent, or until ``until`` (monotonic seconds)."""
        with contextlib.suppress(Done):
            super().work(until)

    def _note(self, error: Exception) -> None:
        """Count an interruption, when the site is not there; anything else is an error."""
        if is_interruption(error):
            self.interruptions += 1
            self.browser.connection.close()
            time.sleep(RETRY_S)
        else:
            super()._note(error)

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
        """Send the same form with the same key until it is answered: what became of the first is not known."""
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
        return super()._take(page, path)


def is_interruption(error: Exception) -> bool:
    return isinstance(error, OSError) or (isinstance(error, Unexpected) and error.status >= 500)


@dataclass(frozen=True)
class Kill:
    """Who is killed once ``after`` grades were sent: the whole service, or one of its processes."""

    after: int
    service: str
    whole: bool


def kills_planned(*, grades: int, count: int, chance: random.Random) -> list[Kill]:
    """Plan ``count`` kills at random moments, by time; the services take turns, each first as a whole."""
    moments = sorted(round(grades * chance.uniform(SOONEST, LATEST)) for _ in range(count))
    turns = [(service, turn == 0 or chance.random() < 0.5) for turn in range(count) for service in VICTIMS][:count]
    chance.shuffle(turns)
    return [Kill(after, *turn) for after, turn in zip(moments, turns, strict=True)]


@dataclass
class Watch:
    """The main thread's part while the annotators work: it kills as planned, has the dead come back, and sweeps."""

    site: OwnSite
    planned: list[Kill]
    chance: random.Random
    is_killing: bool
    killed: Counter[str] = field(default_factory=Counter)
    sweeps: int = 0
    swept: float = 0.0

    def look(self, n_sent: int) -> None:
        """Kill who is due, restart what has ended, and sweep as beat does; where nothing is killed just look on."""
        if not self.is_killing:
            return
        while self.planned and n_sent >= self.planned[0].after:
            self._kill(self.planned.pop(0))
        self.site.attend()
        if time.monotonic() - self.swept > SWEEP_S:
            self._sweep()

    def _kill(self, kill: Kill) -> None:
        family = self.site.processes(kill.service)
        if not family:
            return  # ended this very moment
        victims = self._victims(kill, family)
        self.killed[kill.service if family[0] in victims else f"a process of {kill.service}"] += 1
        for pid in victims:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _victims(self, kill: Kill, family: Sequence[int]) -> Sequence[int]:
        leader, *others = family
        if not kill.whole and others:
            return [self.chance.choice(others)]
        return [leader] if kill.service == DATABASE else family  # PostgreSQL's others end as they notice

    def _sweep(self) -> None:
        """A broker that is just coming back misses a sweep; the next one is near."""
        from celery import current_app
        from kombu.exceptions import OperationalError

        self.swept, self.sweeps = time.monotonic(), self.sweeps + 1
        with contextlib.suppress(OperationalError, OSError):
            for task in SWEEPS:
                current_app.send_task(task, retry=False)


if __name__ == "__main__":
    sys.exit(main())
