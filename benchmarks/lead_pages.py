"""How long a lead's pages take in a large project: the audit, the overview, the review of finished batches.

    python -m benchmarks.lead_pages audit --events 1000000 --pairs 100000 --judgments 300000 --json
    python -m benchmarks.lead_pages overview --pairs 1000000 --judgments 3000000 --annotators 200 --json
    python -m benchmarks.lead_pages review --queries 1000 --pairs 1000000 --judgments 3000000 --annotators 200 --json

Each runs a site of its own. ``audit`` opens the newest events, those far back and each filter, also those that find
little and only long ago; then all of it as a file, and what was judged under which versions. ``overview`` opens the
page, the part of it that asks for itself when something has changed, and the answer when nothing has. ``review``
opens the queue, decides by key (each answer brings the next case), takes decisions back, looks at the preview of
accepting suggestions together, and accepts as many as go at once. Method and figures: docs/benchmarks/audit.md,
overview.md and review.md. Exit status 1: a 95th percentile is above 200 ms (audit), 100 ms (overview) or 150 ms
(review: page, decision, undo), or the rows of the review are not what was said.
"""

import argparse
import http.client
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from benchmarks.annotator import Lead, Times, Unexpected, lead_create
from benchmarks.common import arguments, each_ms, machine, show
from benchmarks.own_site import DATABASE, HOST, OwnSite, own_site
from benchmarks.populate import Populated, populated

WARM_UP = 8  # every process and thread of the web server has answered


class Pages:
    """Figures of some pages."""

    wanted_ms: ClassVar[float]

    @property
    def judged(self) -> list[dict[str, float]]:
        """The figures of the pages that must not take longer than is wanted."""
        raise NotImplementedError

    @property
    def good(self) -> bool:
        return max(figures["p95_ms"] for figures in self.judged) <= self.wanted_ms


class Ground(NamedTuple):
    """A filled site, what was written, and the load of the machine before."""

    site: OwnSite
    written: Populated
    load: float

    def lead(self, path: str) -> Lead:
        """A lead who has logged in and opened a page a few times."""
        lead = Lead(self.site.port)
        lead.log_in()
        for _ in range(WARM_UP):
            lead.open(path)
        return lead


@contextmanager
def ground(options: argparse.Namespace) -> Iterator[Ground]:
    """A site with a large project and an account of its lead."""
    load = round(os.getloadavg()[0], 2)
    with own_site() as site:
        written = populated(site.var, pairs=options.pairs, judgments=options.judgments, annotators=options.annotators)
        import django

        django.setup()
        lead_create(written.project)
        yield Ground(site, written, load)


def main(argv: Sequence[str] | None = None) -> int:
    parser = arguments(__doc__)
    pages = parser.add_subparsers(dest="which", required=True)
    for name, (pairs, judgments, annotators) in SIZES.items():
        page = pages.add_parser(name)
        page.add_argument("--pairs", type=int, default=pairs)
        page.add_argument("--judgments", type=int, default=judgments)
        page.add_argument("--annotators", type=int, default=annotators)
        page.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one JSON line")
        for option, default, said in OPTIONS[name]:
            page.add_argument(option, type=int, default=default, help=f"{said} ({default:,})")
    options = parser.parse_args(argv)
    if options.which == "review" and options.queries < options.decisions + 20:
        parser.error("--queries must be more than --decisions")
    with ground(options) as there:
        result = MEASURED[options.which](there, options)
    show(result, as_json=options.json)
    return 0 if result.good else 1


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


@dataclass(frozen=True)
class Audit(Pages):
    wanted_ms = 200.0
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
    def judged(self) -> list[dict[str, float]]:
        return list(self.pages.values())


