"""SQL that takes long is logged, with the route or task that asked and without what it asked for."""

import logging
import re
from collections.abc import Callable
from time import perf_counter
from typing import Any

from django.conf import settings
from django.db.backends.signals import connection_created
from structlog.contextvars import get_contextvars

from config.metrics import process

LONGEST = 400
STRINGS = re.compile(r"'(?:[^']|'')*'")
logger = logging.getLogger(__name__)


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
    known = get_contextvars()
    asked_by = str(known.get("route") or known.get("task") or "")
    if "route" in known:
        process.SLOW.labels(asked_by).inc()
    words = {"duration_ms": round(took_ms, 1), "statement": without_values(sql)}
    logger.warning("a statement took %.0f ms (%s)", took_ms, asked_by or "no request", extra=words)


def without_values(sql: str) -> str:
    """The statement on one line, shortened, with its placeholders; a text written into it is left out, too."""
    return STRINGS.sub("'...'", " ".join(sql.split()))[:LONGEST]


def begin() -> None:
    connection_created.connect(watch, dispatch_uid="config.slow_queries")
