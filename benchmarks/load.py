"""Does the site carry a hundred annotators? Real servers on two cores, people at human pace, for a minute.

    python -m benchmarks.load --json
    python -m benchmarks.load --annotators 5 --seconds 20 --pairs 20000
    python benchmarks/load.py --against v0.1.0

It starts a site of its own as it runs in production (nginx, gunicorn, PostgreSQL and redis-server of Debian, a worker,
beat), fills it, and lets locust send annotators, leads and uploads (tests/production/load/locustfile.py). Method and
figures: docs/benchmarks/load.md. Exit status 1: an error, or a figure beyond what is wanted; 2: a program is missing.
"""

import argparse
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # it may be started by its path
from benchmarks.against import compare
from benchmarks.common import ROOT, arguments, machine, percentile_ms, say, show
from benchmarks.own_site import cpu_s_of, family_of

if TYPE_CHECKING:
    from benchmarks.load_world import LoadWorld
    from tests.production.topology import Server, Site

LOCUSTFILE = ROOT / "tests" / "production" / "load" / "locustfile.py"
CORES = 2
COMING_PER_S = 10  # people who log in: argon2 takes a processor as long as it is meant to
WARM_UP_S = 15.0
PATIENCE_S = 120.0
SHOWN_ERRORS = 10
RATIOS = {
    "judgment_p95": (0, "judgment_p95_ms"),
    "p95": (0, "p95_ms"),
    "cpu": (0, "cpu_percent"),
    "memory": (0, "web_process_mb"),
    "cold_start": (0, "cold_start_s"),
}
WANTED = {"p95_ms": 100.0, "errors": 0, "cpu_percent": 60.0, "web_process_mb": 150.0, "cold_start_s": 3.0}


@dataclass
class Measured:
    """One run of the load: requests after the warm-up, what servers used meanwhile, what is held in memory."""

    seconds: float
    requests: list[tuple[str, str, float]]  # who, what, milliseconds
    errors: list[str]
    judgments: int  # answered, those of the warm-up too
    cpu_s: dict[str, float]
    client_cpu_s: float
    memory_mb: list[dict[str, dict[int, float]]] = field(default_factory=list)  # at each look, by server and process

    def of(self, *who: str) -> list[float]:
        """Seconds that the answers to these people took, ascending."""
        return sorted(ms / 1000 for asker, _, ms in self.requests if asker in who)

    def table(self) -> dict[str, dict[str, float]]:
        kinds: dict[str, list[float]] = {}
        for who, what, ms in self.requests:
            kinds.setdefault(f"{who}: {what}", []).append(ms / 1000)
        return {name: figures(sorted(seconds)) for name, seconds in sorted(kinds.items())}


@dataclass(frozen=True)
class Result:
    annotators: int
    leads: int
    uploads: bool
    pairs: int
    seconds: float
    judgments: int
    judgments_per_s: float
    p95_ms: float  # of every request of annotators but for clips
    judgment_p95_ms: float
    requests: dict[str, dict[str, float]]
    errors: int
    cpu_percent: float  # of the cores, by the site's processes
    cpu_percent_by_server: dict[str, float]
    client_cpu_percent: float
    memory_mb: dict[str, list[float]]  # of each process, at the end
    web_process_mb: float
    cold_start_s: float
    load_before: float
    cores: int
    machine: dict[str, str | int | float]
    first_errors: list[str]

    @property
    def beyond(self) -> list[str]:
        """What is not as it is wanted."""
        return [
            f"{name} is {getattr(self, name)}, wanted is at most {most}"
            for name, most in WANTED.items()
            if getattr(self, name) > most
        ] + ([] if self.judgments else ["nothing was judged"])


def main(argv: Sequence[str] | None = None) -> int:
    options = options_from(argv)
    from tests.production.topology import missing_programs

    if missing := missing_programs():
        say(f"Missing: {' '.join(missing)}. On Debian and Ubuntu: sudo apt-get install {' '.join(missing)}")
        return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.against:
        own = [f"--annotators={options.annotators}", f"--leads={options.leads}", f"--seconds={options.seconds}"]
        own += [f"--pairs={options.pairs}", f"--cores={options.cores}"] + ["--no-uploads"] * (not options.uploads)
        script = Path(__file__).relative_to(ROOT).as_posix()
        print(json.dumps(compare(options.against, script, own, rounds=options.rounds, ratios=RATIOS)))
        return 0
    load = os.getloadavg()[0]
    cores = fewer_cores(options.cores)
    try:
        with own_folder() as folder, small_site(folder) as site:
            result = measured(site, folder, options, load=load, cores=cores)
    except KeyboardInterrupt:
        return 130
    show(result, as_json=options.json)
    for fault in result.beyond:
        say(fault)
    return 1 if result.beyond else 0