def audit(there: Ground, options: argparse.Namespace) -> Audit:
    project, site = there.written.project, there.site
    filled = filled_s(project, options.events)
    path = f"/audit/{project}/"
    lead = there.lead(path)
    pages = {name: timed(lead, f"{path}?{asked}", options.answers) for name, asked in asked_of(project).items()}
    file_s, file_mb = whole_file(site.port, f"{path}audit.csv", lead.cookies)
    again = there.lead(path)  # the server has closed the line meanwhile
    return Audit(
        events=options.events,
        filled_in_s=filled,
        pages=pages,
        file_s=file_s,
        file_mb=file_mb,
        judgments=there.written.rows["judging_judgment"],
        judged_under=timed(again, f"{path}versions/", options.answers),
        load_before=there.load,
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


# The overview


@dataclass(frozen=True)
class Overview(Pages):
    wanted_ms = 100.0
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
    def judged(self) -> list[dict[str, float]]:
        return [self.page, self.changed, self.unchanged]


def overview(there: Ground, options: argparse.Namespace) -> Overview:
    written, site = there.written, there.site
    recounted = recount_s(written.project)
    path = f"/overview/{written.project}/"
    lead = there.lead(path)
    before = site.cpu_s()
    page, changed, unchanged = (Times() for _ in range(3))
    for _ in range(options.answers):
        one_round(lead, path, page, changed, unchanged)
    spent = {name: total - before[name] for name, total in site.cpu_s().items()}
    return Overview(
        pairs=written.rows["judging_pair"],
        judgments=written.rows["judging_judgment"],
        filled_in_s=written.seconds,
        recounted_in_s=recounted,
        page=page.figures(),
        changed=changed.figures(),
        unchanged=unchanged.figures(),
        database_cpu_ms=each_ms(spent[DATABASE], 3 * options.answers),
        web_cpu_ms=each_ms(spent["web"], 3 * options.answers),
        load_before=there.load,
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


# The review

CASE = re.compile(r'<article class="case" id="case-([^"]+)"')
AFTER = re.compile(r'id="review-last" name="after" value="([^"]+)"')
QUEUE = (  # the newest finished queries wait again, with twenty candidates for a second batch
    """
CREATE TEMP TABLE queued AS SELECT id, query_id FROM judging_batch
WHERE state = 'done' AND number = 1 ORDER BY done_at DESC LIMIT %(queries)s""",
    "SET LOCAL session_replication_role = replica",  # candidates join frozen lists
    """
INSERT INTO annotation_candidate (query_id, moment_id, rank, similarity, measure_id, source, wordings)
SELECT query_id, moment.first + (query_id * 7 + rank) %% moment.n, rank, 1 - rank / 100.0,
    (SELECT id FROM annotation_measure WHERE name = 'benchmark'), 'similarity', '{}'
FROM queued, generate_series(21, 40) AS rank,
    (SELECT max(id) - 9999 AS first, 10000 AS n FROM annotation_moment) AS moment""",
    "SET LOCAL session_replication_role = origin",
    "DELETE FROM judging_batchreview WHERE batch_id IN (SELECT id FROM queued)",
)


@dataclass(frozen=True)
class Review(Pages):
    wanted_ms = 150.0
    queries: int
    pairs: int
    judgments: int
    page: dict[str, float]
    more: dict[str, float]  # the cases that the page fetches as soon as it is there
    decision: dict[str, float]
    undo: dict[str, float]
    preview: dict[str, float]
    accepted: int
    accepted_in_ms: float
    second_batches: int
    second_batches_in_s: float
    cpu_ms_a_decision: dict[str, float]
    load_before: float
    machine: dict[str, str | int | float]

    @property
    def judged(self) -> list[dict[str, float]]:
        return [self.page, self.more, self.decision, self.undo]


def review(there: Ground, options: argparse.Namespace) -> Review:
    written, site = there.written, there.site
    queue_fill(options.queries)
    path = f"/review/{written.project}/"
    lead = there.lead(path)
    page, more, decision, undo, preview = (Times() for _ in range(5))
    for _ in range(options.pages):
        began = time.perf_counter()
        shown = page.take(lead._send("GET", path, {}), began).body.decode()
        began = time.perf_counter()
        behind = more.take(lead.ask(f"{path}?after={AFTER.findall(shown)[-1]}"), began).body.decode()
    before = site.cpu_s()
    decided = decide(lead, shown + behind, options.decisions, decision)
    spent = {name: total - before[name] for name, total in site.cpu_s().items()}
    take_back(lead, decided[-options.decisions // 5 :], undo)
    accepted, took_ms = accept(lead, f"{path}accept/", preview)
    second, opened_s = second_batches(written.project)
    expected = len(decided) - len(undo.seconds) + accepted
    if (found := reviews_since(written.project)) != expected:
        raise RuntimeError(f"{found} decisions instead of {expected}")
    return Review(
        queries=options.queries,
        pairs=written.rows["judging_pair"],
        judgments=written.rows["judging_judgment"],
        page=page.figures(),
        more=more.figures(),
        decision=decision.figures(),
        undo=undo.figures(),
        preview=preview.figures(),
        accepted=accepted,
        accepted_in_ms=took_ms,
        second_batches=second,
        second_batches_in_s=opened_s,
        cpu_ms_a_decision={name: each_ms(spent[name], len(decided)) for name in ("web", DATABASE)},
        load_before=there.load,
        machine=machine(),
    )


def queue_fill(queries: int) -> None:
    from django.db import connection, transaction

    with connection.cursor() as cursor:
        with transaction.atomic():
            for statement in QUEUE:
                cursor.execute(statement, {"queries": queries})
        cursor.execute("VACUUM (ANALYZE)")


def decide(lead: Lead, page: str, decisions: int, times: Times) -> list[str]:
    """Extend every third case and close the others, each as soon as the answer before is there."""
    cases, after, decided = CASE.findall(page), AFTER.findall(page)[-1], []
    for number in range(decisions):
        batch = cases.pop(0)
        word = "close" if number % 3 else "extend"
        began = time.perf_counter()
        reply = lead.tell(f"/batches/{batch}/review/", decision=word, reason="", after=after)
        answer = times.take(reply, began).body.decode()
        cases += CASE.findall(answer)
        after = (AFTER.findall(answer) or [after])[-1]
        decided.append(batch)
    return decided


def take_back(lead: Lead, batches: Sequence[str], times: Times) -> None:
    for batch in batches:
        began = time.perf_counter()
        times.take(lead.tell(f"/batches/{batch}/review/undo/"), began)


def accept(lead: Lead, path: str, times: Times) -> tuple[int, float]:
    """Accept what the preview offers; how many decisions that were, and how long they took in milliseconds."""
    for _ in range(10):
        began = time.perf_counter()
        page = times.take(lead._send("GET", path, {}), began).body.decode()
    chosen = re.findall(r'name="case" value="([^"]+)"', page)
    began = time.perf_counter()
    reply = lead.tell_all(f"{path}all/", [("case", value) for value in chosen])
    took_ms = round(1000 * (time.perf_counter() - began), 1)
    if reply.status != 302:
        raise RuntimeError(f"accepting was answered with {reply.status}")
    return len(chosen), took_ms


def second_batches(project: str, *, within_s: float = 120) -> tuple[int, float]:
    """How many the worker opened, and how long until the last one was there."""
    from judging.models import Batch, BatchReview

    began = time.monotonic()
    asked = BatchReview.objects.filter(batch__project__uuid=project, decision="extend").count()
    opened = Batch.objects.filter(project__uuid=project, number=2)
    while opened.count() < asked and time.monotonic() - began < within_s:
        time.sleep(0.1)
    return opened.count(), round(time.monotonic() - began, 1)


def reviews_since(project: str) -> int:
    """Decisions of the benchmark's lead."""
    from judging.models import BatchReview

    return BatchReview.objects.filter(batch__project__uuid=project, decided_by__isnull=False).count()


SIZES = {  # pairs, judgments, annotators, unless told otherwise
    "audit": (100_000, 300_000, 110),
    "overview": (1_000_000, 3_000_000, 200),
    "review": (1_000_000, 3_000_000, 200),
}
OPTIONS = {
    "audit": [("--events", 1_000_000, "decisions in the audit"), ("--answers", 20, "of each kind")],
    "overview": [("--answers", 200, "of each kind")],
    "review": [
        ("--queries", 1000, "that wait for a decision"),
        ("--decisions", 300, "one by one"),
        ("--pages", 60, "times that the queue is opened"),
    ],
}
MEASURED: dict[str, Callable[[Ground, argparse.Namespace], Pages]] = {
    "audit": audit,
    "overview": overview,
    "review": review,
}


if __name__ == "__main__":
    sys.exit(main())
