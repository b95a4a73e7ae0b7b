"""Written queries and their checks, for programs of checkers; leads and admins read them."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import CHECKER, READERS, grant, grant_by, person_of
from core.api import ApiView, ChoiceOfField, Pages, Problem, body_of, paged
from judging.checking import services
from judging.collection.selectors import queries_of
from judging.models import QueryCheck, WrittenQuery


class CheckOutput(serializers.ModelSerializer[QueryCheck]):
    """The decision of a checker about a query; without the name of the checker."""

    class Meta:
        model = QueryCheck
        fields = ["uuid", "decision", "reason", "note", "start_s", "end_s", "created_at"]


class WrittenQueryOutput(serializers.ModelSerializer[WrittenQuery]):
    """A query as it was submitted, and its check where it has one; without the name of the writer."""

    video = serializers.CharField(source="clip.video.name")
    round = serializers.UUIDField(source="clip.round.uuid")
    checks = CheckOutput(source="check_in_force", many=True)

    class Meta:
        model = WrittenQuery
        fields = ["uuid", "text", "type", "start_s", "end_s", "video", "round", "state", "checks", "created_at"]


class CheckInput(serializers.Serializer[Any]):
    """A decision about a query. Seconds are needed to correct its bounds, a reason to reject it."""

    decision = ChoiceOfField(QueryCheck.Decision.values)
    reason = ChoiceOfField(QueryCheck.Reason.values, required=False)
    note = serializers.CharField(required=False, allow_blank=True, max_length=500)
    start_s = serializers.FloatField(required=False)
    end_s = serializers.FloatField(required=False)


class WrittenQueries(ApiView):
    pagination_class = Pages

    @extend_schema(operation_id="written_queries", responses={200: WrittenQueryOutput(many=True), 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Queries that writers wrote, newest first."""
        project = grant_by(request, project_uuid, READERS).project
        return paged(request, self, queries_of(project), WrittenQueryOutput)


class OneWrittenQueryCheck(ApiView):
    @extend_schema(
        operation_id="written_query_check",
        request=CheckInput,
        responses={200: CheckOutput, **dict.fromkeys((403, 404, 409, 422), Problem)},
    )
    def post(self, request: Request, query_uuid: UUID) -> Response:
        """Accept a query, accept it with other bounds, or reject it; the same again changes nothing."""
        row = get_object_or_404(WrittenQuery.objects.select_related("clip__round__project"), uuid=query_uuid)
        grant(request, row.clip.round.project, CHECKER)
        body = {"start_s": row.start_s, "end_s": row.end_s, **body_of(request, CheckInput)}
        verdict = services.Verdict(**body)
        check = services.query_check(query=row.uuid, checker=person_of(request), verdict=verdict)
        return Response(CheckOutput(check).data)
