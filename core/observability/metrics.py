"""/metrics, for whoever holds METRICS_TOKEN: what web processes and workers count, and what the tables say.

Of the database and the broker every host answers the same, so take the largest. Only counts that are kept anyway are
read, few rows each, and an answer is given again for some seconds.
"""

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from secrets import compare_digest
from typing import Any

from celery import current_app
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from core.observability import tasks
from core.observability.requests import OWN

CACHE_S = 4.0
UP_S = 60.0  # a worker that was not heard of for so long is not up
GONE_S = 24 * 3600.0  # nor is it spoken of after so long
logger = logging.getLogger(__name__)
CONNECTIONS = """
SELECT coalesce(state, 'unknown'), count(*) FROM pg_stat_activity WHERE datname = current_database() GROUP BY 1"""
SIZE = "SELECT pg_database_size(current_database())"
Rows = Callable[[str], list[tuple[Any, ...]]]  # runs a statement
Figures = Callable[[Rows], Iterable[Metric]]
_figures_of_apps: list[Figures] = []


def register_figures(figures: Figures) -> None:
    """Add an app's own figures of the database to every answer."""
    _figures_of_apps.append(figures)


def metrics(request: HttpRequest) -> HttpResponse:
    """Figures as Prometheus reads them."""
    if not settings.METRICS_TOKEN:
        return _plain("There is nothing here.\n", 404)
    if not _allowed(request.headers.get("Authorization", "")):
        refused = _plain("Send METRICS_TOKEN as a bearer token.\n", 401)
        refused["WWW-Authenticate"] = "Bearer"
        return refused
    if request.method not in ("GET", "HEAD"):
        return _plain("Only to be read.\n", 405)
    text = generate_latest(_of_processes()) + generate_latest(_of_site())
    answer = HttpResponse(text, content_type=CONTENT_TYPE_LATEST)
    answer["Cache-Control"] = "no-store"
    return answer


def _allowed(header: str) -> bool:
    kind, _, token = header.partition(" ")
    return kind.lower() == "bearer" and compare_digest(token.strip().encode(), settings.METRICS_TOKEN.encode())


def _of_processes() -> CollectorRegistry:
    """Of all web processes of this host, of those too that have ended; of this one alone without a common folder."""
    if not os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        return OWN
    all_of_them = CollectorRegistry()
    MultiProcessCollector(all_of_them)  # type: ignore[no-untyped-call]
    return all_of_them


@cache
def _of_site() -> CollectorRegistry:
    registry = CollectorRegistry()
    registry.register(SiteCollector())
    return registry


def _plain(words: str, status: int) -> HttpResponse:
    answer = HttpResponse(words, status=status, content_type="text/plain")
    answer["Cache-Control"] = "no-store"
    return answer


class SiteCollector:
    """Asked by prometheus_client at each scrape."""

    def __init__(self) -> None:
        self.read_at, self.metrics = float("-inf"), list[Metric]()

    def collect(self) -> Iterator[Metric]:
        if time.monotonic() - self.read_at > CACHE_S:
            self.metrics = list(figures())
            self.read_at = time.monotonic()
        yield from self.metrics

    def describe(self) -> list[Metric]:
        """Nothing is asked of anybody to be registered."""
        return []


def figures() -> Iterator[Metric]:
    """Of the database, then of the broker; an unavailable one is reported as such, beside the figures of the other."""
    up = GaugeMetricFamily("momentjudge_up", "Whether the part answered this scrape.", labels=["part"])
    for part, ask in (("database", of_database), ("broker", of_broker)):
        answer = _answer_of(part, ask)
        up.add_metric([part], float(answer is not None))
        yield from answer or []
    yield up


def _answer_of(part: str, ask: Callable[[], Iterable[Metric]]) -> list[Metric] | None:
    try:
        return list(ask())
    except Exception as error:  # a scrape must not fail where the site is in need
        logger.warning("no figures of the %s: %s", part, type(error).__name__)
        return None


