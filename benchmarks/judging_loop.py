"""How fast do annotators get their next pair? Concurrent annotators over HTTP against a site of its own.

    python -m benchmarks.judging_loop --annotators 8 --seconds 20 --json
    python -m benchmarks.judging_loop --annotators 1,4,8
    python benchmarks/judging_loop.py --against v0.1.0

One judgment is one POST of a grade and its answer with the next pair. Method and figures:
docs/benchmarks/judging-loop.md. Exit status 1: an error, or a pair in too many hands.
"""

import json
import logging
import math
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # it may be started by its path
from benchmarks.against import compare
from benchmarks.annotator import PASSWORD, Annotator, work_together
from benchmarks.common import ROOT, arguments, each_ms, machine, percentile_ms, say
from benchmarks.own_site import WORKERS, OwnSite, own_site

SHOWN_ERRORS = 5
FEWEST_QUERIES = 200
QUERIES_PER_S = 10  # more than annotators use up
COMPARED = "1,8"  # annotators, beside another revision
RATIOS = {
    "pace": (1, "judgments_per_s"),
    "cpu": (1, "cpu_ms"),
    "p50_one": (0, "p50_ms"),
    "take_p95": (1, "take_p95_ms"),
}


@dataclass(frozen=True)
class Result:
    """One step of a sweep; latencies are of whole requests as the annotator sees them.

    ``web_cpu_ms`` and ``database_cpu_ms`` are processor time per judgment, pages and takes included: they
    hardly depend on what else the machine does.
    """

    annotators: int
    seconds: float
    judgments: int
    judgments_per_s: float
    p50_ms: float
    p95_ms: float
    take_p95_ms: float
    web_cpu_ms: float
    database_cpu_ms: float
    broker_cpu_ms: float
    worker_cpu_ms: float
    cpu_ms: float
    errors: int
    sql_per_judgment: int
    over_assigned: int
    requests: int
    idle: int
    batches_done: int
    second_rounds: int
    load_before: float
    client_cpu_ms: float
    durability: dict[str, str]
    machine: dict[str, str | int | float]

    @property
    def good(self) -> bool:
        return not self.errors and not self.over_assigned and self.judgments > 0


@dataclass(frozen=True)
class Options:
    annotators: list[int]
    seconds: float
    queries: int
    media: bool
    statements: bool
    json: bool
    against: str
    rounds: int


def main(argv: Sequence[str] | None = None) -> int:
    options = options_from(argv)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.against:
        own = ["--annotators", COMPARED, "--seconds", str(options.seconds), "--queries", str(options.queries)]
        script = Path(__file__).relative_to(ROOT).as_posix()
        print(json.dumps(compare(options.against, script, own, rounds=options.rounds, ratios=RATIOS)))
        return 0
    try:
        with own_site() as site:
            import django

            django.setup()
            logging.disable(logging.INFO)  # one line per batch opened
            results = [measure(site, number, options) for number in options.annotators]
    except KeyboardInterrupt:
        return 130
    print("\n".join(json.dumps(asdict(result)) for result in results) if options.json else table(results))
    return 0 if all(result.good for result in results) else 1


def options_from(argv: Sequence[str] | None) -> Options:
    parser = arguments(__doc__)
    parser.add_argument("--annotators", default="8", help="how many at once; several counts as 1,4,8 (default: 8)")
    parser.add_argument("--seconds", type=float, default=20, help="of judging per count (default: 20)")
    parser.add_argument("--queries", type=int, default=0, help="batches of 20 pairs to judge (default: plenty)")
    parser.add_argument("--media", action="store_true", help="fetch each preview once, as a browser does")
    parser.add_argument("--statements", action="store_true", help="list the SQL of one judgment on stderr")
    parser.add_argument("--against", default="", metavar="REV", help="in turns with this revision; one JSON line")
    parser.add_argument("--rounds", type=int, default=3, help="of both sides, with --against (default: 3)")
    given = parser.parse_args(argv)
    try:
        counts = [int(word) for word in given.annotators.split(",")]
    except ValueError:
        parser.error(f"--annotators takes numbers, got {given.annotators!r}")
    if min(counts) < 1 or given.seconds <= 0 or given.queries < 0 or given.rounds < 1:
        parser.error("--annotators, --seconds and --rounds must be positive")
    queries = given.queries or max(FEWEST_QUERIES, math.ceil(given.seconds * QUERIES_PER_S))
    return Options(
        counts, given.seconds, queries, given.media, given.statements, given.json, given.against, given.rounds
    )


