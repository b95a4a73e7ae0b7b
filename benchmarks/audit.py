"""How long the audit takes to find something among many decisions, on a site of its own.

    python benchmarks/audit.py --events 1000000 --pairs 100000 --judgments 300000 --json

Pages as they are opened: the newest, one far back, and each sieve, those that find little and only long ago among them;
then all of it as a file, and what was judged under which versions. Method and figures: docs/benchmarks/audit.md. Exit
status 1: a page of the audit takes more than 200 ms (95th percentile).
"""

import argparse
import http.client
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))  # started as a script

from benchmarks.annotator import Unexpected  # noqa: E402
from benchmarks.lead import Lead, Times, lead_create  # noqa: E402
from benchmarks.machine import machine  # noqa: E402
from benchmarks.own_site import HOST, OwnSite, own_site  # noqa: E402
from benchmarks.populate import populated  # noqa: E402

WANTED_MS = 200.0
WARM_UP = 4
DAYS = 300  # ago the first was decided
# One in a thousand is a release, all of the first tenth; one in 100,000 says "needle". Everything else is a review.
EVENTS = """
INSERT INTO core_auditevent (uuid, project_id, actor_id, action, subject, data, created_at)
SELECT gen_random_uuid(), p.id, CASE WHEN i %% 3 = 0 THEN null ELSE l.user_id END,
    CASE WHEN i < %(events)s / 10 AND i %% 100 = 0 THEN 'release.create'
        WHEN i %% 4 = 0 THEN 'batch.extend' ELSE 'batch.close' END,
    gen_random_uuid(),
    jsonb_build_object('query', 'A person ' || i || CASE WHEN i %% 100000 = 7 THEN ' finds a needle' ELSE ' walks' END,
        'suggestion', 'close', 'reason', 'The mean of the last five is ' || i %% 5, 'version', i),
    now() - %(days)s * interval '1 day' * (1 - i / (%(events)s + 1.0))
FROM generate_series(1, %(events)s) AS i, accounts_project p, accounts_membership l
WHERE p.uuid = %(project)s AND l.project_id = p.id AND l.role = 'lead'"""


@dataclass(frozen=True)
class Result:
    events: int
    filled_in_s: float
    pages: dict[str, dict[str, float]]
    file_s: float
    file_mb: float
    judgments: int
    judged_under: dict[str, float]
    load_before: float
    machine: dict[str, str | int | float]

    @property
    def good(self) -> bool:
        return max(figures["p95_ms"] for figures in self.pages.values()) <= WANTED_MS


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--judgments", type=int, default=300_000)
    parser.add_argument("--annotators", type=int, default=110)
    parser.add_argument("--answers", type=int, default=20, help="of each kind (20)")
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
    filled = filled_s(told.project, options.events)
    lead = Lead(site.port)
    lead.log_in()
    path = f"/audit/{told.project}/"
    for _ in range(WARM_UP):
        lead.open(path)
    pages = {name: timed(lead, f"{path}?{asked}", options.answers) for name, asked in asked_of(told.project).items()}
    file_s, file_mb = whole_file(site.port, f"{path}audit.csv", lead.cookies)
    again = Lead(site.port)  # the server has closed the line meanwhile
    again.log_in()
    return Result(
        events=options.events,
        filled_in_s=filled,
        pages=pages,
        file_s=file_s,
        file_mb=file_mb,
        judgments=told.rows["judging_judgment"],
        judged_under=timed(again, f"{path}versions/", options.answers),
        load_before=round(load, 2),
        machine=machine(),
    )


def filled_s(project: str, events: int) -> float:
    from django.db import connection

    began = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute(EVENTS, {"events": events, "days": DAYS, "project": project})
        cursor.execute("VACUUM ANALYZE core_auditevent")
    return round(time.monotonic() - began, 1)


def asked_of(project: str) -> dict[str, str]:
    """What is asked, by the name its figures get."""
    from core.models import AuditEvent

    events = AuditEvent.objects.filter(project__uuid=project).order_by("created_at", "id")
    far, leader = events[events.count() // 10], events.filter(actor__isnull=False).last()
    assert leader is not None and leader.actor is not None
    day = far.created_at.date().isoformat()
    return {
        "newest": "",
        "far back": f"after={far.uuid}",
        "forward from far back": f"until={far.uuid}",
        "a person": f"who={leader.actor.uuid}",
        "a common kind": "kind=Reviews",
        "a rare kind, long ago": "kind=release.create",
        "several kinds, rare and long ago": "kind=Releases+and+runs",
        "a day long ago": f"since={day}&until={day}",
        "an object": f"object={far.subject}",
        "a common word": "q=person",
        "a rare word": "q=needle",
        "a number": f"q={far.data['version']}",
        "a rare word, a kind and a day": f"q=needle&kind=Reviews&until={day}",
        "a word that is nowhere": "q=nowhere",
    }


def whole_file(port: int, path: str, cookies: dict[str, str]) -> tuple[float, float]:
    """Seconds and megabytes; it comes in pieces, which a Wire does not take."""
    began, size = time.monotonic(), 0
    line = http.client.HTTPConnection(HOST, port, timeout=600)
    line.request("GET", path, headers={"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())})
    answer = line.getresponse()
    if answer.status != 200:
        raise Unexpected(f"{answer.status} instead of 200", status=answer.status)
    while piece := answer.read(1 << 16):
        size += len(piece)
    line.close()
    return round(time.monotonic() - began, 1), round(size / 1e6, 1)


def timed(lead: Lead, path: str, answers: int) -> dict[str, float]:
    times = Times()
    for _ in range(answers):
        began = time.perf_counter()
        times.take(lead._send("GET", path, {}), began)
    return times.figures()


if __name__ == "__main__":
    sys.exit(main())
