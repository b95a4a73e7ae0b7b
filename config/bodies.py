"""The body of a refused request: the files that came with it go at once, and the rest of it is read.

Whoever still sends when the connection closes never sees why.
"""

import contextlib
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

from core.files import uploads_discard

PIECE = 64 * 1024
MOST = 32 * 2**20  # who sends more loses the connection


class UnreadBodyMiddleware(MiddlewareMixin):
    """Removes what a refused request has sent as files; reads what it still sends, and throws it away."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if response.status_code >= 400:
            uploads_discard(request)
            with contextlib.suppress(OSError):  # the client is gone
                throw_away(unread(request))
        return response


def unread(request: HttpRequest) -> Any:
    """The stream of the body. Django takes one without a length for empty; the server knows where it ends."""
    if is_chunked(request) and request.META.get("wsgi.input_terminated"):
        return request.META["wsgi.input"]
    return request


def is_chunked(request: HttpRequest) -> bool:
    return "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH")


def throw_away(stream: Any) -> None:
    left = MOST
    while left > 0 and (piece := stream.read(PIECE)):
        left -= len(piece)
