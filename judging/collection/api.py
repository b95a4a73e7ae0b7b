"""Rounds of writing, for programs of leads and admins; clips and queries of one's own, for those of writers."""

from typing import Any
from uuid import UUID

from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from accounts.access import LEAD, STAFF, WRITER, grant, grant_by, person_of
from accounts.models import Project
from annotation.previews.responses import video_answer
from core.api import (
    ApiView,
    ChoiceOfField,
    CountField,
    KeyField,
    Nothing,
    Pages,
    Problem,
    WordsField,
    body_of,
    form_values,
    paged,
)
from judging.collection import selectors, services
from judging.collection.forms import RoundForm
from judging.collection.rules import KINDS, LONGEST, TYPES, Entry
from judging.collection.selectors import clip_counts
from judging.exceptions import NotAssigned
from judging.models import ClipAssignment, QueryType, WritingRound, WrittenQuery


class RoundCounts(serializers.Serializer[Any]):
    clips = serializers.IntegerField()
    in_hand = serializers.IntegerField(help_text="Clips that a writer has just now.")
    complete = serializers.IntegerField(help_text="Clips that have their queries.")
    exhausted = serializers.IntegerField(help_text="Clips in which a writer found nothing more.")
    queries = serializers.IntegerField(help_text="Those that wait and those that were accepted.")
    waiting = serializers.IntegerField(help_text="Queries to be checked.")
    accepted = serializers.IntegerField()
    rejected = serializers.IntegerField()
    target = serializers.IntegerField(help_text="Queries of all clips together.")


class RoundOutput(serializers.ModelSerializer[WritingRound]):
    """One round; the shares are of queries about the video (v), the subtitles (t) and both (vt)."""

    counts = serializers.SerializerMethodField()

    class Meta:
        model = WritingRound
        fields = [
            *("uuid", "name", "state", "share_v", "share_t", "share_vt", "queries_per_clip", "queries_per_visit"),
            *("least_tokens", "most_overlap", "created_at", "counts"),
        ]

    @extend_schema_field(RoundCounts)
    def get_counts(self, row: WritingRound) -> Any:
        return clip_counts(row)


class RoundInput(serializers.Serializer[Any]):
    """A round of all writers of the project; what is left out is as TVR had it."""

    name = WordsField(max_length=100)
    kind = ChoiceOfField(list(KINDS), required=False, help_text="Types that it asks for; visual where left out.")
    share_v = CountField(required=False)
    share_t = CountField(required=False)
    share_vt = CountField(required=False)
    queries_per_clip = CountField(required=False)
    queries_per_visit = CountField(required=False, help_text="Of one writer for one clip.")
    least_tokens = CountField(required=False, help_text="Words of a query at least; punctuation counts.")
    most_overlap = serializers.FloatField(required=False, help_text="Share of words from which a line is copied.")


class RoundChange(serializers.Serializer[Any]):
    change = ChoiceOfField(list(services.STATES))


REFUSED = dict.fromkeys((403, 404, 409, 422), Problem)


