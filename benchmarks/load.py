"""Does the site carry a hundred annotators? Real servers on two cores, people at human pace, for a minute.

    python -m benchmarks.load --json
    python -m benchmarks.load --annotators 5 --seconds 20 --pairs 20000
    python benchmarks/load.py --against 9f804b29

It starts a site of its own as it runs in production (nginx, gunicorn, PostgreSQL and redis-server of Debian, a worker,
beat), fills it, and lets locust send annotators, leads and uploads (tests/production/load/locustfile.py). Method and
figures: docs/benchmarks/load.md. Exit status 1: an error, or a figure beyond what is wanted; 2: a program is missing.
"""

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, STDOUT
from typing import TYPE_CHECKING, Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # it may be started by its path
from benchmarks import common
from benchmarks.common import ROOT, percentile_ms, say
from benchmarks.own_site import cpu_s_of, family_of

if TYPE_CHECKING:
    from benchmarks.database import LoadPeople
    from tests.production.topology import Server, Site

LOCUSTFILE = ROOT / "tests" / "production" / "load" / "locustfile.py"
CORES = 2
COMING_PER_S = 10  # people who log in: argon2 takes a processor as long as it is meant to
WARM_UP_S = 15.0
LOOK_S = 5.0
PATIENCE_S = 600.0  # ends what hangs
SHOWN_ERRORS = 10
PERCENTS = (50, 95, 99, 100)
RATIOS = {
    **{"judgment_p95": (0, "judgment_p95_ms"), "p95": (0, "p95_ms"), "cpu": (0, "cpu_percent")},
    **{"memory": (0, "web_process_mb"), "cold_start": (0, "cold_start_s")},
}
WANTED = {"p95_ms": 100.0, "errors": 0, "cpu_percent": 60.0, "web_process_mb": 150.0, "cold_start_s": 3.0}


@dataclass
class Measured:
    """One run of the load: requests after the warm-up, and processor time and memory of the servers meanwhile."""

    seconds: float
    requests: list[tuple[str, str, float]]  # who, what, milliseconds
    errors: list[str]
    judgments: int  # answered, those of the warm-up too
    cpu_s: dict[str, float]
    client_cpu_s: float
    memory_mb: list[dict[str, dict[int, float]]] = field(default_factory=list)  # at each look, by server and process

    def of(self, *who: str) -> list[float]:
        """Seconds that the answers to these people took, ascending."""
        return sorted(ms / 1000 for person, _, ms in self.requests if person in who)

    def table(self) -> dict[str, dict[str, float]]:
        kinds: dict[str, list[float]] = {}
        for who, what, ms in self.requests:
            kinds.setdefault(f"{who}: {what}", []).append(ms / 1000)
        return {name: figures(sorted(seconds)) for name, seconds in sorted(kinds.items())}


@common.stoppable
def main(argv: Sequence[str] | None = None) -> int:
    options = options_from(argv)
    from tests.production.topology import missing_programs

    if missing := missing_programs():
        say(f"Missing: {' '.join(missing)}. On Debian and Ubuntu: sudo apt-get install {' '.join(missing)}")
        return 2
    if options.against:
        same = [f"--{name}={getattr(options, name)}" for name in ("annotators", "leads", "seconds", "pairs", "cores")]
        same += [] if options.uploads else ["--no-uploads"]
        print(json.dumps(common.compare(options.against, __file__, same, rounds=options.rounds, ratios=RATIOS)))
        return 0
    load = common.load_now()
    cores = fewer_cores(options.cores)
    with tempfile.TemporaryDirectory(prefix="momentjudge-load-") as folder, small_site(Path(folder)) as site:
        result = {**measured(site, Path(folder), options, cores=cores), "load_before": load}
    common.show(result, as_json=options.json)
    messages = beyond(result)
    for message in messages:
        say(message)
    return 1 if messages else 0


