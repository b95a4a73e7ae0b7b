"""Rules for every request and answer: headers, the body of a refused request, and no files where none are taken.

Whoever still sends when the connection closes never sees why they are refused, so the rest of the body is read.
"""

import contextlib
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, cast

from django.conf import settings
from django.core.exceptions import TooManyFilesSent
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from core.files import uploads_discard

PIECE = 64 * 1024
MOST = 32 * 2**20  # who sends more loses the connection
BODILESS = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}
POLICY = "Content-Security-Policy"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": settings.SECURE_REFERRER_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": settings.X_FRAME_OPTIONS,
    POLICY: "default-src 'none'; frame-ancestors 'none'",  # of what is no page
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in settings.FEATURES_REFUSED),
}


class UnreadBodyMiddleware(MiddlewareMixin):
    """Removes what a refused request has sent as files; reads and discards what it still sends."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if response.status_code >= 400:
            uploads_discard(request)
            stream, n_left = unread(request), MOST
            with contextlib.suppress(OSError):  # the client is gone
                while n_left > 0 and (piece := stream.read(PIECE)):
                    n_left -= len(piece)
        return response


def unread(request: HttpRequest) -> Any:
    """The stream of the body. Django takes one without a length for empty; the server knows where it ends."""
    is_chunked = "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH")
    return request.META["wsgi.input"] if is_chunked and request.META.get("wsgi.input_terminated") else request


class HeadersMiddleware:
    """Headers for what the browser must not do with an answer, and its length. It stands outside of the others, so that
    it misses none, and what they made of the content is final."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault(POLICY, settings.CONTENT_SECURITY_POLICY)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if not response.streaming:
            length_set(request, cast(HttpResponse, response))
        return response


def length_set(request: HttpRequest, response: HttpResponse) -> None:
    """Announce the length of the content as it is now: whoever replaced it further inside need not think of it.

    Where nothing is sent nothing is announced, as RFC 9110 (8.6) wants it: a 304 has the length of its 200. An answer
    to HEAD without content keeps what it says of the one to GET.
    """
    if response.status_code in BODILESS:
        response.headers.pop("Content-Length", None)
    elif response.content or request.method != "HEAD":
        response.headers["Content-Length"] = str(len(response.content))
    else:
        response.headers.setdefault("Content-Length", "0")


class NoFiles(FileUploadHandler):
    """Refuses the first file of a form."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        raise TooManyFilesSent("This page takes no files.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        return None

    def file_complete(self, file_size: int) -> None:
        return None
