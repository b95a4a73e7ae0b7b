"""Endpoints of annotators: take, grade, flag, finish, and what they gave; they show what the judging page shows."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from accounts.access import ANNOTATOR, grant_by, person_of
from accounts.models import Project
from core import clock
from core.api import (
    ApiView,
    ChoiceOfField,
    CountField,
    GradeField,
    KeyField,
    Nothing,
    Pages,
    Problem,
    WordsField,
    body_of,
    paged,
)
from core.files import IMMUTABLE, file_answer
from judging.models import Flag, OwnGrade
from judging.work.selectors.assignments import (
    PREVIEW_TYPES,
    OpenAssignment,
    current_assignment,
    final_grades,
    preview_file,
)
from judging.work.services import assignments, judgments
from judging.work.services.judgments import WORDS, Answer


class PreviewsOutput(serializers.Serializer[Any]):
    """Addresses that open with the same token."""

    gif = serializers.URLField()
    mp4 = serializers.URLField(allow_null=True)


def previews(request: Any, preview: UUID, *, has_clip: bool) -> dict[str, str | None]:
    return {
        "gif": reverse("api:preview-gif", [preview], request=request),
        "mp4": reverse("api:preview-mp4", [preview], request=request) if has_clip else None,
    }


class PairOutput(serializers.Serializer[Any]):
    """A pair as its judge sees it; grade, comment and flag are their own."""

    uuid = serializers.UUIDField(source="pair_view.uuid")
    position = serializers.IntegerField(help_text="Place in the order shown, from 1.")
    key = serializers.UUIDField(help_text="Goes with the next grade for this pair.")
    previews = serializers.SerializerMethodField()
    grade = serializers.IntegerField(source="pair_view.grade", allow_null=True)
    comment = serializers.CharField(source="pair_view.comment", allow_null=True)
    flag = serializers.ChoiceField(source="pair_view.flag", choices=Flag.Reason.choices, allow_null=True)
    flag_comment = serializers.CharField(source="pair_view.flag_comment", allow_null=True)
    withdrawn = serializers.BooleanField(source="pair_view.withdrawn", help_text="Needs no grade any more.")

    @extend_schema_field(PreviewsOutput)
    def get_previews(self, pair: dict[str, Any]) -> dict[str, str | None]:
        return previews(self.context["request"], pair["pair_view"].preview, has_clip=pair["pair_view"].has_clip)


class LevelOutput(serializers.Serializer[Any]):
    grade = serializers.IntegerField()
    meaning = serializers.CharField()


class AssignmentOutput(serializers.Serializer[Any]):
    query = serializers.CharField()
    description = serializers.CharField(help_text="Of a topic, as this assignment shows it; empty where there is none.")
    narrative = serializers.CharField(help_text="What is relevant and what is not; empty where there is none.")
    levels = LevelOutput(many=True)
    lease_ends_at = serializers.DateTimeField()
    pairs = PairOutput(many=True)
    left = serializers.IntegerField(help_text="Pairs that still need a grade or a flag.")
    next = serializers.UUIDField(allow_null=True, help_text="The first of them.")


def pair_shown(assignment: OpenAssignment, index: int) -> dict[str, Any]:
    pair_view = assignment.pair_views[index]
    return {"pair_view": pair_view, "position": index + 1, "key": assignment.key_of(pair_view)}


class AnswerOutput(serializers.Serializer[Any]):
    """The pair as it is stored now, and the one to show next: null when all are answered."""

    pair = PairOutput()
    next = PairOutput(allow_null=True)
    left = serializers.IntegerField(help_text="Pairs that still need a grade or a flag.")


class LeaseOutput(serializers.Serializer[Any]):
    lease_ends_at = serializers.DateTimeField()


HAD_ASSIGNMENT = serializers.BooleanField(help_text="False: nothing was held, as after an earlier request.")
FinishedOutput = inline_serializer("FinishedOutput", {"finished": HAD_ASSIGNMENT})
ReturnedOutput = inline_serializer("ReturnedOutput", {"returned": HAD_ASSIGNMENT})


class OwnJudgmentOutput(serializers.ModelSerializer[OwnGrade]):
    """A final grade of one's own; never how the pair was settled."""

    pair = serializers.UUIDField(source="pair.uuid")
    query = serializers.CharField(source="pair.batch.query.text")
    given_at = serializers.DateTimeField(source="created_at")
    previews = serializers.SerializerMethodField()

    class Meta:
        model = OwnGrade
        fields = ["pair", "query", "grade", "comment", "given_at", "previews"]

    @extend_schema_field(PreviewsOutput)
    def get_previews(self, judgment: OwnGrade) -> dict[str, str | None]:
        moment = judgment.pair.candidate.moment
        return previews(self.context["request"], moment.preview_uuid, has_clip=bool(moment.preview_clip))


