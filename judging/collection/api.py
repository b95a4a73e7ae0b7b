"""Rounds of writing and the queries that were written, for programs of leads, admins and checkers."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import LEAD, STAFF, grant, grant_by, person_of
from core.api import ApiView, ChoiceOfField, CountField, Pages, Problem, WordsField, body_of, form_values, paged
from judging.collection import services
from judging.collection.forms import RoundForm
from judging.collection.rules import KINDS
from judging.collection.selectors import clip_counts
from judging.models import WritingRound


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
