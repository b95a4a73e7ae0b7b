"""Drawing queries for programs."""

from typing import Any, cast
from uuid import UUID

from django.http import QueryDict
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import STAFF, grant_by, person_of
from annotation.queries.forms import DrawForm
from annotation.queries.rules import LARGEST_SEED, NoSplit, Size, size_of
from annotation.queries.selectors import draft_of
from annotation.queries.services import queries_draw
from core.api import ApiView, CountField, Invalid, Problem, YesNoField, body_of, form_values

SIZE = "How many queries, 500, or a share of the texts, ``5%``."


@extend_schema_field({"oneOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]})
class SizeField(serializers.Field[Size, Any, Any, Any]):
    """A JSON integer, or a share of the texts such as ``"5%"``."""

    def to_internal_value(self, data: Any) -> Size:
        if type(data) not in (int, str):
            raise serializers.ValidationError("A size is a number of queries, or a share of the texts such as '5%'.")
        try:
            return size_of(str(data))
        except NoSplit as error:
            raise serializers.ValidationError(str(error)) from error


class DrawInput(serializers.Serializer[Any]):
    val = SizeField(help_text=f"Validation: {SIZE[0].lower()}{SIZE[1:]}")
    test = SizeField(help_text="Test: the same. All others train.")
    seed = CountField(max_value=LARGEST_SEED, help_text="The same seed and captions give the same queries.")
    again = YesNoField(required=False, help_text="Discard the queries there are, on which nothing may depend.")


class DrawOutput(serializers.Serializer[Any]):
    """Queries of each split, and captions that become none."""

    val = serializers.IntegerField()
    test = serializers.IntegerField()
    train = serializers.IntegerField()
    removed = serializers.IntegerField(help_text="Captions with the text of a validation or test query.")
    waiting = serializers.IntegerField(help_text="Captions that a person has still to decide about.")


class Draw(ApiView):
    @extend_schema(
        operation_id="queries_draft",
        parameters=[
            OpenApiParameter("val", str, required=True, description=SIZE),
            OpenApiParameter("test", str, required=True, description="The same."),
            OpenApiParameter("seed", OpenApiTypes.INT, required=True),
        ],
        responses={200: DrawOutput, **dict.fromkeys((403, 409, 422), Problem)},
    )
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Show what a draw would give now; nothing is drawn."""
        project = grant_by(request, project_uuid, STAFF).project
        query = cast(QueryDict, request.query_params).dict()
        if unknown := query.keys() - DrawForm.base_fields.keys():
            raise Invalid(f"There is no parameter {min(unknown)[:40]!r} here.")
        form = DrawForm(query)
        seed = form_values(form)["seed"]
        return Response(DrawOutput(draft_of(project.dataset.corpus_id, form.sizes(), seed).counts).data)

    @extend_schema(
        operation_id="queries_draw",
        request=DrawInput,
        responses={201: DrawOutput, **dict.fromkeys((403, 409, 422), Problem)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Draw the project's queries from the captions of its corpus."""
        project = grant_by(request, project_uuid, STAFF).project
        body = body_of(request, DrawInput)
        sizes = {split: body.pop(split) for split in ("val", "test")}
        counts = queries_draw(project=project, sizes=sizes, actor=person_of(request), **body)
        return Response(DrawOutput(counts).data, status=201)
