"""Verification studies for programs of leads and admins."""

from typing import Any
from uuid import UUID

from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import LEAD, STAFF, grant, grant_by, person_of
from core.api import ApiView, ChoiceOfField, CountField, Pages, Problem, WordsField, body_of, form_values, paged
from core.lists import csv_stream
from judging.models import VerificationInspection, VerificationPair, VerificationStudy
from judging.people.selectors import actor_names
from judging.verification import services
from judging.verification.forms import StudyForm
from judging.verification.rules import MOST_STATEMENTS
from judging.verification.selectors import CSV_COLUMNS, answer_lines, report_of, study_counts

ROWS = VerificationStudy.objects.select_related("project", "round")
REFUSED = dict.fromkeys((403, 404, 409, 422), Problem)


class VerificationCounts(serializers.Serializer[Any]):
    pairs = serializers.IntegerField()
    complete = serializers.IntegerField(help_text="Pairs with all their answers.")
    answers = serializers.IntegerField(help_text="One of each person for each pair.")
    target = serializers.IntegerField(help_text="Answers of all pairs together.")
    people = serializers.IntegerField(help_text="Who answered.")


class VerificationShareOutput(serializers.Serializer[Any]):
    """A share of answers, from 0 to 1, with its 95 % interval."""

    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()


class VerificationLineOutput(serializers.Serializer[Any]):
    """The answers to one statement, of all pairs or of one group of them."""

    group = serializers.CharField(help_text="Writer or type; empty where it is of all pairs.")
    statement = serializers.IntegerField(help_text="From 1; 0 where it is of all statements.")
    counts = serializers.ListField(
        child=serializers.IntegerField(), help_text="From strongly disagree to strongly agree."
    )
    neutral = VerificationShareOutput(help_text="At least neutral.")
    agree = VerificationShareOutput(help_text="At least agree.")


class VerificationInspectedOutput(serializers.Serializer[Any]):
    """Of the pairs with one lowest answer: how many were looked at again, and which share was acceptable."""

    value = serializers.IntegerField(help_text="1, strongly disagree, or 2, disagree.")
    n = serializers.IntegerField()
    accepted = VerificationShareOutput(allow_null=True)


class VerificationReportOutput(serializers.Serializer[Any]):
    """The shares so far. Writers are named by role and number."""

    overall = VerificationLineOutput(many=True)
    statements = VerificationLineOutput(many=True)
    types = VerificationLineOutput(many=True)
    writers = VerificationLineOutput(many=True)
    inspected = VerificationInspectedOutput(many=True)


class VerificationStudyOutput(serializers.ModelSerializer[VerificationStudy]):
    """One verification study with its counts."""

    round = serializers.UUIDField(source="round.uuid", default=None, allow_null=True)
    statements = serializers.SerializerMethodField()
    counts = serializers.SerializerMethodField()

    class Meta:
        model = VerificationStudy
        fields = [
            *("uuid", "name", "state", "round", "seed", "n_pairs", "answers_per_pair", "statements", "counts"),
            "created_at",
        ]

    def get_statements(self, row: VerificationStudy) -> list[str]:
        return [statement.text for statement in row.statements.all()]

    @extend_schema_field(VerificationCounts)
    def get_counts(self, row: VerificationStudy) -> Any:
        return study_counts(row)


class VerificationStudyReportOutput(VerificationStudyOutput):
    """One verification study with its counts and its report."""

    report = serializers.SerializerMethodField()

    class Meta(VerificationStudyOutput.Meta):
        fields = [*VerificationStudyOutput.Meta.fields, "report"]

    @extend_schema_field(VerificationReportOutput)
    def get_report(self, row: VerificationStudy) -> Any:
        return VerificationReportOutput(report_of(row, actor_names(row.project, to_lead=False))).data


class VerificationStudyInput(serializers.Serializer[Any]):
    """A study of a random sample; what is left out is as the page has it."""

    name = WordsField(max_length=100)
    n_pairs = CountField(required=False, help_text="Size of the sample, 1 to 10,000.")
    answers_per_pair = CountField(required=False, help_text="People for each pair, 1 to 5.")
    round = serializers.UUIDField(required=False, help_text="A round of writing; of the whole corpus where left out.")
    seed = CountField(required=False, help_text="The same seed draws the same.")
    statements = serializers.ListField(
        child=WordsField(max_length=200), required=False, allow_empty=False, max_length=MOST_STATEMENTS
    )