class WritingRounds(ApiView):
    pagination_class = Pages

    @extend_schema(operation_id="writing_rounds", responses={200: RoundOutput(many=True), 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Rounds in which writers write queries, newest first, with how far each is."""
        project = grant_by(request, project_uuid, STAFF).project
        return paged(request, self, project.writing_rounds.all(), RoundOutput)

    @extend_schema(operation_id="writing_round_create", request=RoundInput, responses={201: RoundOutput, **REFUSED})
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Open a round over the videos of the project that can be played."""
        project = grant_by(request, project_uuid, LEAD).project
        body = body_of(request, RoundInput)
        initial = {name: field.initial for name, field in RoundForm.base_fields.items() if field.initial is not None}
        form = RoundForm({**initial, **body}, project=project)
        form_values(form)
        row = services.round_create(
            project=project, name=form.cleaned_data["name"], actor=person_of(request), **form.rules()
        )
        return Response(RoundOutput(row).data, status=201)


class OneWritingRound(ApiView):
    @extend_schema(operation_id="writing_round", responses={200: RoundOutput, 403: Problem, 404: Problem})
    def get(self, request: Request, round_uuid: UUID) -> Response:
        """One round, with how far it is."""
        row = get_object_or_404(WritingRound.objects.select_related("project"), uuid=round_uuid)
        grant(request, row.project, STAFF)
        return Response(RoundOutput(row).data)

    @extend_schema(operation_id="writing_round_change", request=RoundChange, responses={200: RoundOutput, **REFUSED})
    def patch(self, request: Request, round_uuid: UUID) -> Response:
        """Pause a round, resume it, or close it for good; the same again changes nothing."""
        row = get_object_or_404(WritingRound.objects.select_related("project"), uuid=round_uuid)
        grant(request, row.project, LEAD)
        change = body_of(request, RoundChange)["change"]
        return Response(RoundOutput(services.round_change(round=row, change=change, actor=person_of(request))).data)


# Of writers


class LineOutput(serializers.Serializer[Any]):
    """A line of the subtitles, in seconds."""

    start_s = serializers.FloatField()
    end_s = serializers.FloatField()
    text = serializers.CharField()


class RejectionOutput(serializers.Serializer[Any]):
    text = serializers.CharField()
    why = serializers.CharField()


class ClipOutput(serializers.ModelSerializer[ClipAssignment]):
    """The clip that a writer has at hand, and what its round asks for."""

    round = serializers.UUIDField(source="clip.round.uuid")
    video = serializers.CharField(source="clip.video.name")
    file = serializers.SerializerMethodField(help_text="Names the file that the video has now.")
    address = serializers.SerializerMethodField(help_text="Of the video; it opens with the same token.")
    duration_s = serializers.FloatField(source="clip.video.duration_s")
    subtitles = serializers.SerializerMethodField()
    type_requested = serializers.ChoiceField(choices=QueryType.choices)
    types = serializers.SerializerMethodField()
    least_tokens = serializers.IntegerField(source="clip.round.least_tokens")
    queries = serializers.IntegerField(source="n_queries", help_text="Those you wrote for it.")
    rejections = serializers.SerializerMethodField(help_text="Your queries for it that were sent back, and why.")
    lease_ends_at = serializers.DateTimeField(source="expires_at")

    class Meta:
        model = ClipAssignment
        fields = [
            *("uuid", "round", "video", "file", "address", "duration_s", "subtitles", "type_requested", "types"),
            *("least_tokens", "queries", "rejections", "lease_ends_at"),
        ]

    def get_file(self, row: ClipAssignment) -> str:
        return selectors.file_version(row.clip.video)

    def get_address(self, row: ClipAssignment) -> str:
        return str(reverse("api:clip-video", [row.clip.round.project.uuid], request=self.context["request"]))

    @extend_schema_field(LineOutput(many=True))
    def get_subtitles(self, row: ClipAssignment) -> Any:
        return LineOutput(selectors.lines_of(row.clip.video), many=True).data

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_types(self, row: ClipAssignment) -> list[str]:
        return list(row.clip.round.types)

    @extend_schema_field(RejectionOutput(many=True))
    def get_rejections(self, row: ClipAssignment) -> Any:
        return [{"text": query.text, "why": why} for query, why in selectors.rejections_of(row)]


class ClipChoice(serializers.Serializer[Any]):
    round = KeyField(help_text="A round that you take part in.")


class QueryInput(serializers.Serializer[Any]):
    """A query for a moment of the clip at hand."""

    key = KeyField(help_text="New for each query; a request may be sent again with the same key.")
    text = WordsField(max_length=LONGEST)
    type = ChoiceOfField(list(TYPES), help_text="What it is about: the video (v), its subtitles (t), both (vt).")
    start_s = serializers.FloatField()
    end_s = serializers.FloatField()
    active_ms = CountField(
        required=False,
        allow_null=True,
        help_text="Milliseconds that the clip was before you for this query; it counts in your hours.",
    )
    seen_file = WordsField(
        required=False, max_length=200, help_text="The file that you have seen; refused where there is another by now."
    )


class OwnQueryOutput(serializers.ModelSerializer[WrittenQuery]):
    """A query of one's own; ``why`` says why it was sent back or rejected."""

    video = serializers.CharField(source="clip.video.name")
    why = serializers.SerializerMethodField()

    class Meta:
        model = WrittenQuery
        fields = ["uuid", "text", "type", "start_s", "end_s", "video", "state", "why", "created_at"]

    def get_why(self, row: WrittenQuery) -> str:
        refused = (WrittenQuery.State.SENT_BACK, WrittenQuery.State.REJECTED)
        return row.check_in_force[0].why if row.state in refused and row.check_in_force else ""  # type: ignore[attr-defined]


SubmittedOutput = inline_serializer(
    "SubmittedOutput",
    {
        "query": serializers.UUIDField(),
        "goes_on": serializers.BooleanField(help_text="Whether you have more to write for the same clip."),
    },
)
ClipReturnedOutput = inline_serializer("ClipReturnedOutput", {"returned": serializers.BooleanField()})


def _project(request: Request, project_uuid: UUID, *, empty: bool = False) -> Project:
    """Return the project, to its writers; refuse a body with fields where it is to be ``empty``."""
    project = grant_by(request, project_uuid, WRITER).project
    if empty:
        body_of(request, Nothing)
    return project


def _at_hand(request: Request, project: Project) -> ClipAssignment:
    row = selectors.open_assignment(project_id=project.pk, writer=person_of(request))
    if row is None:
        raise NotAssigned("You have no clip at hand; take one first.")
    return row


class Clip(ApiView):
    writes = "judge"

    @extend_schema(operation_id="clip", responses={200: ClipOutput, 204: None, 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Return the clip you have at hand; 204 if none."""
        return self._answer(request, selectors.assignment_at_hand(_project(request, project_uuid), person_of(request)))

    @extend_schema(
        operation_id="clip_take",
        request=ClipChoice,
        responses={200: ClipOutput, 201: ClipOutput, 204: None, **REFUSED},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Take a clip of a round: 201 a new one, 200 the one you have already, 204 none is left for you."""
        project = _project(request, project_uuid)
        rounds = project.writing_rounds.select_related("project")
        round = get_object_or_404(rounds, uuid=body_of(request, ClipChoice)["round"])
        before = selectors.assignment_at_hand(project, person_of(request))
        row = services.clip_take(round=round, writer=person_of(request))
        return self._answer(request, row, status=200 if before else 201)

    def _answer(self, request: Request, row: ClipAssignment | None, *, status: int = 200) -> Response:
        if row is None:
            return Response(status=204)
        return Response(ClipOutput(row, context={"request": request}).data, status=status)


class ClipVideo(ApiView):
    @extend_schema(
        operation_id="clip_video",
        responses={**dict.fromkeys(((200, "video/mp4"), (206, "video/mp4")), OpenApiTypes.BINARY), **REFUSED},
    )
    def get(self, request: Request, project_uuid: UUID) -> HttpResponseBase:
        """The video of the clip at hand, or the part of it that a Range header asks for."""
        return video_answer(request._request, _at_hand(request, _project(request, project_uuid)).clip.video)


class ClipQueries(ApiView):
    writes = "judge"

    @extend_schema(operation_id="query_submit", request=QueryInput, responses={201: SubmittedOutput, **REFUSED})
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Submit a query for the clip at hand. Sent again with the same key it is answered as the first time."""
        project, writer, body = _project(request, project_uuid), person_of(request), body_of(request, QueryInput)
        before = selectors.own_queries(project, writer).filter(key=body["key"]).select_related("assignment").first()
        row = before.assignment if before else _at_hand(request, project)
        submission = services.query_submit(
            assignment=row.uuid,
            writer=writer,
            key=body["key"],
            entry=Entry(body["text"], body["type"], body["start_s"], body["end_s"]),
            file=body.get("seen_file", ""),
            active_ms=body.get("active_ms"),
        )
        return Response({"query": submission.query.uuid, "goes_on": submission.goes_on}, status=201)


class ClipReturn(ApiView):
    writes = "judge"

    @extend_schema(operation_id="clip_return", request=Nothing, responses={200: ClipReturnedOutput, 403: Problem})
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Give the clip at hand back to others; you do not get it again. False where you had none."""
        project, writer = _project(request, project_uuid, empty=True), person_of(request)
        row = selectors.open_assignment(project_id=project.pk, writer=writer)
        if row is not None:
            services.clip_return(assignment=row.uuid, writer=writer)
        return Response({"returned": row is not None})


class ClipExhausted(ApiView):
    writes = "judge"

    @extend_schema(operation_id="clip_exhausted", request=Nothing, responses={204: None, **REFUSED})
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Say that the clip at hand has nothing more: nobody gets it until a lead reopens it."""
        project = _project(request, project_uuid, empty=True)
        services.clip_exhaust(assignment=_at_hand(request, project).uuid, writer=person_of(request))
        return Response(status=204)


class OwnQueries(ApiView):
    pagination_class = Pages

    @extend_schema(operation_id="own_queries", responses={200: OwnQueryOutput(many=True), 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """The queries you wrote, newest first, and what became of them."""
        own = selectors.own_queries(_project(request, project_uuid), person_of(request))
        return paged(request, self, own, OwnQueryOutput)
