"""How long a lead waits for the pages of a large audit: the newest, far back, and every kind of search.

    python -m benchmarks.audit --events 1000000 --pairs 100000 --judgments 300000 --answers 10 --json

It runs a site of its own. Method and figures: docs/benchmarks/audit.md. Exit status 1: the 95th percentile of a page is
above 200 ms.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.annotator import Browser
from benchmarks.common import arguments, load_now, machine, percentile_ms, show
from benchmarks.own_site import own_site
from benchmarks.populate import populated

MOST_MS = 200.0  # the 95th percentile of a page
LEAD = "benchmark-lead"
WARM_UP = 8  # every process and thread of the web server has answered
DAYS = 300  # ago the first was decided
EVENTS = Path(__file__).with_suffix(".sql")


def main(argv: Sequence[str] | None = None) -> int:
    options = arguments(
        __doc__,
        **{"pairs": 100_000, "judgments": 300_000, "annotators": 110},
        events=(1_000_000, "decisions in the audit"),
        answers=(20, "of each kind"),
    ).parse_args(argv)
    load = load_now()
    with own_site(with_django=True) as site:
        rows = populated(site.var, pairs=options.pairs, judgments=options.judgments, annotators=options.annotators)
        filled_in_s = events_insert(rows.project, options.events)
        path = f"/audit/{rows.project}/"
        lead = logged_in(site.port, path)
        pages = {name: timed(lead, path + query, options.answers) for name, query in queries_of(rows.project).items()}
        file_s, file_mb = whole_file(logged_in(site.port, path), f"{path}audit.csv")
        lead = logged_in(site.port, path)  # the server has closed the connection meanwhile
        judged_under = timed(lead, f"{path}versions/", options.answers)
    result = {
        "events": options.events,
        "filled_in_s": filled_in_s,
        "pages": pages,
        "file_s": file_s,
        "file_mb": file_mb,
        "judgments": rows.rows["judging_judgment"],
        "judged_under": judged_under,
        "load_before": load,
        "machine": machine(),
    }
    show(result, as_json=options.json)
    return 0 if max(figures["p95_ms"] for figures in pages.values()) <= MOST_MS else 1


def events_insert(project: str, events: int) -> float:
    """Write a lead and the events; return the seconds that the events took."""
    from django.db import connection

    from accounts.models import Project
    from benchmarks.database import lead_create

    lead_create(Project.objects.get(uuid=project), LEAD)
    began = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute(EVENTS.read_text(), {"events": events, "days": DAYS, "project": project})
        cursor.execute("VACUUM ANALYZE core_auditevent")
    return round(time.monotonic() - began, 1)


def queries_of(project: str) -> dict[str, str]:
    """Return the query strings by the name that their figures get."""
    from core.models import AuditEvent

    events = AuditEvent.objects.filter(project__uuid=project).order_by("created_at", "id")
    far, leader = events[events.count() // 10], events.filter(actor__isnull=False).last()
    assert leader is not None and leader.actor is not None
    day = far.created_at.date().isoformat()
    return {
        "newest": "",
        "far back": f"?after={far.uuid}",
        "forward from far back": f"?until={far.uuid}",
        "a person": f"?who={leader.actor.uuid}",
        "a common kind": "?kind=Reviews",
        "a rare kind, long ago": "?kind=release.create",
        "several kinds, rare and long ago": "?kind=Releases+and+runs",
        "a day long ago": f"?since={day}&until={day}",
        "an object": f"?object={far.subject}",
        "a common word": "?q=person",
        "a rare word": "?q=needle",
        "a number": f"?q={far.data['version']}",
        "a rare word, a kind and a day": f"?q=needle&kind=Reviews&until={day}",
        "a word that is nowhere": "?q=nowhere",
    }


def logged_in(port: int, path: str) -> Browser:
    """Return the lead's browser after it has opened a page a few times."""
    lead = Browser(port)
    lead.log_in(LEAD)
    for _ in range(WARM_UP):
        lead.get(path)
    return lead


def timed(lead: Browser, path: str, answers: int) -> dict[str, float]:
    """Return the percentiles of so many answers, and the size of the largest."""
    seconds, sizes = [], []
    for _ in range(answers):
        began = time.perf_counter()
        page = lead.get(path)
        seconds.append(time.perf_counter() - began)
        sizes.append(len(page.encode()))
    seconds.sort()
    return {
        "answers": answers,
        "p50_ms": percentile_ms(seconds, 50),
        "p95_ms": percentile_ms(seconds, 95),
        "largest_kb": round(max(sizes) / 1000, 1),
    }


def whole_file(lead: Browser, path: str) -> tuple[float, float]:
    """Return seconds and megabytes of a file."""
    lead.connection.close()  # it opens again, with more patience
    lead.connection.timeout = 600
    began = time.monotonic()
    file = lead.get(path)
    return round(time.monotonic() - began, 1), round(len(file.encode()) / 1e6, 1)


if __name__ == "__main__":
    sys.exit(main())
