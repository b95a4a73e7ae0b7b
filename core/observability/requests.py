"""Records of web processes on requests and slow SQL: an id, a duration and a route in logs, metrics and answers.

Processes of one host are summed where PROMETHEUS_MULTIPROC_DIR names a folder.
"""

import logging
import re
from collections.abc import Callable
from time import monotonic, perf_counter
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import connection
from django.db.backends.signals import connection_created
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from structlog.contextvars import bind_contextvars, clear_contextvars, get_contextvars

from core.observability.logs import NOTES

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
LOOK_S = 2.0  # how often the pool is looked at, at most
POOL = {"size": "pool_size", "available": "pool_available", "waiting": "requests_waiting"}

disable_created_metrics()  # type: ignore[no-untyped-call]  # when a figure was first counted is never asked
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
HEADER = "X-Request-ID"
SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}")
LONGEST = 400
STRINGS = re.compile(r"'(?:[^']|'')*'")
logger = logging.getLogger(__name__)


def request_observe(*, route: str, method: str, status: int, seconds: float) -> None:
    label = method if method in METHODS else "other"
    REQUESTS.labels(route, label, f"{status // 100}xx").observe(seconds)
    _pool_observe()


def _pool_observe() -> None:
    """Now and then: the figures change slowly, requests are many."""
    global _looked_at  # noqa: PLW0603
    now = monotonic()
    if now - _looked_at < LOOK_S:
        return
    _looked_at = now
    pool = getattr(connection, "_connection_pools", {}).get(connection.alias)
    if stats := pool.get_stats() if pool is not None else {}:
        for what, name in POOL.items():
            POOLED.labels(what).set(stats.get(name, 0))


class ObservedMiddleware:
    """The first of all: what is refused by the others is observed too."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        request_id = request_id_of(request.headers.get(HEADER, ""))
        request.request_id = request_id  # type: ignore[attr-defined]
        clear_contextvars()  # of what this thread did before
        bind_contextvars(request_id=request_id)
        began = perf_counter()
        try:
            response = self.get_response(request)
        finally:
            clear_contextvars()
        response.headers[HEADER] = request_id
        route = route_of(request)
        method, seconds = request.method or "", perf_counter() - began
        request_observe(route=route, method=method, status=response.status_code, seconds=seconds)
        request.META[NOTES] = {"request_id": request_id, "route": route, **account_of(request)}
        return response

    def process_view(self, request: HttpRequest, view: object, args: object, kwargs: object) -> None:
        bind_contextvars(route=route_of(request))


def request_id_of(header: str) -> str:
    """The one that a proxy or a client gave, where it can be written down as it is; else a new one."""
    return header if SANE.fullmatch(header) else uuid4().hex


def route_of(request: HttpRequest) -> str:
    """The name of a route: few there are, and none names an object."""
    if request.resolver_match is not None:
        return request.resolver_match.view_name or "unnamed"
    if request.path_info.startswith("/static/"):
        return "static"
    return {"/healthz": "healthz", "/readyz": "readyz", "/metrics": "metrics"}.get(request.path_info, "unknown")


def account_of(request: HttpRequest) -> dict[str, Any]:
    """Who asked, by the number of their account, where that was looked up anyway."""
    user = getattr(request, "_cached_user", None)
    return {"account": user.pk} if user is not None and user.is_authenticated else {}


def watch(connection: Any, **more: Any) -> None:
    """Every statement of this connection is timed, unless SLOW_QUERY_MS is 0."""
    if settings.SLOW_QUERY_MS and timed not in connection.execute_wrappers:
        connection.execute_wrappers.append(timed)


def timed(execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
    began = perf_counter()
    try:
        return execute(sql, params, many, context)
    finally:
        took_ms = 1000 * (perf_counter() - began)
        if took_ms >= settings.SLOW_QUERY_MS:
            note(str(sql), took_ms)


def note(sql: str, took_ms: float) -> None:
    context = get_contextvars()
    caller = str(context.get("route") or context.get("task") or "")
    if "route" in context:
        SLOW.labels(caller).inc()
    words = {"duration_ms": round(took_ms, 1), "statement": without_values(sql)}
    logger.warning("a statement took %.0f ms (%s)", took_ms, caller or "no request", extra=words)


def without_values(sql: str) -> str:
    """The statement on one line, shortened, with its placeholders; a text written into it is left out, too."""
    return STRINGS.sub("'...'", " ".join(sql.split()))[:LONGEST]


def begin() -> None:
    connection_created.connect(watch, dispatch_uid="core.observability.requests")
