"""Previews, to those who may watch them."""

from typing import cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase

from annotation.models import User
from annotation.stored import IMMUTABLE, file_answer
from judging import selectors


@login_required
def preview(request: HttpRequest, preview_uuid: UUID) -> HttpResponseBase:
    """The GIF of a moment; 404 for everybody but its judges, leads and admins, and where it is an example."""
    moment = selectors.preview_visible_to(user=cast(User, request.user), preview=preview_uuid)
    if moment is None:
        raise Http404
    return file_answer(request, moment.preview, content_type="image/gif", cache=IMMUTABLE)


@login_required
def clip(request: HttpRequest, preview_uuid: UUID) -> HttpResponseBase:
    """The GIF's twin, an MP4 or a part of it, to the same people; 404 where there is none."""
    moment = selectors.preview_visible_to(user=cast(User, request.user), preview=preview_uuid)
    if moment is None or not moment.preview_clip:
        raise Http404
    return file_answer(request, moment.preview_clip, content_type="video/mp4", cache=IMMUTABLE)
