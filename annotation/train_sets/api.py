"""Pseudo training sets for programs: ordered, watched, fetched, discarded."""

from typing import Any
from uuid import UUID

from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from accounts.access import STAFF, grant, grant_by, person_of
from annotation.models import TrainSet
from annotation.train_sets.models import TYPES
from annotation.train_sets.services import train_set_discard, train_set_start
from core.api import ApiView, CountField, Pages, body_of, paged
from core.api import Problem as REFUSED
from core.files import file_answer

QUERIES = {"type": "array", "items": {"type": "object"}, "description": "docs/data-formats.md lists its fields."}


class TrainFileOutput(serializers.Serializer[Any]):
    """A file, at an address that opens with the same token."""

    url = serializers.URLField()
    bytes = serializers.IntegerField()
    sha256 = serializers.CharField()


class TrainSetOutput(serializers.ModelSerializer[TrainSet]):
    """``done`` and ``total`` count what ``step`` is at; the files are null until the set is done."""

    similarity = serializers.CharField(source="measure.name", default=None, allow_null=True)
    json = serializers.SerializerMethodField()
    parquet = serializers.SerializerMethodField()

    class Meta:
        model = TrainSet
        fields = [
            *("uuid", "depth", "similarity", "state", "step", "done", "total", "error", "remark"),
            *("queries", "moments", "rows", "json", "parquet", "created_at", "finished_at"),
        ]
        extra_kwargs = {"remark": {"source": "warning"}}

    @extend_schema_field(TrainFileOutput(allow_null=True))
    def get_json(self, row: TrainSet) -> dict[str, Any] | None:
        return self._file(row, "json")

    @extend_schema_field(TrainFileOutput(allow_null=True))
    def get_parquet(self, row: TrainSet) -> dict[str, Any] | None:
        return self._file(row, "parquet")

    def _file(self, row: TrainSet, form: str) -> dict[str, Any] | None:
        if row.state != TrainSet.State.DONE:
            return None
        url = reverse(f"api:train-set-{form}", [row.uuid], request=self.context["request"])
        return {"url": url, "bytes": getattr(row, f"{form}_bytes"), "sha256": getattr(row, f"{form}_sha256")}


class TrainSetInput(serializers.Serializer[Any]):
    depth = CountField(help_text="So many of the most similar moments for each training query.")


class TrainSets(ApiView):
    pagination_class = Pages

    @extend_schema(operation_id="train_sets", responses={200: TrainSetOutput(many=True), 403: REFUSED})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Pseudo training sets of the project, newest first, and how far those at work are."""
        project = grant_by(request, project_uuid, STAFF).project
        return paged(request, self, project.train_sets.all(), TrainSetOutput)

    @extend_schema(
        operation_id="train_set_start",
        request=TrainSetInput,
        responses={201: TrainSetOutput, **dict.fromkeys((403, 409, 422), REFUSED)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Have a worker write a training set: ask until its state says done. One that is being written stays."""
        project = grant_by(request, project_uuid, STAFF).project
        depth = body_of(request, TrainSetInput)["depth"]
        row = train_set_start(project=project, depth=depth, actor=person_of(request))
        return Response(TrainSetOutput(row, context={"request": request}).data, status=201)


class OneTrainSet(ApiView):
    @extend_schema(operation_id="train_set", responses={200: TrainSetOutput, 403: REFUSED, 404: REFUSED})
    def get(self, request: Request, set_uuid: UUID) -> Response:
        """One training set, and how far it is."""
        return Response(TrainSetOutput(self._granted(request, set_uuid), context={"request": request}).data)

    @extend_schema(operation_id="train_set_discard", responses={204: None, **dict.fromkeys((403, 404, 409), REFUSED)})
    def delete(self, request: Request, set_uuid: UUID) -> Response:
        """Discard a training set with its files; one that is being written stops."""
        train_set_discard(train_set=self._granted(request, set_uuid), actor=person_of(request))
        return Response(status=204)

    def _granted(self, request: Request, set_uuid: UUID) -> TrainSet:
        row = get_object_or_404(TrainSet.objects.select_related("project", "measure"), uuid=set_uuid)
        grant(request, row.project, STAFF)
        return row


class TrainSetJson(ApiView):
    @extend_schema(operation_id="train_set_json", responses={(200, TYPES["json"]): QUERIES, 403: REFUSED, 404: REFUSED})
    def get(self, request: Request, set_uuid: UUID) -> HttpResponseBase:
        """The set in the published form."""
        return _file(request, set_uuid, "json")


class TrainSetParquet(ApiView):
    @extend_schema(
        operation_id="train_set_parquet",
        responses={(200, TYPES["parquet"]): OpenApiTypes.BINARY, 403: REFUSED, 404: REFUSED},
    )
    def get(self, request: Request, set_uuid: UUID) -> HttpResponseBase:
        """The same rows as Parquet, with ranks."""
        return _file(request, set_uuid, "parquet")


def _file(request: Request, set_uuid: UUID, form: str) -> HttpResponseBase:
    row = get_object_or_404(TrainSet.objects.select_related("project"), uuid=set_uuid, state=TrainSet.State.DONE)
    grant(request._request, row.project, STAFF)
    return file_answer(request._request, getattr(row, form), content_type=TYPES[form], filename=f"{row.name}.{form}")
