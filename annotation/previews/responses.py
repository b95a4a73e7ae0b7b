"""Answers with a video or a stored poster. The web process makes no poster: it orders those that are missing."""

import mimetypes

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from annotation.models import Moment, Video
from annotation.previews.services import poster_request
from core.files import file_answer

VIDEO_CACHED = "private, max-age=86400"
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


def video_answer(request: HttpRequest, video: Video) -> HttpResponseBase:
    """Return the answer with what browsers play of a video; Http404 where its file is not there."""
    file = video.playable
    if not file or not file.storage.exists(str(file.name)):
        raise Http404
    kind = mimetypes.guess_type(str(file.name))[0] or ""
    kind = kind if kind.startswith("video/") else "application/octet-stream"
    return file_answer(request, file, content_type=kind, cache=VIDEO_CACHED)
