"""Addresses of 0.1.0 that have become others: links lead to the page, and forms of a page still open arrive."""

from typing import Any

from django.http import HttpRequest, HttpResponsePermanentRedirect
from django.urls import URLPattern, path, reverse

MOVED = {
    "sittings/<uuid:project_uuid>/start/": "attempt-start",
    "sittings/<uuid:sitting_uuid>/": "attempt",
    "sittings/<uuid:sitting_uuid>/last-look/": "attempt-look",
    "sittings/<uuid:sitting_uuid>/hand-in/": "attempt-hand-in",
    "sittings/<uuid:sitting_uuid>/missed/": "missed-exam",
    "sittings/<uuid:sitting_uuid>/missed/count/": "missed-exam-count",
    "gate/<uuid:project_uuid>/": "screening",
    "gate/<uuid:project_uuid>/start/": "screening-start",
    "gate/<uuid:project_uuid>/answer/": "screening-answer",
    "gate/<uuid:project_uuid>/questions/": "screening-questions",
    "gate/<uuid:project_uuid>/questions/new/": "screening-question-new",
    "gate/<uuid:project_uuid>/questions/create/": "screening-question-create",
    "gate/<uuid:project_uuid>/questions/preview/": "screening-preview",
    "gate/<uuid:project_uuid>/questions/open/": "screening-set",
    "gate-questions/<uuid:question_uuid>/": "screening-question",
    "gate-questions/<uuid:question_uuid>/change/": "screening-question-change",
    "gate-questions/<uuid:question_uuid>/retire/": "screening-question-retire",
    "people/<uuid:project_uuid>/<int:number>/standing/": "person-status",
}


def moved(request: HttpRequest, name: str, **identifiers: Any) -> HttpResponsePermanentRedirect:
    """Send the browser to the address of this name: by 301, or by 308 with what a form holds."""
    url = reverse(f"judging:{name}", args=list(identifiers.values()))
    query = f"?{request.META['QUERY_STRING']}" if request.META.get("QUERY_STRING") else ""
    return HttpResponsePermanentRedirect(url + query, preserve_request=request.method not in ("GET", "HEAD"))


urlpatterns: list[URLPattern] = [path(address, moved, {"name": name}) for address, name in MOVED.items()]
