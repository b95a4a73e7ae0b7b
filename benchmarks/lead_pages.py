"""How long a lead's pages take in a large project: the audit and the overview.

    python -m benchmarks.lead_pages audit --events 1000000 --pairs 100000 --judgments 300000 --json
    python -m benchmarks.lead_pages overview --pairs 1000000 --judgments 3000000 --annotators 200 --json

Each runs a site of its own. Method and figures: docs/benchmarks/audit.md and overview.md. Exit status 1: a 95th
percentile is above 200 ms (audit) or 100 ms (overview).
"""

import argparse
import http.client
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from benchmarks.annotator import Lead, Times, Unexpected
from benchmarks.common import arguments, each_ms, load_now, machine, show, subcommand
from benchmarks.own_site import DATABASE, HOST, OwnSite, own_site
from benchmarks.populate import Populated, populated

LEAD = "benchmark-lead"
WARM_UP = 8  # every process and thread of the web server has answered
# The 95th percentile in milliseconds, and the figures that must not pass it.
ALLOWED: dict[str, tuple[float, list[str]]] = {
    "audit": (200.0, []),  # of all its pages
    "overview": (100.0, ["page", "changed", "unchanged"]),
}


class Ground(NamedTuple):
    """A filled site and the rows written."""

    site: OwnSite
    rows: Populated

    def lead(self, path: str) -> Lead:
        """Return a lead who has logged in and opened a page a few times."""
        lead = Lead(self.site.port)
        lead.log_in(LEAD)
        for _ in range(WARM_UP):
            lead.open(path)
        return lead


@contextmanager
def ground(options: argparse.Namespace) -> Iterator[Ground]:
    """Run a site with a large project and an account of its lead inside the block."""
    with own_site(with_django=True) as site:
        rows = populated(site.var, pairs=options.pairs, judgments=options.judgments, annotators=options.annotators)
        from accounts.models import Project
        from benchmarks.database import lead_create

        lead_create(Project.objects.get(uuid=rows.project), LEAD)
        yield Ground(site, rows)


def main(argv: Sequence[str] | None = None) -> int:
    parser = arguments(__doc__)
    pages = parser.add_subparsers(dest="which", required=True)
    for name, defaults in OPTIONS.items():
        subcommand(pages, name, **defaults)
    options = parser.parse_args(argv)
    load = load_now()
    with ground(options) as site:
        result = MEASURED[options.which](site, options)
    result |= {"load_before": load, "machine": machine()}
    show(result, as_json=options.json)
    return 0 if is_good(options.which, result) else 1


def is_good(which: str, result: dict[str, Any]) -> bool:
    """Whether no page took longer than is allowed."""
    most_ms, names = ALLOWED[which]
    figures = [result[name] for name in names] or result["pages"].values()
    return max(times["p95_ms"] for times in figures) <= most_ms


# The audit

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


def audit(site: Ground, options: argparse.Namespace) -> dict[str, Any]:
    project = site.rows.project
    seconds = events_insert(project, options.events)
    path = f"/audit/{project}/"
    lead = site.lead(path)
    pages = {
        name: timed(lead, f"{path}?{words}", options.answers).figures()
        for name, words in query_strings(project).items()
    }
    file_s, file_mb = whole_file(site.site.port, f"{path}audit.csv", lead.cookies)
    fresh = site.lead(path)  # the server has closed the connection meanwhile
    return {
        "events": options.events,
        "filled_in_s": seconds,
        "pages": pages,
        "file_s": file_s,
        "file_mb": file_mb,
        "judgments": site.rows.rows["judging_judgment"],
        "judged_under": timed(fresh, f"{path}versions/", options.answers).figures(),
    }


def events_insert(project: str, events: int) -> float:
    """Write the events; return the seconds."""
    from django.db import connection

    began = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute(EVENTS, {"events": events, "days": DAYS, "project": project})
        cursor.execute("VACUUM ANALYZE core_auditevent")
    return round(time.monotonic() - began, 1)


def query_strings(project: str) -> dict[str, str]:
    """Return the query strings by the name that their figures get."""
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
    """Return seconds and megabytes of a file, which comes in pieces that a Wire does not take."""
    began, size = time.monotonic(), 0
    connection = http.client.HTTPConnection(HOST, port, timeout=600)
    connection.request("GET", path, headers={"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())})
    answer = connection.getresponse()
    if answer.status != 200:
        raise Unexpected(f"{answer.status} instead of 200", status=answer.status)
    while piece := answer.read(1 << 16):
        size += len(piece)
    connection.close()
    return round(time.monotonic() - began, 1), round(size / 1e6, 1)


def timed(lead: Lead, path: str, answers: int) -> Times:
    times = Times()
    for _ in range(answers):
        times.take(lead.fetch_page, path)
    return times


# The overview


def overview(site: Ground, options: argparse.Namespace) -> dict[str, Any]:
    rows = site.rows
    recount_s = tallies_recount_s(rows.project)
    path = f"/overview/{rows.project}/"
    lead = site.lead(path)
    before = site.site.cpu_s()
    page, changed, unchanged = (Times() for _ in range(3))
    for _ in range(options.answers):
        text = page.take(lead.fetch_page, path).body.decode()
        [digest] = re.findall(r"\?seen=(\w+)", text)
        changed.take(lead.fetch_part, f"{path}?seen=older")
        unchanged.take(lead.fetch_part, f"{path}?seen={digest}", status=204)
    spent = {name: total - before[name] for name, total in site.site.cpu_s().items()}
    return {
        "pairs": rows.rows["judging_pair"],
        "judgments": rows.rows["judging_judgment"],
        "filled_in_s": rows.seconds,
        "recounted_in_s": recount_s,
        "page": page.figures(),
        "changed": changed.figures(),  # the part that is asked for again
        "unchanged": unchanged.figures(),
        "database_cpu_ms": each_ms(spent[DATABASE], 3 * options.answers),
        "web_cpu_ms": each_ms(spent["web"], 3 * options.answers),
    }


def tallies_recount_s(project: str) -> float:
    """Return the seconds of counting anew, which must find the counts right."""
    from accounts.models import Project
    from judging.work.services.batches import tallies_recount

    began = time.monotonic()
    if tallies_recount(project=Project.objects.get(uuid=project)):
        raise RuntimeError("the kept counts were wrong")
    return round(time.monotonic() - began, 1)


OPTIONS: dict[str, dict[str, Any]] = {
    "audit": {
        **{"pairs": 100_000, "judgments": 300_000, "annotators": 110},
        **{"events": (1_000_000, "decisions in the audit"), "answers": (20, "of each kind")},
    },
    "overview": {"pairs": 1_000_000, "judgments": 3_000_000, "annotators": 200, "answers": (200, "of each kind")},
}
MEASURED: dict[str, Callable[[Ground, argparse.Namespace], dict[str, Any]]] = {
    act.__name__: act for act in (audit, overview)
}


if __name__ == "__main__":
    sys.exit(main())
