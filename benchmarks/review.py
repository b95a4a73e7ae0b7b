"""How long the lead's review takes over many queued queries, on a site of its own.

    python benchmarks/review.py --queries 1000 --pairs 1000000 --judgments 3000000 --annotators 200 --json

One lead opens the queue, decides by key (each answer brings the next case), takes decisions back, looks at the preview
of accepting suggestions together, and accepts as many as go at once. Method and figures: docs/benchmarks/review.md.
Exit status 1: a 95th percentile of page, decision or undo is above 150 ms, or the rows are not what was said.
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

WANTED_MS = 150.0
WARM_UP = 8  # every process and thread of the web server has answered
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
class Result:
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
    def good(self) -> bool:
        return max(figures["p95_ms"] for figures in (self.page, self.more, self.decision, self.undo)) <= WANTED_MS


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=1000, help="that wait for a decision (1000)")
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--judgments", type=int, default=3_000_000)
    parser.add_argument("--annotators", type=int, default=200)
    parser.add_argument("--decisions", type=int, default=300, help="one by one (300)")
    parser.add_argument("--pages", type=int, default=60, help="times that the queue is opened (60)")
    parser.add_argument("--json", action="store_true", help="one JSON line")
    options = parser.parse_args(argv)
    if options.queries < options.decisions + 20:
        parser.error("--queries must be more than --decisions")
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
    queue_fill(options.queries)
    lead = Lead(site.port)
    lead.log_in()
    path = f"/review/{told.project}/"
    for _ in range(WARM_UP):
        lead.open(path)
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
    second, opened_s = second_batches(told.project)
    expected = len(decided) - len(undo.seconds) + accepted
    if (found := reviews_since(told.project)) != expected:
        raise RuntimeError(f"{found} decisions instead of {expected}")
    return Result(
        queries=options.queries,
        pairs=told.rows["judging_pair"],
        judgments=told.rows["judging_judgment"],
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
        load_before=round(load, 2),
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


if __name__ == "__main__":
    sys.exit(main())
