"""Endpoints of annotators: take, grade, flag, finish, and what they gave."""

from typing import Any
from uuid import UUID

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import ANNOTATOR, grant_by, person_of
from accounts.models import Membership, Project
from core import clock
from core.api import ApiView, Pages, Problem, body_of, paged
from judging.work import serializers
from judging.work.selectors.annotator import final_grades, preview_gif, preview_mp4
from judging.work.selectors.held import held_open
from judging.work.services import assignments, judgments

REFUSED = Problem


def project_of(request: Request, project_uuid: UUID) -> Project:
    """The project, to its annotators."""
    return grant_by(request, project_uuid, ANNOTATOR).project


class Projects(ApiView):
    @extend_schema(operation_id="projects", responses=serializers.ProjectGiven(many=True))
    def get(self, request: Request) -> Response:
        """The projects you take part in, and in which role."""
        mine = Membership.objects.select_related("project").filter(user=person_of(request)).order_by("project__name")
        return Response(serializers.ProjectGiven(mine, many=True).data)


class Assignment(ApiView):
    writes = "judge"

    @extend_schema(operation_id="assignment", responses={200: serializers.AssignmentGiven, 204: None, 403: REFUSED})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """What you hold; 204 when that is nothing."""
        return self._held(request, project_of(request, project_uuid), status=200)

    @extend_schema(
        operation_id="assignment_take",
        request=serializers.Nothing,
        responses={200: serializers.AssignmentGiven, 201: serializers.AssignmentGiven, 204: None, 403: REFUSED},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Take an assignment: 201 a new one, 200 the one you hold already, 204 nothing waits for you."""
        project = project_of(request, project_uuid)
        body_of(request, serializers.Nothing)
        asked_at = clock.now()
        held = assignments.assignment_take(project=project, annotator=person_of(request))
        if held is None:
            return Response(status=204)
        return self._held(request, project, status=201 if held.created_at >= asked_at else 200)

    def _held(self, request: Request, project: Project, *, status: int) -> Response:
        held = held_open(annotator_id=person_of(request).pk, project_id=project.pk)
        if held is None:
            return Response(status=204)
        shape = serializers.AssignmentGiven(serializers.assignment(held), context={"request": request})
        return Response(shape.data, status=status)


class Heartbeat(ApiView):
    writes = "judge"

    @extend_schema(
        operation_id="assignment_heartbeat",
        request=serializers.Nothing,
        responses={200: serializers.LeaseGiven, 403: REFUSED, 409: REFUSED},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Say that you are still at it: the lease starts anew. Every grade and flag does the same."""
        project = project_of(request, project_uuid)
        body_of(request, serializers.Nothing)
        until = assignments.assignment_renew(project=project, annotator=person_of(request), now=clock.now())
        return Response(serializers.LeaseGiven({"lease_ends_at": until}).data)


class Finish(ApiView):
    writes = "judge"

    @extend_schema(
        operation_id="assignment_finish",
        request=serializers.Nothing,
        responses={200: serializers.FinishedGiven, 403: REFUSED, 409: REFUSED},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Make your grades final. Every pair needs a grade or a flag."""
        project = project_of(request, project_uuid)
        body_of(request, serializers.Nothing)
        return Response({"finished": assignments.assignment_finish(project=project, annotator=person_of(request))})


class Return(ApiView):
    writes = "judge"

    @extend_schema(
        operation_id="assignment_return",
        request=serializers.Nothing,
        responses={200: serializers.ReturnedGiven, 403: REFUSED},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Give back what you hold: your grades are final, the other pairs go to somebody else."""
        project = project_of(request, project_uuid)
        body_of(request, serializers.Nothing)
        return Response({"returned": assignments.assignment_return(project=project, annotator=person_of(request))})


ANSWERED: dict[int, Any] = {200: serializers.AnswerGiven, 403: REFUSED, 404: REFUSED, 409: REFUSED, 422: REFUSED}


def answered(request: Request, answer: judgments.Answer, pair_uuid: UUID) -> Response:
    return Response(serializers.AnswerGiven(serializers.answer(answer, pair_uuid), context={"request": request}).data)


class Judgment(ApiView):
    writes = "judge"

    @extend_schema(operation_id="judgment", request=serializers.Grade, responses=ANSWERED)
    def post(self, request: Request, pair_uuid: UUID) -> Response:
        """Grade a pair, or change its grade while the assignment is open.

        Sent again with the same key and grade it is answered as the first time, and nothing is stored twice.
        """
        body = body_of(request, serializers.Grade)
        answer = judgments.judgment_submit(annotator=person_of(request), pair_uuid=pair_uuid, **body)
        return answered(request, answer, pair_uuid)


class Flag(ApiView):
    writes = "judge"

    @extend_schema(operation_id="flag", request=serializers.FlagRaised, responses=ANSWERED)
    def post(self, request: Request, pair_uuid: UUID) -> Response:
        """Say why you cannot judge the pair; it then needs no grade of yours."""
        body = body_of(request, serializers.FlagRaised)
        answer = judgments.flag_set(annotator=person_of(request), pair_uuid=pair_uuid, **body)
        return answered(request, answer, pair_uuid)

    @extend_schema(operation_id="flag_withdraw", responses=ANSWERED)
    def delete(self, request: Request, pair_uuid: UUID) -> Response:
        """Take your flag back; the pair needs a grade again, and is the next one."""
        answer = judgments.flag_withdraw(annotator=person_of(request), pair_uuid=pair_uuid)
        return answered(request, answer, pair_uuid)


class OwnJudgments(ApiView):
    pagination_class = Pages

    @extend_schema(
        operation_id="own_judgments",
        parameters=[OpenApiParameter("cursor", str, description="As in ``next`` of the page before.")],
        responses={200: serializers.OwnJudgmentGiven(many=True), 403: REFUSED},
    )
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Your own final grades, newest first."""
        project = project_of(request, project_uuid)
        mine = final_grades(project=project, annotator=person_of(request))
        return paged(request, self, mine, serializers.OwnJudgmentGiven)


class PreviewGif(ApiView):
    @extend_schema(operation_id="preview_gif", responses={(200, "image/gif"): OpenApiTypes.BINARY, 404: REFUSED})
    def get(self, request: Request, preview_uuid: UUID) -> HttpResponseBase:
        """The clip as a GIF, to those who may watch it."""
        return preview_gif(request._request, preview_uuid)


class PreviewMp4(ApiView):
    @extend_schema(
        operation_id="preview_mp4",
        responses={
            (200, "video/mp4"): OpenApiTypes.BINARY,
            (206, "video/mp4"): OpenApiTypes.BINARY,
            404: REFUSED,
        },
    )
    def get(self, request: Request, preview_uuid: UUID) -> HttpResponseBase:
        """The same clip as an MP4, or the part of it that a Range header asks for."""
        return preview_mp4(request._request, preview_uuid)
