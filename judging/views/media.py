"""Previews, to those who may watch them."""

from typing import cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse

from annotation.models import User
from judging import selectors
from judging.views.ranges import file_answer

CACHE = "private, max-age=86400, immutable"


@login_required
def preview(request: HttpRequest, preview_uuid: UUID) -> FileResponse:
    """The GIF of a moment; 404 for everybody but its judges, leads and admins, and where it is an example."""
    moment = selectors.preview_visible_to(user=cast(User, request.user), preview=preview_uuid)
    if moment is None:
        raise Http404
    response = FileResponse(moment.preview.open("rb"), content_type="image/gif")
    response["Cache-Control"] = CACHE
    del response["Content-Disposition"]  # it would name the stored file
    return response


@login_required
def clip(request: HttpRequest, preview_uuid: UUID) -> HttpResponse | FileResponse:
    """The GIF's twin, an MP4 or a part of it, to the same people; 404 where there is none."""
    moment = selectors.preview_visible_to(user=cast(User, request.user), preview=preview_uuid)
    if moment is None or not moment.preview_clip:
        raise Http404
    response = file_answer(request, moment.preview_clip, "video/mp4")
    if response.status_code != 416:
        response["Cache-Control"] = CACHE
    return response
