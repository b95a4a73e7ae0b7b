"""Previews, to those who may watch them."""

from typing import cast
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import FileResponse, HttpRequest
from django.shortcuts import get_object_or_404

from annotation.models import User
from judging import selectors

CACHE = "private, max-age=86400, immutable"


@login_required
def preview(request: HttpRequest, preview_uuid: UUID) -> FileResponse:
    """The GIF of a moment; 404 for everybody but its judges, leads and admins, and where it is an example."""
    visible = selectors.previews_visible_to(cast(User, request.user))
    moment = get_object_or_404(visible, preview_uuid=preview_uuid)
    response = FileResponse(moment.preview.open("rb"), content_type="image/gif")
    response["Cache-Control"] = CACHE
    del response["Content-Disposition"]  # it would name the stored file
    return response