def options_from(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = common.arguments(
        __doc__,
        annotators=(100, "at once"),
        leads=(2, "who look and decide"),
        seconds=(60.0, "of steady state"),
        pairs=(200_000, "judged before, and waiting"),
        cores=(CORES, "that site and people share"),
        rounds=(3, "of both sides, with --against"),
    )
    parser.add_argument("--no-uploads", dest="uploads", action="store_false", help="nobody uploads runs")
    parser.add_argument("--against", default="", metavar="REV", help="in turns with this revision; one JSON line")
    options = parser.parse_args(argv)
    common.require_positive(parser, options, "annotators", "seconds", "cores", "rounds")
    if options.leads < 0:
        parser.error("--leads must not be negative")
    return options


def measured(site: "Site", folder: Path, options: argparse.Namespace, *, cores: int) -> dict[str, Any]:
    from benchmarks.database import history_make, load_people_create

    say(f"{options.pairs:,} pairs and what was judged of them ...")
    project = history_make(pairs=options.pairs)
    people = load_people_create(project, annotators=options.annotators, leads=options.leads, uploads=options.uploads)
    cold = cold_start_s(site)
    say(f"{options.annotators} annotators come, then {options.seconds:g} s are measured ...")
    run = load_run(site, people, folder, seconds=options.seconds)
    errors = run.errors + [f"{server.name} has ended" for server in site.servers if not server.alive()]
    if (recorded := people.recorded()) != run.judgments:
        errors.append(f"{run.judgments} grades were answered, {recorded} are there")
    judgments = sorted(ms / 1000 for _, what, ms in run.requests if what == "judgment")
    core_seconds, memory = run.seconds * cores, run.memory_mb[-1]
    return {
        **{name: getattr(options, name) for name in ("annotators", "leads", "uploads", "pairs")},
        "seconds": round(run.seconds, 1),
        "judgments": len(judgments),
        "judgments_per_s": round(len(judgments) / run.seconds, 1),
        "p95_ms": percentile_ms(run.of("annotator"), 95),  # of every request of annotators but for clips
        "judgment_p95_ms": percentile_ms(judgments, 95),
        "requests": run.table(),
        "errors": len(errors),
        "cpu_percent": percent(sum(run.cpu_s.values()), core_seconds),  # of the cores, by the site's processes
        "cpu_percent_by_server": {name: percent(seconds, core_seconds) for name, seconds in run.cpu_s.items()},
        "client_cpu_percent": percent(run.client_cpu_s, core_seconds),
        "memory_mb": {name: sorted(sizes.values(), reverse=True) for name, sizes in memory.items()},  # at the end
        "web_process_mb": max(  # of those that answer; the one above them only watches
            size for web in site.web for pid, size in memory[web.name].items() if pid != web.pid
        ),
        "cold_start_s": cold,
        "cores": cores,
        "machine": common.machine(),
        "first_errors": errors[:SHOWN_ERRORS],
    }


def beyond(result: Mapping[str, Any]) -> list[str]:
    """Return a message for each figure that is larger than it may be."""
    larger = {name: most for name, most in WANTED.items() if result[name] > most}
    messages = [f"{name} is {result[name]}, wanted is at most {most}" for name, most in larger.items()]
    return messages + ([] if result["judgments"] else ["nothing was judged"])


# The load itself: the soak uses it too


def load_run(
    site: "Site",
    people: "LoadPeople",
    folder: Path,
    *,
    seconds: float,
    judgments: int = 0,
    hurry: float = 1.0,
    warm_s: float = WARM_UP_S,
) -> Measured:
    """People come, then work for so long, and on until there are so many judgments, ``hurry`` times as fast as people
    do; memory is looked at every few seconds, processor time from end to end."""
    (folder / "world.json").write_text(json.dumps(people.config))
    for name in ("steady", "over", "result.json"):
        (folder / name).unlink(missing_ok=True)
    count = len(people.config["annotators"]) + len(people.config["leads"]) + bool(people.config["upload"])
    coming_s = count / COMING_PER_S + warm_s
    words = ["--headless", "--host", site.url, "--users", str(count), "--spawn-rate", str(COMING_PER_S)]
    words += ["--stop-timeout", "120", "--only-summary", "--exit-code-on-error", "0", "--loglevel", "WARNING"]
    environment = os.environ | {"LOAD_FOLDER": str(folder), "LOAD_WARM_S": str(coming_s), "LOAD_HURRY": str(hurry)}
    command = [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), *words]
    client = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=PIPE, stderr=STDOUT, text=True)
    try:
        await_file(folder / "steady", client, coming_s + PATIENCE_S)
        began, cpu_start, own = time.monotonic(), cpu_of(site.servers), cpu_s_of([client.pid])
        memory = []
        while (seconds_left := began + seconds - time.monotonic()) > 0 or people.recorded() < judgments:
            memory.append(memory_of(site.servers))
            time.sleep(min(seconds_left, LOOK_S) if seconds_left > 0 else LOOK_S)
            if client.poll() is not None:
                break
        memory.append(memory_of(site.servers))
        took, after, own = time.monotonic() - began, cpu_of(site.servers), cpu_s_of([client.pid]) - own
        (folder / "over").touch()
        output, _ = client.communicate(timeout=PATIENCE_S)
    finally:
        if client.poll() is None:
            client.kill()
            client.wait()
    if not (folder / "result.json").exists():
        raise RuntimeError(f"locust ended with {client.returncode} and no result:\n{output[-3000:]}")
    result = json.loads((folder / "result.json").read_text())
    end = result["steady_at"] + took
    requests = [(who, what, ms) for at, who, what, ms in result["requests"] if at <= end]
    cpu = {name: after[name] - cpu_start.get(name, 0.0) for name in after}
    kinds = {"annotator": "annotators", "lead": "leads", "uploader": "upload"}
    present_kinds = [kind for kind, name in kinds.items() if people.config[name]]
    idle = [f"no {kind} asked for anything" for kind in present_kinds if kind not in result["askers"]]
    return Measured(took, requests, result["errors"] + idle, result["judgments"], cpu, own, memory)


