"""The files of a training set, to those who may read them."""

from uuid import UUID

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404

from accounts.access import STAFF, grant
from annotation.models import TrainSet
from core.files import file_answer

TYPES = {"json": "application/json", "parquet": "application/vnd.apache.parquet"}


def train_set_file(request: HttpRequest, set_uuid: UUID, form: str) -> HttpResponseBase:
    """Send one of the files, read from the storage as it is sent; 404 until they are written, and for strangers."""
    row = get_object_or_404(TrainSet.objects.select_related("project"), uuid=set_uuid)
    grant(request, row.project, STAFF)
    if row.state != TrainSet.State.DONE:
        raise Http404
    return file_answer(request, getattr(row, form), content_type=TYPES[form], filename=f"{row.name}.{form}")
