"""Headers of every answer, whatever gives it: pages, refusals, static files, media. The length is one of them."""

from collections.abc import Callable
from http import HTTPStatus
from typing import cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

BODILESS = {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": settings.SECURE_REFERRER_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": settings.X_FRAME_OPTIONS,
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",  # where no other was set
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in settings.FEATURES_REFUSED),
}


class HeadersMiddleware:
    """What the browser must not do with an answer, and how long it is. It stands outside of the others, so that it
    misses none, and what they made of the content is final."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
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
