"""Whether this process is alive, and whether it can work: asked by the proxy, by containers and by the supervisor.

Both answers come before hosts, redirects and sessions are looked at, as whoever asks may know an address alone.
"""

import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from typing import TypeVar

import psycopg
from django.apps import apps
from django.conf import settings
from django.core.files.storage import FileSystemStorage, default_storage
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase

from core.backup.database import connection_values
from core.observability.metrics import metrics

PATIENCE_S = 3.0  # for all checks together
CACHE_S = 1.0  # an answer is given again for so long: asking often costs nothing
OK = "ok"
logger = logging.getLogger(__name__)
_threads = ThreadPoolExecutor(max_workers=3, thread_name_prefix="readiness")
_last: tuple[float, dict[str, str]] = (0.0, {})


Answer = TypeVar("Answer", bound=HttpResponse)


class NotReady(Exception):
    """In words that may be shown to anybody."""


def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers; nothing else is asked."""
    return _unstored(HttpResponse("ok\n", content_type="text/plain"))


def readyz(request: HttpRequest) -> JsonResponse:
    """Database, broker and storage, each ``ok`` or what is wrong with it; 503 unless all are."""
    answers = readiness()
    return _unstored(JsonResponse(answers, status=200 if set(answers.values()) == {OK} else 503))


PROBES: dict[str, Callable[[HttpRequest], HttpResponse]] = {"/healthz": healthz, "/readyz": readyz, "/metrics": metrics}


class HealthMiddleware:
    """Before all that looks at hosts and people. /metrics has a token of its own."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        probe = PROBES.get(request.path_info)
        return probe(request) if probe else self.get_response(request)


def readiness() -> dict[str, str]:
    """Return the result of each check; they run at once, and one that is late counts as unanswered."""
    global _last  # noqa: PLW0603
    at, answers = _last
    if time.monotonic() - at > CACHE_S:
        futures = {name: _threads.submit(check) for name, check in CHECKS.items()}
        deadline = time.monotonic() + PATIENCE_S
        answers = {name: _answer(name, future, deadline) for name, future in futures.items()}
        _last = time.monotonic(), answers
    return answers


def _answer(name: str, future: Future[None], deadline: float) -> str:
    try:
        future.result(max(0.0, deadline - time.monotonic()))
    except NotReady as reason:
        return str(reason)
    except TimeoutError:
        future.cancel()
        return "no answer"
    except Exception as error:  # whatever it is, it is not ready; the words may hold addresses and stay in the log
        logger.warning("the %s is not ready: %s", name, type(error).__name__)
        return "not reachable"
    return OK


def database() -> None:
    """It answers a connection of its own, and holds every migration that this code knows."""
    with psycopg.connect(**connection_values(), connect_timeout=2, autocommit=True) as connection:
        try:
            applied = connection.execute("SELECT app, name FROM django_migrations").fetchall()
        except psycopg.errors.UndefinedTable as error:
            raise NotReady("not migrated") from error
    if wanted_migrations() - set(applied):  # more than are known is well: the next release's came first
        raise NotReady("not migrated")


@cache
def wanted_migrations() -> frozenset[tuple[str, str]]:
    """App and name of each migration, read from the names of files."""
    return frozenset(
        (config.label, module.name)
        for config in apps.get_app_configs()
        for module in iter_modules([os.path.join(config.path, "migrations")])
        if not module.name.startswith("_")
    )


def broker() -> None:
    import redis

    url = settings.CELERY_BROKER_URL.replace("redis+socket://", "unix://")
    with redis.Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2) as client:
        client.ping()


def storage() -> None:
    """A folder that can be written; object storage that answers."""
    if isinstance(default_storage, FileSystemStorage):
        folder = Path(default_storage.location)
        existing = next(path for path in (folder, *folder.parents) if path.exists())  # it is made with its first file
        if not os.access(existing, os.W_OK | os.X_OK):
            raise NotReady("cannot be written")
    else:
        default_storage.exists("readyz")


def _unstored(answer: Answer) -> Answer:
    answer["Cache-Control"] = "no-store"
    return answer


CHECKS: dict[str, Callable[[], None]] = {"database": database, "broker": broker, "storage": storage}
