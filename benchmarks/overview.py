"""How long the lead's overview takes in a large project, on a site of its own.

    python benchmarks/overview.py --pairs 1000000 --judgments 3000000 --annotators 200 --json

The page as it is opened, the part of it that it asks for by itself every few seconds when something has changed, and
the answer when nothing has. Method and figures: docs/benchmarks/overview.md. Exit status 1: a 95th percentile is above
100 ms.
"""

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # started as a script

from benchmarks.figures import each_ms  # noqa: E402
from benchmarks.lead import Lead, Times, lead_create  # noqa: E402
from benchmarks.machine import machine  # noqa: E402
from benchmarks.own_site import DATABASE, OwnSite, own_site  # noqa: E402
from benchmarks.populate import populated  # noqa: E402

WANTED_MS = 100.0
WARM_UP = 8  # every process and thread of the web server has answered


@dataclass(frozen=True)
class Result:
    pairs: int
    judgments: int
    filled_in_s: float
    recounted_in_s: float
    page: dict[str, float]
    changed: dict[str, float]  # the part that is asked for again
    unchanged: dict[str, float]
    database_cpu_ms: float  # for each answer
    web_cpu_ms: float
    load_before: float
    machine: dict[str, str | int | float]

    @property
    def good(self) -> bool:
        return max(figures["p95_ms"] for figures in (self.page, self.changed, self.unchanged)) <= WANTED_MS


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--judgments", type=int, default=3_000_000)
    parser.add_argument("--annotators", type=int, default=200)
    parser.add_argument("--answers", type=int, default=200, help="of each kind (200)")
    parser.add_argument("--json", action="store_true", help="one JSON line")
    options = parser.parse_args(argv)
    load = os.getloadavg()[0]
    with own_site() as site:
        result = measured(site, options, load)
    print(json.dumps(asdict(result), indent=None if options.json else 2))
    return 0 if result.good else 1


def measured(site: OwnSite, options: argparse.Namespace, load: float) -> Result:
    told = populated(site.var, pairs=options.pairs, judgments=options.judgments, annotators=options.annotators)
    import django

    django.setup()
    lead_create(told.project)
    recounted = recount_s(told.project)
    lead = Lead(site.port)
    lead.log_in()
    path = f"/overview/{told.project}/"
    for _ in range(WARM_UP):
        lead.open(path)
    before = site.cpu_s()
    page, changed, unchanged = (Times() for _ in range(3))
    for _ in range(options.answers):
        one_round(lead, path, page, changed, unchanged)
    spent = {name: total - before[name] for name, total in site.cpu_s().items()}
    return Result(
        pairs=told.rows["judging_pair"],
        judgments=told.rows["judging_judgment"],
        filled_in_s=told.seconds,
        recounted_in_s=recounted,
        page=page.figures(),
        changed=changed.figures(),
        unchanged=unchanged.figures(),
        database_cpu_ms=each_ms(spent[DATABASE], 3 * options.answers),
        web_cpu_ms=each_ms(spent["web"], 3 * options.answers),
        load_before=round(load, 2),
        machine=machine(),
    )


def one_round(lead: Lead, path: str, page: Times, changed: Times, unchanged: Times) -> None:
    began = time.perf_counter()
    shown = page.take(lead._send("GET", path, {}), began).body.decode()
    [digest] = re.findall(r"\?seen=(\w+)", shown)
    began = time.perf_counter()
    changed.take(lead.ask(f"{path}?seen=older"), began)
    began = time.perf_counter()
    unchanged.take(lead.ask(f"{path}?seen={digest}"), began, status=204)


def recount_s(project: str) -> float:
    """How long counting anew takes; it must find the counts right."""
    from accounts.models import Project
    from judging.work.services.batches import tallies_recount

    began = time.monotonic()
    if tallies_recount(project=Project.objects.get(uuid=project)):
        raise RuntimeError("the kept counts were wrong")
    return round(time.monotonic() - began, 1)


if __name__ == "__main__":
    sys.exit(main())
