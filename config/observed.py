"""Every request has an id, a duration and a route: in the logs, in the metrics and in the answer."""

import re
from collections.abc import Callable
from time import perf_counter
from typing import Any
from uuid import uuid4

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from structlog.contextvars import bind_contextvars, clear_contextvars

from config.logs import NOTES
from config.metrics import process

HEADER = "X-Request-ID"
SANE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}")


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
        process.request_observe(
            route=route, method=request.method or "", status=response.status_code, seconds=perf_counter() - began
        )
        request.META[NOTES] = {"request_id": request_id, "route": route, **account_of(request)}
        return response

    def process_view(self, request: HttpRequest, view: object, args: object, kwargs: object) -> None:
        bind_contextvars(route=route_of(request))


def request_id_of(said: str) -> str:
    """The one that a proxy or a client gave, where it can be written down as it is; else a new one."""
    return said if SANE.fullmatch(said) else uuid4().hex


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
