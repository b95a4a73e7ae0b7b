"""Written queries and their checks, for programs of checkers; leads and admins read them."""

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

from accounts.access import CHECKER, READERS, grant, grant_by, person_of
from annotation.previews.responses import video_answer
from core.api import ApiView, ChoiceOfField, CountField, Nothing, Pages, Problem, body_of, paged
from judging.checking import selectors, services
from judging.collection.api import LineOutput
from judging.collection.selectors import lines_of, queries_of
from judging.exceptions import NotAssigned
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
    active_ms = CountField(
        required=False,
        allow_null=True,
        help_text="Milliseconds that the query was before you; it counts in your hours.",
    )


class WrittenQueries(ApiView):
    pagination_class = Pages

    @extend_schema(operation_id="written_queries", responses={200: WrittenQueryOutput(many=True), 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Queries that writers wrote, newest first."""
        project = grant_by(request, project_uuid, READERS).project
        return paged(request, self, queries_of(project), WrittenQueryOutput)


class NeighbourOutput(serializers.Serializer[Any]):
    """Another text of the same video, or a query of another video that resembles this one."""

    text = serializers.CharField()
    share = serializers.FloatField(help_text="Share of words that both have.")
    start_s = serializers.FloatField(allow_null=True, help_text="Null: it is of another video.")
    end_s = serializers.FloatField(allow_null=True)


class QueryToCheckOutput(serializers.ModelSerializer[WrittenQuery]):
    """A query with all that its checker sees; never whose it is."""

    video = serializers.CharField(source="clip.video.name")
    address = serializers.SerializerMethodField(help_text="Of the video; it opens with the same token.")
    duration_s = serializers.FloatField(source="clip.video.duration_s")
    subtitles = serializers.SerializerMethodField()
    neighbours = serializers.SerializerMethodField()
    doubles = serializers.SerializerMethodField()
    lease_ends_at = serializers.DateTimeField(source="checker_until")

    class Meta:
        model = WrittenQuery
        fields = [
            *("uuid", "text", "type", "start_s", "end_s", "video", "address", "duration_s", "subtitles"),
            *("neighbours", "doubles", "lease_ends_at"),
        ]

    def get_address(self, row: WrittenQuery) -> str:
        return str(reverse("api:written-query-video", [row.uuid], request=self.context["request"]))

    @extend_schema_field(LineOutput(many=True))
    def get_subtitles(self, row: WrittenQuery) -> Any:
        return LineOutput(lines_of(row.clip.video), many=True).data

    @extend_schema_field(NeighbourOutput(many=True))
    def get_neighbours(self, row: WrittenQuery) -> Any:
        return NeighbourOutput(selectors.neighbours_of(row), many=True).data

    @extend_schema_field(NeighbourOutput(many=True))
    def get_doubles(self, row: WrittenQuery) -> Any:
        doubles = [
            {"text": double.query.text, "share": double.share, "start_s": None, "end_s": None}
            for double in selectors.doubles_of(row)
        ]
        return NeighbourOutput(doubles, many=True).data


class QueryToCheck(ApiView):
    writes = "judge"

    @extend_schema(
        operation_id="query_to_check", request=Nothing, responses={200: QueryToCheckOutput, 204: None, 403: Problem}
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Take the query that you have at hand, or the next one; 204 if none waits for you."""
        project = grant_by(request, project_uuid, CHECKER).project
        body_of(request, Nothing)
        row = services.query_take(project=project, checker=person_of(request))
        if row is None:
            return Response(status=204)
        return Response(QueryToCheckOutput(row, context={"request": request}).data)


class WrittenQueryVideo(ApiView):
    @extend_schema(
        operation_id="written_query_video",
        responses={
            **dict.fromkeys(((200, "video/mp4"), (206, "video/mp4")), OpenApiTypes.BINARY),
            **dict.fromkeys((403, 404), Problem),
        },
    )
    def get(self, request: Request, query_uuid: UUID) -> HttpResponseBase:
        """The video that a query is of, or the part of it that a Range header asks for."""
        rows = WrittenQuery.objects.select_related("clip__round__project", "clip__video")
        row = get_object_or_404(rows, uuid=query_uuid)
        grant(request, row.clip.round.project, READERS)
        return video_answer(request._request, row.clip.video)


class UndoCheck(ApiView):
    writes = "judge"

    @extend_schema(
        operation_id="check_undo",
        request=Nothing,
        responses={204: None, **dict.fromkeys((403, 404, 409), Problem)},
    )
    def post(self, request: Request, check_uuid: UUID) -> Response:
        """Take a decision of your own back: the query waits again. The same again changes nothing."""
        rows = QueryCheck.objects.select_related("query__clip__round__project")
        row = rows.filter(uuid=check_uuid, checker=person_of(request).pk).first()
        if row is None:
            raise NotAssigned("You have made no such decision.")
        grant(request, row.query.clip.round.project, CHECKER)
        body_of(request, Nothing)
        services.check_undo(check=row.uuid, checker=person_of(request))
        return Response(status=204)


class OneWrittenQueryCheck(ApiView):
    writes = "judge"

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
        active_ms, verdict = body.pop("active_ms", None), services.Verdict(**body)
        check = services.query_check(query=row.uuid, checker=person_of(request), verdict=verdict, active_ms=active_ms)
        return Response(CheckOutput(check).data)