class VerificationStudyChange(serializers.Serializer[Any]):
    change = ChoiceOfField(list(services.CHANGES))


class VerificationInspectionOutput(serializers.ModelSerializer[VerificationInspection]):
    """Another look at a pair, and what a checker decided; empty while it waits."""

    pair = serializers.UUIDField(source="pair.uuid")

    class Meta:
        model = VerificationInspection
        fields = ["uuid", "pair", "decision", "reason", "note", "start_s", "end_s", "created_at", "decided_at"]


class VerificationStudies(ApiView):
    pagination_class = Pages

    @extend_schema(
        operation_id="verification_studies", responses={200: VerificationStudyOutput(many=True), 403: Problem}
    )
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Verification studies, newest first, with how far each is."""
        project = grant_by(request, project_uuid, STAFF).project
        return paged(request, self, ROWS.filter(project=project), VerificationStudyOutput)

    @extend_schema(
        operation_id="verification_study_create",
        request=VerificationStudyInput,
        responses={201: VerificationStudyOutput, **REFUSED},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Draw a sample of descriptions with their moments, and open it to the checkers of the project."""
        project = grant_by(request, project_uuid, LEAD).project
        body = body_of(request, VerificationStudyInput)
        if statements := body.pop("statements", None):
            body["statements"] = "\n".join(" ".join(text.split()) for text in statements)
        initial = {name: field.initial for name, field in StudyForm.base_fields.items() if field.initial is not None}
        form = StudyForm({**initial, **body}, project=project)
        form_values(form)
        row = services.study_create(project=project, actor=person_of(request), **form.options())
        return Response(VerificationStudyOutput(row).data, status=201)


class OneVerificationStudy(ApiView):
    @extend_schema(
        operation_id="verification_study", responses={200: VerificationStudyReportOutput, 403: Problem, 404: Problem}
    )
    def get(self, request: Request, study_uuid: UUID) -> Response:
        """One study, with how far it is and what was answered."""
        row = get_object_or_404(ROWS, uuid=study_uuid)
        grant(request, row.project, STAFF)
        return Response(VerificationStudyReportOutput(row).data)

    @extend_schema(
        operation_id="verification_study_change",
        request=VerificationStudyChange,
        responses={200: VerificationStudyOutput, **REFUSED},
    )
    def patch(self, request: Request, study_uuid: UUID) -> Response:
        """Close a study, or open it again; the same again changes nothing."""
        row = get_object_or_404(ROWS, uuid=study_uuid)
        grant(request, row.project, LEAD)
        change = body_of(request, VerificationStudyChange)["change"]
        row = services.study_change(study=row, change=change, actor=person_of(request))
        return Response(VerificationStudyOutput(row).data)


class VerificationAnswersCsv(ApiView):
    @extend_schema(
        operation_id="verification_answers_csv",
        responses={(200, "text/csv"): OpenApiTypes.BINARY, 403: Problem, 404: Problem},
    )
    def get(self, request: Request, study_uuid: UUID) -> StreamingHttpResponse:
        """The answers of a study, one a line; people by role and number."""
        row = get_object_or_404(ROWS, uuid=study_uuid)
        grant(request, row.project, STAFF)
        return csv_stream("verification.csv", CSV_COLUMNS, answer_lines(row))


class InspectVerificationPair(ApiView):
    @extend_schema(
        operation_id="verification_pair_inspect",
        request=None,
        responses={200: VerificationInspectionOutput, 403: Problem, 404: Problem},
    )
    def post(self, request: Request, pair_uuid: UUID) -> Response:
        """Send a pair to a checker for another look; the same again changes nothing."""
        row = get_object_or_404(VerificationPair.objects.select_related("study__project"), uuid=pair_uuid)
        grant(request, row.study.project, LEAD)
        inspection = services.inspection_request(pair=row, actor=person_of(request))
        return Response(VerificationInspectionOutput(inspection).data)
