"""Routes that end as their name says, behind all the middleware of the site."""

import errno
import io
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import OperationalError
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import condition, require_POST
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from config.urls import handler400, handler403, handler404, handler500
from config.urls import urlpatterns as of_the_site
from core.api import ApiView, BodyTooLarge, Invalid, LengthMissing
from core.exceptions import Busy, ImportRefused, NotPossible, StorageFull, StorageUnavailable, TooLarge, TooOften

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]

LARGE = b"a line of 16 b.\n" * (4 * 2**20 // 16)
PIECES = (b"some", b" of it, ", b"and the rest" * 10_000)

# What an endpoint raises, and what any view may: the name begins with the status that it becomes.
OF_ENDPOINTS: dict[str, Callable[[], Exception]] = {
    "400-parse": exceptions.ParseError,
    "401-nobody": exceptions.NotAuthenticated,
    "403-role": exceptions.PermissionDenied,
    "404-rest": exceptions.NotFound,
    "405-method": lambda: exceptions.MethodNotAllowed("PUT"),
    "406-accept": exceptions.NotAcceptable,
    "411-length": LengthMissing,
    "413-body": BodyTooLarge,
    "415-type": lambda: exceptions.UnsupportedMediaType("text/plain"),
    "422-invalid": lambda: Invalid("Send a JSON object."),
    "429-throttled": lambda: exceptions.Throttled(wait=5),
}
OF_VIEWS: dict[str, Callable[[], Exception]] = {
    "400-suspicious": lambda: SuspiciousOperation("no"),
    "403-forbidden": PermissionDenied,
    "404-missing": Http404,
    "409-state": lambda: NotPossible("It is over."),
    "413-form": lambda: RequestDataTooBig("no"),
    "413-file": lambda: TooLarge("The file is too large."),
    "422-import": lambda: ImportRefused("Line 3 is not a pair."),
    "429-often": lambda: TooOften("Wait a while."),
    "500-fault": lambda: RuntimeError("a fault"),
    "503-busy": lambda: Busy("Later."),
    "503-storage": StorageUnavailable,
    "503-database": lambda: OperationalError("away"),
    "507-storage": StorageFull,
    "507-disk": lambda: OSError(errno.ENOSPC, "No space left on device"),
}


class Endpoint(ApiView):
    permission_classes = ()

    def get(self, request: Request, name: str) -> Response:
        if name == "200-json":
            return Response({"a": ["b"] * 500})
        if name == "204-nothing":
            return Response(status=204)
        raise (OF_ENDPOINTS | OF_VIEWS)[name]()


def view(request: HttpRequest, name: str) -> HttpResponse:
    """A plain view; below /api/ what it raises becomes JSON by the middleware."""
    if name == "200-page":
        return HttpResponse("<p>é</p>" * 300)
    raise OF_VIEWS[name]()


@require_POST
def posts_only(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


def changed(request: HttpRequest) -> HttpResponse:
    """Refused with a long page of HTML that the middleware replaces by a short line of JSON."""
    return HttpResponse("<p>long</p>" * 500, status=404)


@condition(etag_func=lambda request: '"always-this"')
def unchanged(request: HttpRequest) -> HttpResponse:
    return HttpResponse("a page that was seen")


def download(request: HttpRequest) -> FileResponse:
    return FileResponse(io.BytesIO(b"".join(PIECES)), as_attachment=True, filename="rows.csv")


def streamed(request: HttpRequest) -> StreamingHttpResponse:
    """Its length is known when it ends."""

    def pieces() -> Iterator[bytes]:
        yield from PIECES

    return StreamingHttpResponse(pieces(), content_type="text/csv")


def large(request: HttpRequest) -> HttpResponse:
    return HttpResponse(LARGE)


def endless(request: HttpRequest) -> StreamingHttpResponse:
    """More than a web server keeps for a client that does not read."""
    return StreamingHttpResponse((LARGE for _ in range(8)), content_type="text/csv")


def json(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


@csrf_exempt
def echo(request: HttpRequest) -> JsonResponse:
    """Return the request as the server saw it."""
    names = ("RAW_URI", "REMOTE_ADDR", "HTTP_X_FORWARDED_FOR", "wsgi.url_scheme")
    body = sha256(request.body).hexdigest()
    return JsonResponse({"body": body, **{name: request.META.get(name) for name in names}})


def latch(request: HttpRequest, name: str) -> HttpResponse:
    """Answers when a file of this name and ``.open`` is there; one with ``.begun`` says that the request is."""
    folder = Path(settings.MOMENTJUDGE_VAR)
    (folder / f"{name}.begun").touch()
    while not (folder / f"{name}.open").exists():
        time.sleep(0.01)
    return HttpResponse("open")


here: list[Any] = [
    path("echo/", echo),
    path("latch/<slug:name>/", latch),
    path("api/endpoint/<str:name>/", Endpoint.as_view()),
    path("api/view/<str:name>/", view),
    path("api/changed/", changed),
    path("page/<str:name>/", view),
    path("posts-only/", posts_only),
    path("unchanged/", unchanged),
    path("download/", download),
    path("streamed/", streamed),
    path("large/", large),
    path("endless/", endless),
    path("json/", json),
]
urlpatterns = here + of_the_site

ANSWERS: list[tuple[str, int]] = [  # every kind: its address and its status
    *((f"/api/endpoint/{name}/", int(name[:3])) for name in [*OF_ENDPOINTS, *OF_VIEWS, "200-json", "204-nothing"]),
    *((f"/{where}/{name}/", int(name[:3])) for where in ("api/view", "page") for name in [*OF_VIEWS, "200-page"]),
    ("/api/changed/", 404),
    ("/api/nowhere/", 404),
    ("/nowhere/", 404),
    ("/posts-only/", 405),
    ("/json", 301),
    ("/json/", 200),
    ("/unchanged/", 200),
    ("/download/", 200),
    ("/streamed/", 200),
    ("/healthz", 200),
]
