"""Previews of moments, sent to those who may watch them."""

from typing import cast
from uuid import UUID

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase

from accounts.models import User
from core.files import IMMUTABLE, file_answer
from judging.work.selectors.annotator import preview_visible_to


def preview_gif(request: HttpRequest, preview_uuid: UUID) -> HttpResponseBase:
    """Send the GIF of a moment; 404 for all but its judges, leads and admins, and where it is an example."""
    moment = preview_visible_to(user=cast(User, request.user), preview=preview_uuid)
    if moment is None:
        raise Http404
    return file_answer(request, moment.preview, content_type="image/gif", cache=IMMUTABLE)


def preview_mp4(request: HttpRequest, preview_uuid: UUID) -> HttpResponseBase:
    """Send the same moment as an MP4, or a part of it, to the same people; 404 where there is none."""
    moment = preview_visible_to(user=cast(User, request.user), preview=preview_uuid)
    if moment is None or not moment.preview_clip:
        raise Http404
    return file_answer(request, moment.preview_clip, content_type="video/mp4", cache=IMMUTABLE)
