"""The answer with a stored poster. The web process makes none: it orders those that are missing."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from annotation.models import Moment, Video
from annotation.previews.services import poster_request
from core.files import file_answer

NO_PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 180"><g fill="none" stroke="#8a94a6" stroke-width="3">'
    '<rect x="120" y="62" width="80" height="56" rx="6"/><path d="m150 78 24 12-24 12z"/></g></svg>'
)


def poster_answer(request: HttpRequest, row: Video | Moment, *, cache: str) -> HttpResponseBase | None:
    """Return the answer with the poster of a video or moment; None where there is none yet, which a task makes then."""
    if row.poster:
        return file_answer(request, row.poster, content_type="image/jpeg", cache=cache)
    poster_request(row)
    return None


def no_poster() -> HttpResponse:
    """Return the answer with an empty frame, which no browser keeps."""
    return HttpResponse(NO_PICTURE, content_type="image/svg+xml", headers={"Cache-Control": "no-store"})