def options_from(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = arguments(__doc__)
    parser.add_argument("--annotators", type=int, default=100, help="at once (100)")
    parser.add_argument("--leads", type=int, default=2, help="who look and decide (2)")
    parser.add_argument("--no-uploads", dest="uploads", action="store_false", help="nobody brings runs")
    parser.add_argument("--seconds", type=float, default=60, help="of steady state (60)")
    parser.add_argument("--pairs", type=int, default=200_000, help="judged before, and waiting (200,000)")
    parser.add_argument("--cores", type=int, default=CORES, help="that site and people share (2)")
    parser.add_argument("--against", default="", metavar="REV", help="in turns with this revision; one JSON line")
    parser.add_argument("--rounds", type=int, default=3, help="of both sides, with --against (3)")
    given = parser.parse_args(argv)
    if given.annotators < 1 or given.seconds <= 0 or given.leads < 0 or given.cores < 1 or given.rounds < 1:
        parser.error("--annotators, --seconds, --cores and --rounds must be positive")
    return given


def measured(site: "Site", folder: Path, options: argparse.Namespace, *, load: float, cores: int) -> Result:
    from benchmarks.load_world import history_make, world_make

    say(f"{options.pairs:,} pairs and what was judged of them ...")
    project = history_make(pairs=options.pairs)
    world = world_make(project, annotators=options.annotators, leads=options.leads, uploads=options.uploads)
    cold = cold_start_s(site)
    say(f"{options.annotators} annotators come, then {options.seconds:g} s are measured ...")
    found = load_run(site, world, folder, seconds=options.seconds)
    return result_of(found, options, world, site, cold=cold, load=load, cores=cores)


def result_of(
    found: Measured,
    options: argparse.Namespace,
    world: "LoadWorld",
    site: "Site",
    *,
    cold: float,
    load: float,
    cores: int,
) -> Result:
    recorded = world.recorded()
    lost = [] if recorded == found.judgments else [f"{found.judgments} grades were answered, {recorded} are there"]
    errors = [*found.errors, *lost, *(f"{server.name} has ended" for server in site.servers if not server.alive())]
    judged = sorted(ms / 1000 for _, what, ms in found.requests if what == "judgment")
    room = found.seconds * cores
    memory = found.memory_mb[-1]
    return Result(
        annotators=options.annotators,
        leads=options.leads,
        uploads=options.uploads,
        pairs=options.pairs,
        seconds=round(found.seconds, 1),
        judgments=len(judged),
        judgments_per_s=round(len(judged) / found.seconds, 1),
        p95_ms=percentile_ms(found.of("annotator"), 95),
        judgment_p95_ms=percentile_ms(judged, 95),
        requests=found.table(),
        errors=len(errors),
        cpu_percent=percent(sum(found.cpu_s.values()), room),
        cpu_percent_by_server={name: percent(seconds, room) for name, seconds in found.cpu_s.items()},
        client_cpu_percent=percent(found.client_cpu_s, room),
        memory_mb={name: sorted(sizes.values(), reverse=True) for name, sizes in memory.items()},
        web_process_mb=max(web_sizes(site, memory)),
        cold_start_s=cold,
        load_before=round(load, 2),
        cores=cores,
        machine=machine(),
        first_errors=errors[:SHOWN_ERRORS],
    )


# The load itself: the soak uses it too


def load_run(
    site: "Site",
    world: "LoadWorld",
    folder: Path,
    *,
    seconds: float,
    warm_s: float = WARM_UP_S,
    every_s: float = 5.0,
    look: Callable[[], None] = lambda: None,
) -> Measured:
    """People come, then work for so long; memory is looked at every few seconds, processor time from end to end."""
    (folder / "world.json").write_text(json.dumps(world.told))
    for name in ("steady", "result.json"):
        (folder / name).unlink(missing_ok=True)
    people = len(world.told["annotators"]) + len(world.told["leads"]) + bool(world.told["upload"])
    coming_s = people / COMING_PER_S + warm_s
    client = locust(site.url, folder, people=people, warm_s=coming_s, seconds=seconds)
    try:
        await_file(folder / "steady", client, coming_s + PATIENCE_S)
        began, used, own = time.monotonic(), cpu_of(site.servers), cpu_s_of([client.pid])
        memory = []
        while (left := began + seconds - time.monotonic()) > 0:
            memory.append(memory_of(site.servers))
            look()
            time.sleep(min(left, every_s))
        memory.append(memory_of(site.servers))
        took, after, own = time.monotonic() - began, cpu_of(site.servers), cpu_s_of([client.pid]) - own
        said, _ = client.communicate(timeout=PATIENCE_S)
    finally:
        if client.poll() is None:
            client.kill()
            client.wait()
    if not (folder / "result.json").exists():
        raise RuntimeError(f"locust ended with {client.returncode} and no result:\n{said[-3000:]}")
    told = json.loads((folder / "result.json").read_text())
    end = told["steady_at"] + took
    requests = [(who, what, ms) for at, who, what, ms in told["requests"] if at <= end]
    cpu = {name: after[name] - used.get(name, 0.0) for name in after}
    idle = [f"no {kind} asked for anything" for kind in kinds_of(world) if kind not in told["askers"]]
    return Measured(took, requests, told["errors"] + idle, told["judgments"], cpu, own, memory)


def kinds_of(world: "LoadWorld") -> list[str]:
    """Who is to come, by the names of their requests."""
    there = {"annotator": world.told["annotators"], "lead": world.told["leads"], "uploader": world.told["upload"]}
    return [kind for kind, those in there.items() if those]


def locust(url: str, folder: Path, *, people: int, warm_s: float, seconds: float) -> "subprocess.Popen[str]":
    words = ["--headless", "--host", url, "--users", str(people), "--spawn-rate", str(COMING_PER_S)]
    words += ["--run-time", f"{int(warm_s + seconds + 5)}s", "--stop-timeout", "20", "--only-summary"]
    words += ["--exit-code-on-error", "0", "--loglevel", "WARNING"]
    environment = os.environ | {"LOAD_FOLDER": str(folder), "LOAD_WARM_S": str(warm_s)}
    return subprocess.Popen(
        [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def await_file(path: Path, client: "subprocess.Popen[str]", seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists():
        if client.poll() is not None or time.monotonic() > deadline:
            client.kill()
            said, _ = client.communicate()
            raise RuntimeError(f"locust did not come so far:\n{said[-3000:]}")
        time.sleep(0.05)


def cpu_of(servers: "Iterable[Server]") -> dict[str, float]:
    """Processor seconds used so far by each server that runs, with all its processes."""
    return {server.name: cpu_s_of(family_of(server.pid)) for server in servers if server.alive()}


def memory_of(servers: "Iterable[Server]") -> dict[str, dict[int, float]]:
    """MiB that each process holds in memory, what it shares with others included."""
    return {
        server.name: {pid: size for pid in family_of(server.pid) if (size := resident_mb(pid))}
        for server in servers
        if server.alive()
    }


def resident_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    found = [line.split()[1] for line in lines if line.startswith("VmRSS:")]
    return round(int(found[0]) / 1024, 1) if found else 0.0


def web_sizes(site: "Site", memory: Mapping[str, Mapping[int, float]]) -> list[float]:
    """Of the processes that answer; the one above them only watches."""
    return [size for web in site.web for pid, size in memory[web.name].items() if pid != web.pid]


def cold_start_s(site: "Site") -> float:
    """From the command to the first answer of a web host, its processes and all."""
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
    told = {f"p{percent}_ms": percentile_ms(seconds, percent) for percent in (50, 95, 99, 100)}
    return {"answers": len(seconds), **told}


def percent(part: float, whole: float) -> float:
    return round(100 * part / whole, 1)


# The site


@contextmanager
def small_site(folder: Path) -> Iterator["Site"]:
    """What two cores carry: one web host, one worker host, beat, nginx, PostgreSQL, Redis; Django here speaks to it."""
    kept = Path(os.environ.get("MOMENTJUDGE_VAR") or ROOT / "var" / "test") / "production"  # as of the tests
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.test"
    os.environ["MOMENTJUDGE_VAR"] = str(folder / "var")
    import django

    django.setup()
    logging.disable(logging.WARNING)  # of this process, which writes rows by the million
    from tests.production.topology.inside import django_on
    from tests.production.topology.small import SmallSite

    site = SmallSite(kept=kept)
    try:
        site.start()
        with django_on(site):
            yield site
    finally:
        site.stop()
        site.remove()


@contextmanager
def own_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="momentjudge-load-") as made:
        yield Path(made)


def fewer_cores(most: int) -> int:
    """Site and people share the first so many cores of this machine; how many they are."""
    there = sorted(os.sched_getaffinity(0))[:most]
    os.sched_setaffinity(0, there)
    return len(there)


if __name__ == "__main__":
    sys.exit(main())