def await_file(path: Path, client: "subprocess.Popen[str]", seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists():
        if client.poll() is not None or time.monotonic() > deadline:
            client.kill()
            output, _ = client.communicate()
            raise RuntimeError(f"locust did not come so far:\n{output[-3000:]}")
        time.sleep(0.05)


def cpu_of(servers: "Iterable[Server]") -> dict[str, float]:
    """Return processor seconds used so far by each server that runs, with all its processes."""
    return {server.name: cpu_s_of(family_of(server.pid)) for server in servers if server.alive()}


def memory_of(servers: "Sequence[Server]") -> dict[str, dict[int, float]]:
    """Return the MiB that each process has in memory, shared ones included."""
    sizes: dict[str, dict[int, float]] = {server.name: {} for server in servers if server.alive()}
    for server in servers:
        for pid in family_of(server.pid) if server.name in sizes else ():
            with suppress(psutil.NoSuchProcess):
                sizes[server.name][pid] = round(psutil.Process(pid).memory_info().rss / 2**20, 1)
    return sizes


def cold_start_s(site: "Site") -> float:
    """Return seconds from the command to the first answer of a web host, with all its processes."""
    web = site.web[0]
    web.stop()
    began = time.monotonic()
    web.start(wait=False)
    while not web.ready():
        if not web.alive() or time.monotonic() - began > PATIENCE_S:
            raise RuntimeError(f"{web.name} does not start:\n{web.tail()}")
        time.sleep(0.01)
    return round(time.monotonic() - began, 2)


def figures(seconds: Sequence[float]) -> dict[str, float]:
    return {"answers": len(seconds), **{f"p{percent}_ms": percentile_ms(seconds, percent) for percent in PERCENTS}}


def percent(part: float, whole: float) -> float:
    return round(100 * part / whole, 1)


# The site


@contextmanager
def small_site(folder: Path) -> Iterator["Site"]:
    """Run one web host, one worker host, beat, nginx, PostgreSQL and Redis; Django in this process speaks to them."""
    programs = Path(os.environ.get("MOMENTJUDGE_VAR") or ROOT / "var" / "test") / "production"  # as of the tests
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.test"
    os.environ["MOMENTJUDGE_VAR"] = str(folder / "var")
    import django

    django.setup()
    logging.disable(logging.WARNING)  # of this process, which writes rows by the million
    from tests.production.topology.inside import django_on
    from tests.production.topology.small import SmallSite

    site = SmallSite(cache_folder=programs)
    try:
        site.start()
        with django_on(site):
            yield site
    finally:
        site.stop()
        site.remove()


def fewer_cores(most: int) -> int:
    """Let site and people share the first so many cores of this machine; return how many they are."""
    cores = sorted(os.sched_getaffinity(0))[:most]
    os.sched_setaffinity(0, cores)
    return len(cores)


if __name__ == "__main__":
    sys.exit(main())
