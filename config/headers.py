"""Headers of every answer, whatever gives it: pages, refusals, static files, media."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

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
    """What the browser must not do with an answer. It stands outside of the others, so that it misses none."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response
