"""/metrics, for whoever holds METRICS_TOKEN; without that setting there is no such page."""

import os
from functools import cache
from secrets import compare_digest

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from config.metrics.process import OWN
from config.metrics.site import SiteCollector


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
    told = generate_latest(_of_processes()) + generate_latest(_of_site())
    answer = HttpResponse(told, content_type=CONTENT_TYPE_LATEST)
    answer["Cache-Control"] = "no-store"
    return answer


def _allowed(said: str) -> bool:
    kind, _, token = said.partition(" ")
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
