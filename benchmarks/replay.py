"""Plays real judgments through the HTTP interface, with at least 21 annotators at once, and compares what comes of it.

    python -m benchmarks.replay --json                        all 227,808 judgments of the file
    python -m benchmarks.replay --limit 2000 --kill --json    the first 2,000 pairs, while services are killed

Method and figures: docs/benchmarks/replay.md. The file is raw_annotation.csv below MOMENTJUDGE_SHARED. Exit status 1:
the database is not as planned, or something went wrong; 2: the file is not there.
"""

import contextlib
import logging
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.annotator import PASSWORD
from benchmarks.common import (
    ROOT,
    arguments,
    each_ms,
    machine,
    percentile_ms,
    say,
    show,
)
from benchmarks.own_site import OwnSite, own_site
from benchmarks.plan import (
    WHOLE_FILE,
    Ledger,
    PlannedPair,
    Totals,
    plan_of,
    read_rows,
    totals_planned,
)
from benchmarks.replayer import (
    Killer,
    Replayer,
    keep_alive,
    kills_planned,
)

if TYPE_CHECKING:
    from benchmarks.seeding import SeededPlan

FILE = Path("data/tvr_ranking/raw_annotation.csv")
FIRST_STAND_IN = 1001
SLOWEST_PER_S = 10  # judgments; a run that is slower than this is given up
START_S, DRAIN_S, TICK_S, SAY_S = 120, 120, 0.05, 15
SWEEP_S = 2.0  # sweeps come closer together than beat sends them, so that a short run sees some
SWEEPS = ("judging.tasks.assignments_sweep", "judging.tasks.batches_sweep")
SHOWN = 10


@dataclass(frozen=True)
class Options:
    first: int
    limit: int | None
    annotators: int
    kills: int
    seed: int
    json: bool

    @property
    def whole_file(self) -> bool:
        return self.first == 0 and self.limit is None


@dataclass
class Watch:
    """What the main thread does while the annotators work."""

    site: OwnSite
    killer: Killer | None
    restarts: Counter[str] = field(default_factory=Counter)
    sweeps: int = 0
    swept: float = 0.0

    def look(self, sent: int) -> None:
        """Kill who is due, restart what has ended, and sweep as beat does; without a killer just look on."""
        if self.killer is None:
            return
        self.killer.look(sent)
        self.restarts.update(keep_alive(self.site))
        if time.monotonic() - self.swept > SWEEP_S:
            self._sweep()

    def _sweep(self) -> None:
        """A broker that is just coming back misses a sweep; the next one is near."""
        from celery import current_app
        from kombu.exceptions import OperationalError

        self.swept, self.sweeps = time.monotonic(), self.sweeps + 1
        with contextlib.suppress(OperationalError, OSError):
            for task in SWEEPS:
                current_app.send_task(task, retry=False)


@dataclass(frozen=True)
class Result:
    """``cpu_ms`` is processor time per judgment of all services; unknown where killed ones took theirs along."""

    pairs: int
    annotators: int
    seconds: float
    judgments_per_s: float
    p50_ms: float
    p95_ms: float
    take_p95_ms: float
    cpu_ms: dict[str, float]
    client_cpu_ms: float
    planned: dict[str, object]
    stored: dict[str, object]
    sent_by: dict[str, int]
    returned: int
    idle: int
    interruptions: int
    killed: dict[str, int]
    restarts: dict[str, int]
    sweeps: int
    undecided_at_the_end_of_sending: int
    decided_after_s: float
    faults: list[str]
    durability: dict[str, str]
    load_before: float
    machine: dict[str, str | int | float]


def main(argv: Sequence[str] | None = None) -> int:
    options = options_from(argv)
    file = judgment_file()
    if not file.is_file():
        say(f"There is no {file}. MOMENTJUDGE_SHARED names the folder that holds {FILE}.")
        return 2
    plan = plan_of(read_rows(file), first=options.first, limit=options.limit)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with own_site() as site:
            import django

            django.setup()
            logging.disable(logging.INFO)
            result = replay(site, plan, options)
    except KeyboardInterrupt:
        return 130
    show(result, as_json=options.json)
    return 1 if result.faults else 0


def judgment_file() -> Path:
    return Path(os.environ.get("MOMENTJUDGE_SHARED", ROOT.parent / "shared")) / FILE


def options_from(argv: Sequence[str] | None) -> Options:
    parser = arguments(__doc__)
    parser.add_argument("--limit", type=int, metavar="PAIRS", help="so many pairs only")
    parser.add_argument("--first", type=int, default=0, metavar="PAIR_ID", help="from this pair on")
    parser.add_argument("--annotators", type=int, default=24, help="at once, 4 or more; stand-ins included (24)")
    parser.add_argument("--kill", action="store_true", help="kill services with -9 at random moments, and restart them")
    parser.add_argument("--kills", type=int, default=9, help="how many, with --kill (9)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments and victims (1)")
    given = parser.parse_args(argv)
    if given.annotators < 4 or given.kills < 1 or (given.limit is not None and given.limit < 1):
        parser.error("--limit and --kills must be positive, --annotators at least 4: that many judge an escalated pair")
    return Options(given.first, given.limit, given.annotators, given.kills if given.kill else 0, given.seed, given.json)


