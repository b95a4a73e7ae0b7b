"""Shots and proposals for programs: listed, ordered, watched, used, undone."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import STAFF, grant, grant_by, person_of
from accounts.models import Project
from annotation.models import Proposal, ShotDetection
from annotation.proposals import services
from annotation.proposals.forms import ProposalForm
from annotation.proposals.selectors import Shot, detections_of, project_over, shots_of_detection
from core.api import ApiView, ChoiceOfField, CountField, Nothing, Pages, body_of, form_values, paged
from core.api import Problem as REFUSED


class ShotOutput(serializers.Serializer[Any]):
    """One shot: it is shown from its first frame, counted from 0, until ``end_s``."""

    first_frame = serializers.IntegerField()
    start_s = serializers.FloatField()
    end_s = serializers.FloatField()


class ShotsOutput(serializers.ModelSerializer[ShotDetection]):
    """The shots of one video; none, and an error, where its file could not be read."""

    video = serializers.UUIDField(source="video.uuid")
    name = serializers.CharField(source="video.name")
    shots = serializers.SerializerMethodField()

    class Meta:
        model = ShotDetection
        fields = ["video", "name", "detector", "threshold", "version", "state", "error", "created_at", "shots"]

    @extend_schema_field(ShotOutput(many=True))
    def get_shots(self, row: ShotDetection) -> Any:
        shots: list[Shot] = shots_of_detection(row)
        return ShotOutput(shots, many=True).data


class ProposalOutput(serializers.ModelSerializer[Proposal]):
    """``done`` and ``total`` count what ``step`` is at: seconds of video, or videos.

    ``n_moments`` is null until shots are detected, ``n_written`` until the moments are used.
    """

    class Meta:
        model = Proposal
        fields = [
            *("uuid", "method", "threshold", "segment_s", "most", "state", "step", "done", "total", "error"),
            *("n_moments", "n_written", "created_at"),
        ]


class ProposalInput(serializers.Serializer[Any]):
    """A method, and its option."""

    method = ChoiceOfField(Proposal.Method.choices)
    threshold = serializers.FloatField(required=False, help_text="Of shots; the detector's own where it is left out.")
    segment_s = serializers.FloatField(required=False, help_text="Of segments: how long each is, in seconds.")
    most = CountField(required=False, help_text="Of windows: the so many shortest of a video; all where left out.")


class Shots(ApiView):
    pagination_class = Pages

    @extend_schema(operation_id="shots", responses={200: ShotsOutput(many=True), 403: REFUSED})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Shots of the project's videos, those detected last first; proposals by shots have them detected."""
        project = grant_by(request, project_uuid, STAFF).project
        return paged(request, self, detections_of(project.dataset.corpus), ShotsOutput)


class Proposals(ApiView):
    pagination_class = Pages

    @extend_schema(operation_id="proposals", responses={200: ProposalOutput(many=True), 403: REFUSED})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Orders of proposals for the project's corpus, newest first, and how far one at work is."""
        project = grant_by(request, project_uuid, STAFF).project
        return paged(request, self, project.dataset.corpus.proposals.all(), ProposalOutput)

    @extend_schema(
        operation_id="proposal_start",
        request=ProposalInput,
        responses={201: ProposalOutput, **dict.fromkeys((403, 409, 422), REFUSED)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Propose moments: ask until the state says ready, then use them. Nothing is written before that."""
        project = grant_by(request, project_uuid, STAFF).project
        options = form_values(ProposalForm(body_of(request, ProposalInput)))["options"]
        about: dict[str, Any] = {"corpus": project.dataset.corpus, "actor": person_of(request), "project": project}
        return Response(ProposalOutput(services.proposal_start(options=options, **about)).data, status=201)


class OneProposal(ApiView):
    @extend_schema(operation_id="proposal", responses={200: ProposalOutput, 403: REFUSED, 404: REFUSED})
    def get(self, request: Request, proposal_uuid: UUID) -> Response:
        """One order, and how far it is."""
        return Response(ProposalOutput(_granted(request, proposal_uuid)[1]).data)


CHANGED: dict[int, Any] = {200: ProposalOutput, **dict.fromkeys((403, 404, 409, 422), REFUSED)}


class UseProposal(ApiView):
    @extend_schema(operation_id="proposal_use", request=Nothing, responses=CHANGED)
    def post(self, request: Request, proposal_uuid: UUID) -> Response:
        """Have the proposed spans written as moments without descriptions; spans that are moments already stay."""
        return _changed(request, proposal_uuid, services.proposal_use)


class CancelProposal(ApiView):
    @extend_schema(operation_id="proposal_cancel", request=Nothing, responses=CHANGED)
    def post(self, request: Request, proposal_uuid: UUID) -> Response:
        """Stop detecting or writing; what is done is kept, and it can be resumed."""
        return _changed(request, proposal_uuid, services.proposal_cancel)


class ResumeProposal(ApiView):
    @extend_schema(operation_id="proposal_resume", request=Nothing, responses=CHANGED)
    def post(self, request: Request, proposal_uuid: UUID) -> Response:
        """Go on with an order that was cancelled or failed."""
        return _changed(request, proposal_uuid, services.proposal_resume)


class UndoProposal(ApiView):
    @extend_schema(operation_id="proposal_undo", request=Nothing, responses=CHANGED)
    def post(self, request: Request, proposal_uuid: UUID) -> Response:
        """Have the moments that were written removed; refused where one of them is in use."""
        return _changed(request, proposal_uuid, services.proposal_undo)


def _granted(request: Request, proposal_uuid: UUID) -> tuple[Project, Proposal]:
    """Return an order to the staff of a project over its corpus, with that project."""
    row = get_object_or_404(Proposal.objects.select_related("corpus"), uuid=proposal_uuid)
    project = project_over(row.corpus, person_of(request))
    if project is None:
        raise Http404
    grant(request, project, STAFF)
    return project, row


def _changed(request: Request, proposal_uuid: UUID, change: Callable[..., Proposal]) -> Response:
    project, row = _granted(request, proposal_uuid)
    body_of(request, Nothing)
    return Response(ProposalOutput(change(proposal=row, actor=person_of(request), project=project)).data)
