"""What web processes see; summed over the processes of one host where PROMETHEUS_MULTIPROC_DIR names a folder."""

from time import monotonic
from typing import Any

from django.db import connection
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
LOOK_S = 2.0  # how often the pool is looked at, at most
POOL = {"size": "pool_size", "available": "pool_available", "waiting": "requests_waiting"}

disable_created_metrics()  # type: ignore[no-untyped-call]  # nobody asks when a figure was first counted
OWN = CollectorRegistry()
REQUESTS = Histogram(
    "momentjudge_request_seconds",
    "Time to answer a request, by the name of its route.",
    ["route", "method", "status"],
    buckets=BUCKETS,
    registry=OWN,
)
SLOW = Counter(
    "momentjudge_slow_queries",
    "SQL statements of requests that took longer than SLOW_QUERY_MS.",
    ["route"],
    registry=OWN,
)
POOLED = Gauge(
    "momentjudge_database_pool",
    "Connections of the processes' pools: size, available; and requests waiting for one.",
    ["what"],
    multiprocess_mode="livesum",
    registry=OWN,
)
_looked_at = 0.0


def request_observe(*, route: str, method: str, status: int, seconds: float) -> None:
    known = method if method in METHODS else "other"
    REQUESTS.labels(route, known, f"{status // 100}xx").observe(seconds)
    _pool_observe()


def _pool_observe() -> None:
    """Now and then: the figures change slowly, requests are many."""
    global _looked_at  # noqa: PLW0603
    now = monotonic()
    if now - _looked_at < LOOK_S:
        return
    _looked_at = now
    for what, value in pool_figures().items():
        POOLED.labels(what).set(value)


def pool_figures() -> dict[str, Any]:
    """Of this process's pool; none without one."""
    pools: dict[str, Any] = getattr(connection, "_connection_pools", {})
    pool = pools.get(connection.alias)
    stats = pool.get_stats() if pool is not None else {}
    return {what: stats.get(name, 0) for what, name in POOL.items()} if stats else {}