class Grade(serializers.Serializer[Any]):
    grade = GradeField()
    key = KeyField(help_text="The key of the pair as it was read; a request may be sent again with the same key.")
    comment = WordsField(
        max_length=WORDS,
        required=False,
        allow_blank=True,
        allow_null=True,
        help_text="Replaces the comment there is; left out or null leaves it.",
    )
    active_ms = CountField(
        required=False,
        allow_null=True,
        help_text="Milliseconds that the pair was before the annotator; left out, the time since the last answer.",
    )


class FlagRaised(serializers.Serializer[Any]):
    reason = ChoiceOfField(choices=Flag.Reason.choices)
    comment = WordsField(max_length=WORDS, required=False, allow_blank=True)
    key = KeyField(required=False, help_text="The key of the pair as it was read, so that a repeat is known as one.")


def project_of(request: Request, project_uuid: UUID, *, empty: bool = False) -> Project:
    """Return the project, to its annotators; refuse a body with fields where it is to be ``empty``."""
    project = grant_by(request, project_uuid, ANNOTATOR).project
    if empty:
        body_of(request, Nothing)
    return project


class Assignment(ApiView):
    writes = "judge"

    @extend_schema(operation_id="assignment", responses={200: AssignmentOutput, 204: None, 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Return the open assignment; 204 if none."""
        return self._answer_open(request, project_of(request, project_uuid), status=200)

    @extend_schema(
        operation_id="assignment_take",
        request=Nothing,
        responses={200: AssignmentOutput, 201: AssignmentOutput, 204: None, 403: Problem},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Take an assignment: 201 a new one, 200 the one you hold already, 204 nothing waits for you."""
        project = project_of(request, project_uuid, empty=True)
        requested_at = clock.now()
        assignment = assignments.assignment_take(project=project, annotator=person_of(request))
        is_new = assignment is not None and assignment.created_at >= requested_at
        return self._answer_open(request, project, status=201 if is_new else 200)

    def _answer_open(self, request: Request, project: Project, *, status: int) -> Response:
        assignment = current_assignment(annotator_id=person_of(request).pk, project_id=project.pk)
        if assignment is None:
            return Response(status=204)
        index = assignment.next_index()
        data = {
            "query": assignment.query,
            "description": assignment.description,
            "narrative": assignment.narrative,
            "levels": [{"grade": grade, "meaning": meaning} for grade, meaning in enumerate(assignment.levels)],
            "lease_ends_at": assignment.expires_at,
            "pairs": [pair_shown(assignment, position) for position in range(len(assignment.pair_views))],
            "left": len(assignment.pair_views) - assignment.answered,
            "next": None if index is None else assignment.pair_views[index].uuid,
        }
        return Response(AssignmentOutput(data, context={"request": request}).data, status=status)


class Heartbeat(ApiView):
    writes = "judge"

    @extend_schema(
        operation_id="assignment_heartbeat", request=Nothing, responses={200: LeaseOutput, 403: Problem, 409: Problem}
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Say that you are still at it: the lease starts anew. Every grade and flag does the same."""
        project = project_of(request, project_uuid, empty=True)
        until = assignments.assignment_renew(project=project, annotator=person_of(request), now=clock.now())
        return Response(LeaseOutput({"lease_ends_at": until}).data)


class Finish(ApiView):
    writes = "judge"

    @extend_schema(
        operation_id="assignment_finish", request=Nothing, responses={200: FinishedOutput, 403: Problem, 409: Problem}
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Make your grades final. Every pair needs a grade or a flag."""
        project = project_of(request, project_uuid, empty=True)
        return Response({"finished": assignments.assignment_finish(project=project, annotator=person_of(request))})


class Return(ApiView):
    writes = "judge"

    @extend_schema(operation_id="assignment_return", request=Nothing, responses={200: ReturnedOutput, 403: Problem})
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Give back what you hold: your grades are final, the other pairs go to somebody else."""
        project = project_of(request, project_uuid, empty=True)
        return Response({"returned": assignments.assignment_return(project=project, annotator=person_of(request))})


ANSWERED: dict[int, Any] = {200: AnswerOutput, **dict.fromkeys((403, 404, 409, 422), Problem)}


def answered(request: Request, pair_uuid: UUID, submit: Callable[..., Answer], **body: Any) -> Response:
    answer = submit(annotator=person_of(request), pair_uuid=pair_uuid, **body)
    assignment = answer.assignment
    data = {
        "pair": pair_shown(assignment, assignment.index_of(pair_uuid)),
        "next": None if answer.index is None else pair_shown(assignment, answer.index),
        "left": len(assignment.pair_views) - assignment.answered,
    }
    return Response(AnswerOutput(data, context={"request": request}).data)


class Judgment(ApiView):
    writes = "judge"

    @extend_schema(operation_id="judgment", request=Grade, responses=ANSWERED)
    def post(self, request: Request, pair_uuid: UUID) -> Response:
        """Grade a pair, or change its grade while the assignment is open.

        Sent again with the same key and grade it is answered as the first time, and nothing is stored twice.
        """
        return answered(request, pair_uuid, judgments.judgment_submit, **body_of(request, Grade))


class FlagPair(ApiView):
    writes = "judge"

    @extend_schema(operation_id="flag", request=FlagRaised, responses=ANSWERED)
    def post(self, request: Request, pair_uuid: UUID) -> Response:
        """Say why you cannot judge the pair; it then needs no grade of yours."""
        return answered(request, pair_uuid, judgments.flag_set, **body_of(request, FlagRaised))

    @extend_schema(operation_id="flag_withdraw", responses=ANSWERED)
    def delete(self, request: Request, pair_uuid: UUID) -> Response:
        """Take your flag back; the pair needs a grade again, and is the next one."""
        return answered(request, pair_uuid, judgments.flag_withdraw)


class OwnJudgments(ApiView):
    pagination_class = Pages

    @extend_schema(operation_id="own_judgments", responses={200: OwnJudgmentOutput(many=True), 403: Problem})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Your own final grades, newest first."""
        project = project_of(request, project_uuid)
        mine = final_grades(project=project, annotator=person_of(request))
        return paged(request, self, mine, OwnJudgmentOutput)


class PreviewGif(ApiView):
    @extend_schema(operation_id="preview_gif", responses={(200, "image/gif"): OpenApiTypes.BINARY, 404: Problem})
    def get(self, request: Request, preview_uuid: UUID) -> HttpResponseBase:
        """The clip as a GIF, to those who may watch it."""
        return _preview(request, preview_uuid, "preview")


class PreviewMp4(ApiView):
    @extend_schema(
        operation_id="preview_mp4",
        responses={(200, "video/mp4"): OpenApiTypes.BINARY, (206, "video/mp4"): OpenApiTypes.BINARY, 404: Problem},
    )
    def get(self, request: Request, preview_uuid: UUID) -> HttpResponseBase:
        """The same clip as an MP4, or the part of it that a Range header asks for."""
        return _preview(request, preview_uuid, "preview_clip")


def _preview(request: Request, preview_uuid: UUID, field: str) -> HttpResponseBase:
    file = preview_file(user=person_of(request), preview=preview_uuid, field=field)
    return file_answer(request._request, file, content_type=PREVIEW_TYPES[field], cache=IMMUTABLE)