# The database


def of_database() -> Iterator[Metric]:
    with connection.cursor() as cursor:

        def rows(statement: str) -> list[tuple[Any, ...]]:
            cursor.execute(statement)
            return list(cursor.fetchall())

        for app_figures in _figures_of_apps:
            yield from app_figures(rows)
        label = "Connections to the database, by what they do."
        yield gauges("momentjudge_database_connections", label, ["state"], [((s,), n) for s, n in rows(CONNECTIONS)])
        yield GaugeMetricFamily("momentjudge_database_bytes", "Size of the database on disk.", value=rows(SIZE)[0][0])


# The broker


def of_broker() -> Iterator[Metric]:
    queues = queue_names()
    with tasks.broker().pipeline(transaction=False) as pipe:
        for queue in queues:
            pipe.llen(queue)
        pipe.hlen("unacked")
        pipe.hgetall(tasks.COUNTS)
        pipe.hgetall(tasks.SEEN)
        *lengths, unacked, counts, raw_heartbeats = pipe.execute()
    waiting = [((queue,), n) for queue, n in zip(queues, lengths, strict=True)]
    yield gauges("momentjudge_queue_length", "Tasks that wait in a queue.", ["queue"], waiting)
    yield GaugeMetricFamily("momentjudge_tasks_taken", "Tasks that workers have taken and not finished.", value=unacked)
    yield from counters(_text(counts))
    now, heartbeats = time.time(), _text(raw_heartbeats)
    for host in [host for host, heartbeat in heartbeats.items() if silent_s(heartbeat, now) >= GONE_S]:
        tasks.worker_forget(host)  # its container was replaced: no other process would
        del heartbeats[host]
    yield from workers(heartbeats, now=now)


def queue_names() -> list[str]:
    """Return the queues that some task waits in, sorted."""
    return sorted({route["queue"] for route in current_app.conf.task_routes.values()})


def counters(counts: dict[str, str]) -> Iterator[Metric]:
    runs = CounterMetricFamily("momentjudge_task_runs", "Tasks that ended, well or not.", labels=["task"])
    failures = CounterMetricFamily("momentjudge_task_failures", "Tasks that failed for good.", labels=["task"])
    retries = CounterMetricFamily("momentjudge_task_retries", "Tasks that will be tried again.", labels=["task"])
    seconds = CounterMetricFamily("momentjudge_task_seconds", "Time that tasks took.", labels=["task"])
    families = {tasks.RUNS: runs, tasks.FAILURES: failures, tasks.RETRIES: retries, tasks.MILLISECONDS: seconds}
    for field, n in sorted(counts.items()):
        what, _, task = field.partition("|")
        if what in families:
            families[what].add_metric([task], float(n) / 1000 if what == tasks.MILLISECONDS else float(n))
    yield from families.values()


def workers(heartbeats: dict[str, str], *, now: float) -> Iterator[Metric]:
    silent, up = [], dict.fromkeys(queue_names(), 0)
    for host, heartbeat in sorted(heartbeats.items()):
        age = silent_s(heartbeat, now)
        silent.append(((host,), age))
        for queue in filter(None, heartbeat.partition("|")[2].split(",")):
            up[queue] = up.get(queue, 0) + (age < UP_S)
    yield gauges("momentjudge_worker_silent_seconds", "Since a worker was last heard of.", ["worker"], silent)
    yield gauges("momentjudge_workers", "Workers that are up, by queue.", ["queue"], [((q,), n) for q, n in up.items()])


def silent_s(heartbeat: str, now: float) -> float:
    return max(0.0, now - float(heartbeat.partition("|")[0]))


def _text(answer: dict[bytes, bytes]) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in answer.items()}


def gauges(name: str, words: str, labels: list[str], values: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    family = GaugeMetricFamily(name, words, labels=labels)
    for names, value in values:
        family.add_metric(list(names), float(value))
    return family
