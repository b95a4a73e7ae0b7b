"""How fast do annotators get their next pair? Concurrent annotators over HTTP against a site of its own.

    python -m benchmarks.judging_loop --annotators 8 --seconds 20 --json
    python -m benchmarks.judging_loop --annotators 1,4,8
    python benchmarks/judging_loop.py --against 9f804b29

One judgment is one POST of a grade and its answer with the next pair. Method and figures:
docs/benchmarks/judging-loop.md. Exit status 1: an error, or a pair with too many people.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # it may be started by its path
from benchmarks import common
from benchmarks.annotator import Annotator, errors_of, seconds_of, work_together
from benchmarks.common import each_ms, percentile_ms, say
from benchmarks.own_site import WORKERS, OwnSite, own_site

SHOWN_ERRORS = 5
FEWEST_QUERIES = 200
QUERIES_PER_S = 10  # more than annotators use up
COMPARED = "1,8"  # annotators, beside another revision
RATIOS = {
    "cpu": (1, "cpu_ms"),
    "p50_one": (0, "p50_ms"),
    "pace": (1, "judgments_per_s"),
    "take_p95": (1, "take_p95_ms"),
}


@common.stoppable
def main(argv: Sequence[str] | None = None) -> int:
    options = options_from(argv)
    if options.against:
        same = ["--annotators", COMPARED, "--seconds", str(options.seconds), "--queries", str(options.queries)]
        print(json.dumps(common.compare(options.against, __file__, same, rounds=options.rounds, ratios=RATIOS)))
        return 0
    with own_site(with_django=True) as site:
        results = [measure(site, number, options) for number in options.annotators]
    for result in results:
        common.show(result, as_json=options.json)
    good = all(result["judgments"] and not result["errors"] and not result["over_assigned"] for result in results)
    return 0 if good else 1


def options_from(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = common.arguments(
        __doc__,
        annotators=("8", "how many at once; several counts as 1,4,8"),
        seconds=(20.0, "of judging per count"),
        queries=(0, "batches of 20 pairs to judge; 0: plenty"),
        media=(False, "fetch each preview once, as a browser does"),
        statements=(False, "list the SQL of one judgment on stderr"),
        rounds=(3, "of both sides, with --against"),
    )
    parser.add_argument("--against", default="", metavar="REV", help="in turns with this revision; one JSON line")
    options = parser.parse_args(argv)
    common.require_positive(parser, options, "seconds", "rounds")
    try:
        options.annotators = [int(word) for word in options.annotators.split(",")]
    except ValueError:
        parser.error(f"--annotators takes numbers, got {options.annotators!r}")
    if min(options.annotators) < 1 or options.queries < 0:
        parser.error("--annotators and --queries must be positive")
    options.queries = options.queries or max(FEWEST_QUERIES, math.ceil(options.seconds * QUERIES_PER_S))
    return options


def measure(site: OwnSite, count: int, options: argparse.Namespace) -> dict[str, Any]:
    """Seed a project, let ``count`` annotators judge in it, and ask the database for the outcome.

    Latencies are of whole requests as the annotator sees them; processor time is per judgment, pages and takes
    included: it hardly depends on what else the machine does.
    """
    from django.urls import reverse

    from benchmarks import database
    from judging.work.services.assignments import assignment_take

    say(f"{count} annotators: {options.queries} queries of 20 pairs ...")
    seeded = database.project_seed(annotators=count, queries=options.queries)
    project = seeded.project
    for probe in seeded.probes:  # before the run, so that both have a batch of twenty pairs
        assert assignment_take(project=project, annotator=probe), "nobody has judged here: there are free slots"
    before = database.statements_of_a_judgment(project=project, annotator=seeded.probes[0])
    desk = reverse("judging:desk", args=[project.uuid])
    annotators = [
        Annotator(port=site.port, username=user.username, desk=desk, media=options.media, seed=number)
        for number, user in enumerate(seeded.annotators)
    ]
    for annotator in annotators:
        annotator.log_in()
    load, cpu, client = common.load_now(), site.cpu_s(), time.process_time()
    say(f"{count} annotators: judging for {options.seconds:g} s ...")
    seconds = work_together(annotators, seconds=options.seconds)
    client = time.process_time() - client
    cpu_by_service = {name: total - cpu[name] for name, total in site.cpu_s().items()}
    undecided = database.undecided(project)
    after = database.statements_of_a_judgment(project=project, annotator=seeded.probes[1])
    judgments = seconds_of(annotators, "judgments_s")
    durability = database.durability()
    errors = errors_of(annotators) + faults(
        answered=len(judgments),
        recorded=database.recorded(project, seeded.annotators),
        undecided=undecided,
        statements=(len(before), len(after)),
        ended=site.ended(),
        durability=durability,
    )
    report(site, errors, after if options.statements else [])
    return {
        "annotators": count,
        "seconds": round(seconds, 2),
        "judgments": len(judgments),
        "judgments_per_s": round(len(judgments) / seconds, 1),
        "p50_ms": percentile_ms(judgments, 50),
        "p95_ms": percentile_ms(judgments, 95),
        "take_p95_ms": percentile_ms(seconds_of(annotators, "takes_s"), 95),
        "web_cpu_ms": each_ms(cpu_by_service["web"], len(judgments)),
        "database_cpu_ms": each_ms(cpu_by_service["database"], len(judgments)),
        "broker_cpu_ms": each_ms(cpu_by_service["valkey"], len(judgments)),
        "worker_cpu_ms": each_ms(sum(cpu_by_service[name] for name in WORKERS), len(judgments)),
        "cpu_ms": each_ms(sum(cpu_by_service.values()), len(judgments)),
        "errors": len(errors),
        "sql_per_judgment": len(after),
        "over_assigned": database.over_assigned(project),
        "requests": sum(annotator.tally.requests for annotator in annotators),
        "idle": sum(annotator.tally.idle for annotator in annotators),
        **database.batches_by_state(project),
        "load_before": load,
        "client_cpu_ms": each_ms(client, len(judgments)),
        "durability": durability,
        "machine": common.machine(),
    }


def faults(
    *,
    answered: int,
    recorded: int,
    undecided: int,
    statements: tuple[int, int],
    ended: Sequence[str],
    durability: Mapping[str, str],
) -> list[str]:
    """Return what should agree after a run and does not."""
    messages = [f"the service {name} has ended" for name in ended]
    messages += [f"{name} is {value}: commits are not safe" for name, value in durability.items() if value != "on"]
    if recorded != answered:
        messages.append(f"{answered} grades were answered, {recorded} are in the database")
    if undecided:
        messages.append(f"{undecided} finished batches wait for the judging worker")
    if statements[0] != statements[1]:
        messages.append(f"a judgment took {statements[0]} statements before the run and {statements[1]} after it")
    return messages


def report(site: OwnSite, errors: Sequence[str], statements: Sequence[str]) -> None:
    for error in errors[:SHOWN_ERRORS]:
        say(f"error: {error}")
    if errors:
        say(f"The end of the web server's log:\n{site.log_tail('web')}")
    for number, statement in enumerate(statements, start=1):
        say(f"{number:3} {statement}")


if __name__ == "__main__":
    sys.exit(main())
