"""Routes of judging; and addresses of 0.1.0 that have become others: old links and forms of open pages arrive."""

from typing import Any

from django.http import HttpRequest, HttpResponsePermanentRedirect
from django.urls import path, reverse

from judging.audit.urls import urlpatterns as audit
from judging.checking.urls import urlpatterns as checking
from judging.collection.urls import urlpatterns as collection
from judging.figures.urls import urlpatterns as figures
from judging.guidelines.urls import urlpatterns as guidelines
from judging.imports.urls import urlpatterns as imports
from judging.pay.urls import urlpatterns as pay
from judging.people.urls import urlpatterns as people
from judging.projects.urls import urlpatterns as projects
from judging.qualification.urls import urlpatterns as qualification
from judging.quality.urls import urlpatterns as quality
from judging.releases.urls import urlpatterns as releases
from judging.review.urls import urlpatterns as review
from judging.studies.urls import urlpatterns as studies
from judging.verification.urls import urlpatterns as verification
from judging.webhooks.urls import urlpatterns as webhooks
from judging.work.urls import urlpatterns as work

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


app_name = "judging"
urlpatterns = [
    *work,
    *studies,
    *qualification,
    *figures,
    *imports,
    *review,
    *projects,
    *audit,
    *webhooks,
    *collection,
    *checking,
    *verification,
    *people,
    *pay,
    *quality,
    *guidelines,
    *releases,
    *(path(address, moved, {"name": name}) for address, name in MOVED.items()),
]