def replay(site: OwnSite, plan: Sequence[PlannedPair], options: Options) -> Result:
    """Seed the plan's pairs, have its grades sent, and compare what the database then holds."""
    from benchmarks import checks, seeding

    numbers = annotator_numbers(plan, options.annotators)
    say(f"{len(plan)} pairs for {len(numbers)} annotators ...")
    seeded = seeding.plan_seed(plan, annotators=numbers)
    ledger = Ledger(seeded.pairs)
    crowd = crowd_of(site, seeded, ledger)
    chance = random.Random(options.seed)
    kills = kills_planned(grades=ledger.planned, count=options.kills, chance=chance)
    watch = Watch(site, Killer(site, kills, chance) if options.kills else None)
    load, cpu, own = os.getloadavg()[0], site.cpu_s(), time.process_time()
    seconds = send(crowd, ledger, watch)
    own, used = time.process_time() - own, {} if options.kills else since(cpu, site.cpu_s())
    undecided, decided_after_s = drain(seeded, watch, totals_planned(plan).escalated)
    latencies = sorted(latency for one in crowd for latency in one.tally.judgments_s)
    stored = checks.totals_stored(seeded.project)
    result = Result(
        pairs=len(plan),
        annotators=len(crowd),
        seconds=round(seconds, 1),
        judgments_per_s=round(ledger.sent / seconds, 1),
        p50_ms=percentile_ms(latencies, 50),
        p95_ms=percentile_ms(latencies, 95),
        take_p95_ms=percentile_ms(sorted(latency for one in crowd for latency in one.tally.takes_s), 95),
        cpu_ms={name: each_ms(total, ledger.sent) for name, total in used.items()},
        client_cpu_ms=each_ms(own, ledger.sent),
        planned=totals_planned(plan)._asdict(),
        stored=stored._asdict(),
        sent_by=dict(ledger.by),
        returned=sum(one.returned for one in crowd),
        idle=sum(one.tally.idle for one in crowd),
        interruptions=sum(one.interruptions for one in crowd),
        killed=dict(watch.killer.killed) if watch.killer else {},
        restarts=dict(watch.restarts),
        sweeps=watch.sweeps,
        undecided_at_the_end_of_sending=undecided,
        decided_after_s=decided_after_s,
        faults=faults(site, crowd, ledger, stored, whole=options.whole_file, killing=options.kills > 0)
        + checks.replay_faults(seeded.project, plan),
        durability=checks.durability(),
        load_before=round(load, 2),
        machine=machine(),
    )
    report(site, result)
    return result


def annotator_numbers(plan: Sequence[PlannedPair], count: int) -> list[int]:
    """The people whom the plan names most often, and as many stand-ins as are wanting."""
    named = Counter(row.worker for pair in plan for row in pair.grades)
    people = [worker for worker, _ in named.most_common(count)]
    return people + list(range(FIRST_STAND_IN, FIRST_STAND_IN + count - len(people)))


def crowd_of(site: OwnSite, seeded: "SeededPlan", ledger: Ledger) -> list[Replayer]:
    """Everybody, logged in."""
    from django.urls import reverse

    desk = reverse("judging:desk", args=[seeded.project.uuid])
    crowd = [
        Replayer(ledger=ledger, number=number, port=site.port, username=user.username, password=PASSWORD, desk=desk)
        for number, user in seeded.annotators.items()
    ]
    for one in crowd:
        one.log_in()
    return crowd


def send(crowd: Sequence[Replayer], ledger: Ledger, watch: Watch) -> float:
    """Have everything planned sent; returns how many seconds it took until the last hands were empty."""
    began = said = time.monotonic()
    until = began + START_S + ledger.planned / SLOWEST_PER_S
    threads = [threading.Thread(target=one.replay, args=[until], daemon=True) for one in crowd]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        watch.look(ledger.sent)
        time.sleep(TICK_S)
        if time.monotonic() - said > SAY_S:
            said = time.monotonic()
            say(f"{ledger.sent} of {ledger.planned} grades, {ledger.sent / (said - began):.0f} per second")
    return time.monotonic() - began


def drain(seeded: "SeededPlan", watch: Watch, expected: int) -> tuple[int, float]:
    """Wait until the worker has decided all; how many pairs it had not when sending ended, and the seconds it took."""
    from django.db import connection

    from benchmarks import checks

    connection.close()  # PostgreSQL may have been killed meanwhile
    began = time.monotonic()
    undecided = checks.pairs_undecided(seeded.project) - expected

    def decided() -> bool:
        watch.look(0)
        return checks.pairs_undecided(seeded.project) <= expected

    checks.wait(decided, DRAIN_S)
    return undecided, round(time.monotonic() - began, 1)


def since(before: dict[str, float], now: dict[str, float]) -> dict[str, float]:
    """What each service has used, and all of them."""
    used = {name: total - before[name] for name, total in now.items()}
    return {**used, "all": sum(used.values())}


def faults(
    site: OwnSite, crowd: Sequence[Replayer], ledger: Ledger, stored: Totals, *, whole: bool, killing: bool
) -> list[str]:
    """What went wrong on the way, and whether the whole file gives what is published."""
    found = [error for one in crowd for error in one.tally.errors]
    found += [f"the service {name} has ended" for name in site.ended()]
    interruptions = sum(one.interruptions for one in crowd)
    if interruptions and not killing:
        found.append(f"nothing was killed, and the site was away {interruptions} times")
    if not ledger.complete:
        found.append(f"{ledger.planned - ledger.sent} grades could not be sent")
    if whole and stored != WHOLE_FILE:
        found.append(f"the whole file gives {WHOLE_FILE}, stored is {stored}")
    return found


def report(site: OwnSite, result: Result) -> None:
    for fault in result.faults[:SHOWN]:
        say(f"fault: {fault}")
    if result.faults:
        say(f"{len(result.faults)} faults. The end of the web server's log:\n{site.log_tail('web')}")


if __name__ == "__main__":
    sys.exit(main())
