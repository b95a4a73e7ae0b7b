"""Ground truth of other forms for programs: uploading it and runs on it, and reading the scores."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import RUNNERS, STAFF, grant_by, person_of
from core.api import ApiView, FileView, Invalid, Pages, form_data_of, form_values, paged
from core.api import Problem as REFUSED
from models_runner.ground_truths import services
from models_runner.ground_truths.forms import GroundTruthForm, TruthRunForm
from models_runner.ground_truths.rules import DIRECTIONS, OPTION_NAMES, OPTIONS_BY_FORM, Form, MeasureFamily
from models_runner.ground_truths.selectors import (
    scores_on,
    truth_granted,
    truth_run_granted,
    truth_run_withdrawable,
    truth_runs_visible_to,
    truths_visible_to,
)
from models_runner.models import GroundTruth, TruthRun, TruthScore
from moment_retrieval.metrics.ndcg_iou import Convention, Gain

FAMILIES = ", ".join(MeasureFamily)


class GroundTruthOutput(serializers.ModelSerializer[GroundTruth]):
    """A ground truth; ``measures`` are the families that it has what it takes for, once it is read."""

    form = serializers.CharField(help_text="Empty until it is seen from the content.")
    measures = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = GroundTruth
        fields = [
            *("uuid", "name", "split", "form", "is_public", "state", "file_name", "bytes", "sha256"),
            *("n_queries", "measures", "error", "created_at"),
        ]


class GroundTruthInput(serializers.Serializer[Any]):
    """A form with a file."""

    file = serializers.FileField(help_text="Labels, plain, .gz, or alone in a .zip; a matrix as .npy or .npz.")
    name = serializers.CharField(max_length=100)
    split = serializers.CharField(max_length=40, required=False, help_text="A label for people; test if left out.")
    form = serializers.ChoiceField(
        choices=[form.value for form in Form], required=False, help_text="Seen from the content if it is left out."
    )
    is_public = serializers.BooleanField(required=False, help_text="Whether participants may have the labels.")


class TruthScoreOutput(serializers.ModelSerializer[TruthScore]):
    """The mean of one measure."""

    class Meta:
        model = TruthScore
        fields = ["family", "metric", "setting", "value"]


class TruthRunOutput(serializers.ModelSerializer[TruthRun]):
    """A run on a ground truth; ``error`` says why it failed, with the line of the file."""

    ground_truth = serializers.UUIDField(source="truth.uuid")
    measures = serializers.ListField(child=serializers.CharField())
    options = serializers.DictField(help_text="How the measures are computed.")
    remarks = serializers.ListField(
        source="warnings", child=serializers.CharField(), help_text="Sentences on what is odd about the file."
    )
    scores = TruthScoreOutput(many=True)

    class Meta:
        model = TruthRun
        fields = [
            *("uuid", "ground_truth", "system", "team", "state", "bytes", "sha256", "measures", "options"),
            *("n_queries", "n_missing", "remarks", "error", "scores", "created_at"),
        ]


class TruthRunInput(serializers.Serializer[Any]):
    """A form with a file."""

    file = serializers.FileField(help_text="A run in any form that is read; for a matrix .npy or .npz.")
    system = serializers.CharField(max_length=100)
    team = serializers.CharField(max_length=100, required=False)
    measures = serializers.CharField(
        required=False, help_text=f"Families with commas, of {FAMILIES}; all that the ground truth has if left out."
    )
    cutoffs = serializers.CharField(required=False, help_text="K of R@K or n of Rank n@m, as ``1,5,10``.")
    thresholds = serializers.CharField(required=False, help_text="Least IoU, as ``0.5,0.7``.")
    nms = serializers.CharField(required=False, help_text="Suppress moments that overlap a better one more.")
    convention = serializers.ChoiceField(
        choices=[convention.value for convention in Convention],
        required=False,
        help_text="Of TVR with ``nms``, how equal scores stand: ``released`` as the published scorer has them.",
    )
    gain = serializers.ChoiceField(
        choices=[gain.value for gain in Gain], required=False, help_text="Of the semantic nDCG."
    )
    directions = serializers.CharField(required=False, help_text="Of a matrix, with commas: ``v2t,t2v``.")


class TruthEntryOutput(serializers.Serializer[TruthScore]):
    """The mean of one measure of one run."""

    run = serializers.UUIDField(source="run.uuid")
    system = serializers.CharField(source="run.system")
    team = serializers.CharField(source="run.team")
    n_queries = serializers.IntegerField(source="run.n_queries", help_text="Of the run's means, as on its page.")
    n_missing = serializers.IntegerField(source="run.n_missing", help_text="Of those, not answered.")
    family = serializers.CharField()
    metric = serializers.CharField()
    setting = serializers.CharField(help_text="What else the value depends on, as ``gain linear``, or empty.")
    value = serializers.FloatField(help_text="A share in [0, 1], or of MedR and MeanR a rank from 1.")


class TruthScoresOutput(serializers.Serializer[Any]):
    """Every scored run by every measure, over all queries, the first upload first; a run itself also has its scores by
    type of query."""

    scores = TruthEntryOutput(many=True)


class GroundTruths(FileView):
    limit, instead = "RUN_MAX_MB", "pack it with gzip"
    pagination_class = Pages

    @extend_schema(operation_id="ground_truths", responses={200: GroundTruthOutput(many=True), 403: REFUSED})
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Ground truths of other forms, newest first; to participants the public ones."""
        membership = grant_by(request, project_uuid, RUNNERS)
        return paged(request, self, truths_visible_to(membership), GroundTruthOutput)

    @extend_schema(
        operation_id="ground_truth_upload",
        request={"multipart/form-data": GroundTruthInput},
        responses={201: GroundTruthOutput, **dict.fromkeys((400, 403, 409, 413, 415, 422), REFUSED)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Bring ground truth, as a lead or admin: a worker reads it; ask for it until its state says ready."""
        project = grant_by(request, project_uuid, STAFF).project
        fields = {"split": "test", **form_data_of(request, GroundTruthForm)}
        values = form_values(GroundTruthForm(fields, request.FILES))
        truth = services.ground_truth_create(project=project, actor=person_of(request), **values)
        return Response(GroundTruthOutput(truth).data, status=201)


class OneGroundTruth(ApiView):
    @extend_schema(operation_id="ground_truth", responses={200: GroundTruthOutput, 403: REFUSED, 404: REFUSED})
    def get(self, request: Request, truth_uuid: UUID) -> Response:
        """One ground truth: how far it is, and what it can measure."""
        truth, _ = truth_granted(request, truth_uuid)
        return Response(GroundTruthOutput(truth).data)

    @extend_schema(operation_id="ground_truth_delete", responses={204: None, **dict.fromkeys((403, 404, 409), REFUSED)})
    def delete(self, request: Request, truth_uuid: UUID) -> Response:
        """Delete a ground truth that no run stands on, as a lead or admin."""
        truth, _ = truth_granted(request, truth_uuid, STAFF)
        services.ground_truth_delete(truth=truth, actor=person_of(request))
        return Response(status=204)


class GroundTruthScores(ApiView):
    @extend_schema(operation_id="ground_truth_scores", responses={200: TruthScoresOutput, 403: REFUSED, 404: REFUSED})
    def get(self, request: Request, truth_uuid: UUID) -> Response:
        """Every scored run on a ground truth by every measure."""
        truth, _ = truth_granted(request, truth_uuid)
        return Response(TruthScoresOutput({"scores": scores_on(truth)}).data)


class TruthRuns(FileView):
    writes, limit, instead = "upload", "RUN_MAX_MB", "pack it with gzip"
    pagination_class = Pages

    @extend_schema(operation_id="truth_runs", responses={200: TruthRunOutput(many=True), 403: REFUSED, 404: REFUSED})
    def get(self, request: Request, truth_uuid: UUID) -> Response:
        """Your runs on a ground truth with their scores, newest first; leads and admins get everybody's."""
        truth, membership = truth_granted(request, truth_uuid)
        return paged(request, self, truth_runs_visible_to(truth, membership), TruthRunOutput)

    @extend_schema(
        operation_id="truth_run_upload",
        request={"multipart/form-data": TruthRunInput},
        responses={201: TruthRunOutput, **dict.fromkeys((400, 403, 404, 409, 413, 415, 422), REFUSED)},
    )
    def post(self, request: Request, truth_uuid: UUID) -> Response:
        """Bring a run: it is stored, then read and scored by a worker; ask for it until its state says scored."""
        truth, membership = truth_granted(request, truth_uuid)
        services.truth_run_check(membership, truth, timezone.now())  # before the body is read
        fields = form_data_of(request, TruthRunForm)
        if foreign := set(fields) & set(OPTION_NAMES) - set(OPTIONS_BY_FORM[Form(truth.form)]):
            raise Invalid(f"{min(foreign)}: Measures of ground truth of the form {truth.form} have no such option.")
        for name, first_values in (("measures", truth.measures), ("directions", DIRECTIONS)):
            fields[name] = [word.strip() for word in fields.get(name, ",".join(first_values)).split(",")]
        values = form_values(TruthRunForm(fields, request.FILES, truth=truth))
        run = services.truth_run_upload(membership=membership, truth=truth, **values)
        return Response(TruthRunOutput(run).data, status=201)


class OneTruthRun(ApiView):
    writes = "upload"

    @extend_schema(operation_id="truth_run", responses={200: TruthRunOutput, 403: REFUSED, 404: REFUSED})
    def get(self, request: Request, run_uuid: UUID) -> Response:
        """One run on a ground truth with its scores; yours, or any to leads and admins."""
        run, _ = truth_run_granted(request, run_uuid)
        return Response(TruthRunOutput(run).data)

    @extend_schema(
        operation_id="truth_run_withdraw",
        parameters=[OpenApiParameter("reason", str, required=True, description="Why, in at most 500 characters.")],
        responses={200: TruthRunOutput, **dict.fromkeys((403, 404, 409), REFUSED)},
    )
    def delete(self, request: Request, run_uuid: UUID) -> Response:
        """Withdraw a run on a ground truth: yours, or any for leads. It leaves the leaderboard."""
        run = truth_run_withdrawable(request, run_uuid)
        reason = request.query_params.get("reason", "")
        row = services.truth_run_withdraw(run=run, actor=person_of(request), reason=reason)
        return Response(TruthRunOutput(row).data)