def measure(site: OwnSite, count: int, options: Options) -> Result:
    """Seed a project, let ``count`` annotators judge in it, and ask the database what came of it."""
    from django.urls import reverse

    from benchmarks import checks, seeding

    say(f"{count} annotators: {options.queries} queries of 20 pairs ...")
    seeded = seeding.project_seed(annotators=count, queries=options.queries)
    project = seeded.project
    for probe in seeded.probes:
        checks.batch_take(project=project, annotator=probe)
    before = checks.statements_of_a_judgment(project=project, annotator=seeded.probes[0])
    annotators = [
        Annotator(
            port=site.port,
            username=user.username,
            password=PASSWORD,
            desk=reverse("judging:desk", args=[project.uuid]),
            media=options.media,
            seed=number,
        )
        for number, user in enumerate(seeded.annotators)
    ]
    for annotator in annotators:
        annotator.log_in()
    load, cpu, own = os.getloadavg()[0], site.cpu_s(), time.process_time()
    say(f"{count} annotators: judging for {options.seconds:g} s ...")
    seconds = work_together(annotators, seconds=options.seconds)
    own = time.process_time() - own
    used = {name: total - cpu[name] for name, total in site.cpu_s().items()}
    undecided = checks.undecided(project)
    after = checks.statements_of_a_judgment(project=project, annotator=seeded.probes[1])
    tallies = [annotator.tally for annotator in annotators]
    judgments = sorted(latency for tally in tallies for latency in tally.judgments_s)
    errors = [error for tally in tallies for error in tally.errors]
    errors += faults(
        answered=len(judgments),
        recorded=checks.recorded(project, seeded.annotators),
        undecided=undecided,
        statements=(len(before), len(after)),
        ended=site.ended(),
        durability=checks.durability(),
    )
    report(site, errors, after if options.statements else [])
    return Result(
        annotators=count,
        seconds=round(seconds, 2),
        judgments=len(judgments),
        judgments_per_s=round(len(judgments) / seconds, 1),
        p50_ms=percentile_ms(judgments, 50),
        p95_ms=percentile_ms(judgments, 95),
        take_p95_ms=percentile_ms(sorted(latency for tally in tallies for latency in tally.takes_s), 95),
        web_cpu_ms=each_ms(used["web"], len(judgments)),
        database_cpu_ms=each_ms(used["database"], len(judgments)),
        broker_cpu_ms=each_ms(used["valkey"], len(judgments)),
        worker_cpu_ms=each_ms(sum(used[name] for name in WORKERS), len(judgments)),
        cpu_ms=each_ms(sum(used.values()), len(judgments)),
        errors=len(errors),
        sql_per_judgment=len(after),
        over_assigned=checks.over_assigned(project),
        requests=sum(tally.requests for tally in tallies),
        idle=sum(tally.idle for tally in tallies),
        **checks.batches_by_state(project),
        load_before=round(load, 2),
        client_cpu_ms=each_ms(own, len(judgments)),
        durability=checks.durability(),
        machine=machine(),
    )


def faults(
    *,
    answered: int,
    recorded: int,
    undecided: int,
    statements: tuple[int, int],
    ended: Sequence[str],
    durability: Mapping[str, str],
) -> list[str]:
    """What should agree after a run and does not."""
    found = [f"the service {name} has ended" for name in ended]
    found += [f"{name} is {value}: commits are not safe" for name, value in durability.items() if value != "on"]
    if recorded != answered:
        found.append(f"{answered} grades were answered, {recorded} are in the database")
    if undecided:
        found.append(f"{undecided} finished batches wait for the judging worker")
    if statements[0] != statements[1]:
        found.append(f"a judgment took {statements[0]} statements before the run and {statements[1]} after it")
    return found


def report(site: OwnSite, errors: Sequence[str], statements: Sequence[str]) -> None:
    for error in errors[:SHOWN_ERRORS]:
        say(f"error: {error}")
    if errors:
        say(f"The end of the web server's log:\n{site.log_tail('web')}")
    for number, statement in enumerate(statements, start=1):
        say(f"{number:3} {statement}")


def table(results: Sequence[Result]) -> str:
    """One row per count of annotators."""
    names = {
        "annotators": "annotators",
        "judgments": "judgments",
        "judgments_per_s": "per s",
        "p50_ms": "p50 ms",
        "p95_ms": "p95 ms",
        "take_p95_ms": "take p95 ms",
        "web_cpu_ms": "web CPU ms",
        "database_cpu_ms": "database CPU ms",
        "worker_cpu_ms": "worker CPU ms",
        "cpu_ms": "CPU ms",
        "client_cpu_ms": "client CPU ms",
        "sql_per_judgment": "SQL each",
        "errors": "errors",
        "over_assigned": "over-assigned",
        "batches_done": "batches done",
        "idle": "idle",
        "load_before": "load before",
    }
    rows = [list(names.values()), *([str(getattr(result, name)) for name in names] for result in results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


if __name__ == "__main__":
    sys.exit(main())
