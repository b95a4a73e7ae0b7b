"""Runs for programs: bringing them, seeing how far they are and what they scored, the leaderboard."""

from typing import Any, cast
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import RUNNERS, grant_by
from accounts.models import User
from core.api import ApiView, FileView, Pages, form_data_of, form_values, paged
from core.api import Problem as REFUSED
from models_runner.leaderboard import files
from models_runner.leaderboard.forms import SPLITS, RunForm
from models_runner.leaderboard.selectors.leaderboard import filters_for, group_of, leaderboard_tested
from models_runner.leaderboard.selectors.shown_scores import ScoreView, run_granted, run_withdrawable, runs_visible_to
from models_runner.leaderboard.services.runs import run_upload, run_withdraw, upload_check
from models_runner.models import Run, Scoring
from moment_retrieval.metrics.ndcg_iou import Convention, Empty, Gain


class RunOutput(serializers.ModelSerializer[Run]):
    """A run; ``error`` says why it failed, with the line of the file."""

    release = serializers.IntegerField(source="release.version", help_text="The first that it was scored on.")

    class Meta:
        model = Run
        fields = [
            *("uuid", "system", "team", "split", "release", "source", "labels", "state", "step"),
            *("form", "bytes", "sha256", "n_queries", "error", "created_at"),
        ]


class ScoreOutput(serializers.Serializer[Any]):
    """A mean with its 95 % interval; of labels that are hidden from you in steps (see the leaderboard's ``step``)."""

    metric = serializers.CharField(source="column.metric")
    convention = serializers.CharField(source="column.convention")
    gain = serializers.CharField(source="column.gain")
    k = serializers.IntegerField(source="column.k")
    mu = serializers.FloatField(source="column.mu", allow_null=True)
    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    unjudged = serializers.FloatField(allow_null=True)


class ScoringOutput(serializers.ModelSerializer[Scoring]):
    """The run on one release; ``missing`` are its queries that the run does not answer."""

    release = serializers.IntegerField(source="release.version")
    scores = serializers.SerializerMethodField(help_text="None where ``refusal`` says why.")
    refusal = serializers.SerializerMethodField(help_text="Why scores on hidden labels are not shown to you, or empty.")

    @extend_schema_field(ScoreOutput(many=True))
    def get_scores(self, scoring: Scoring) -> list[dict[str, Any]]:
        view: ScoreView = self.context["view"]
        return list(ScoreOutput(view.shown(scoring, scoring.scores.all()), many=True).data)

    def get_refusal(self, scoring: Scoring) -> str:
        view: ScoreView = self.context["view"]
        return view.refusal(scoring)

    class Meta:
        model = Scoring
        fields = [
            *("release", "state", "n_queries", "n_answered", "n_others"),
            *("missing", "remarks", "error", "scores", "refusal"),
        ]
        extra_kwargs = {"remarks": {"source": "warnings"}}


class RunWithScoresOutput(RunOutput):
    """A run with its scores on every release, the newest first."""

    scorings = serializers.SerializerMethodField()

    class Meta(RunOutput.Meta):
        fields = [*RunOutput.Meta.fields, "scorings"]

    @extend_schema_field(ScoringOutput(many=True))
    def get_scorings(self, run: Run) -> list[dict[str, Any]]:
        rows = run.scorings.select_related("release", "run").prefetch_related("scores").order_by("-release__version")
        return list(ScoringOutput(rows, many=True, context=self.context).data)


class RunInput(serializers.Serializer[Any]):
    """A form with a file."""

    file = serializers.FileField(help_text="A run in any form that is read: plain, .gz, or alone in a .zip.")
    system = serializers.CharField(max_length=100)
    team = serializers.CharField(max_length=100, required=False)
    split = serializers.ChoiceField(choices=[split for split, _ in SPLITS])
    release = serializers.IntegerField(required=False, help_text="Version; the newest if it is left out.")


class EntryOutput(serializers.Serializer[Any]):
    """One run by one measure; p-values are those of the requested measure, once they are computed."""

    system = serializers.CharField()
    team = serializers.CharField()
    source = serializers.ChoiceField(Run.Source.choices)  # type: ignore[assignment]
    release = serializers.IntegerField()
    split = serializers.CharField()
    metric = serializers.CharField()
    convention = serializers.CharField()
    gain = serializers.CharField()
    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    unjudged = serializers.FloatField(allow_null=True)
    p = serializers.FloatField(allow_null=True)
    p_holm = serializers.FloatField(allow_null=True)
    tested_against = serializers.CharField(allow_null=True)
    empty = serializers.CharField(
        required=False, help_text="Zero or one: an empty answer where nothing is relevant; of NDCG alone."
    )


class LeaderboardOutput(serializers.Serializer[Any]):
    """Best first by the requested measure."""

    release = serializers.IntegerField()
    split = serializers.CharField()
    is_testing = serializers.BooleanField(help_text="Whether p-values are missing that will come: ask again.")
    step = serializers.FloatField(
        allow_null=True, help_text="Of the scores, where labels are hidden from you; there are no p-values then."
    )
    refusal = serializers.CharField(help_text="Why scores on hidden labels are not shown to you, or empty.")
    scores = EntryOutput(many=True)


class Runs(FileView):
    writes, limit, instead = "upload", "RUN_MAX_MB", "pack it with gzip"
    pagination_class = Pages

    @extend_schema(
        operation_id="runs",
        responses={200: RunOutput(many=True), 403: REFUSED},
    )
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Your runs, newest first; leads and admins get everybody's."""
        membership = grant_by(request, project_uuid, RUNNERS)
        return paged(request, self, runs_visible_to(membership), RunOutput)

    @extend_schema(
        operation_id="run_upload",
        request={"multipart/form-data": RunInput},
        responses={201: RunOutput, **dict.fromkeys((400, 403, 409, 413, 415, 422), REFUSED)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Bring a run: it is stored, then read and scored by a worker; ask for it until its state says scored."""
        membership = grant_by(request, project_uuid, RUNNERS)
        upload_check(membership, timezone.now())  # before the body is read
        fields = form_data_of(request, RunForm)
        newest = membership.project.releases.filter(state="ready").order_by("-version").first()
        fields = {"release": newest.version if newest else "", **fields}
        form = RunForm(fields, request.FILES, project=membership.project)
        run = run_upload(membership=membership, **form_values(form))
        return Response(RunOutput(run).data, status=201)


class OneRun(ApiView):
    writes = "upload"

    @extend_schema(operation_id="run", responses={200: RunWithScoresOutput, 403: REFUSED, 404: REFUSED})
    def get(self, request: Request, run_uuid: UUID) -> Response:
        """One run with its scores; yours, or any to leads and admins."""
        run, membership = run_granted(request, run_uuid)
        context = {"request": request, "view": ScoreView(membership, run.split)}
        return Response(RunWithScoresOutput(run, context=context).data)

    @extend_schema(
        operation_id="run_withdraw",
        parameters=[OpenApiParameter("reason", str, required=True, description="Why, in at most 500 characters.")],
        responses={200: RunOutput, **dict.fromkeys((403, 404, 409), REFUSED)},
    )
    def delete(self, request: Request, run_uuid: UUID) -> Response:
        """Withdraw a run: yours, or any for leads. It leaves the leaderboard, and still counts as an upload."""
        run = run_withdrawable(request, run_uuid)
        reason = request.query_params.get("reason", "")
        row = run_withdraw(run=run, actor=cast(User, request.user), reason=reason)
        return Response(RunOutput(row).data)


class Leaderboard(ApiView):
    @extend_schema(
        operation_id="leaderboard",
        parameters=[
            OpenApiParameter("release", int, description="Version; the newest if it is left out."),
            OpenApiParameter("split", str, enum=[split for split, _ in SPLITS]),
            OpenApiParameter("convention", str, enum=[each.value for each in Convention]),
            OpenApiParameter("gain", str, enum=[each.value for each in Gain]),
            OpenApiParameter(
                "empty",
                str,
                enum=[each.value for each in Empty],
                description="What NDCG counts an empty answer to a query without a relevant moment; one is not tested.",
            ),
            OpenApiParameter("sort", str, description="The measure to rank and to test by: ``NDCG@10,IoU>=0.3``."),
            OpenApiParameter("base", UUID, description="The run to test against; the best if it is left out."),
        ],
        responses={200: LeaderboardOutput, 403: REFUSED, 404: REFUSED},
    )
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Every run of a release and split by every measure, with intervals, unjudged rates and p-values."""
        membership = grant_by(request, project_uuid, RUNNERS)
        sort = request.query_params.get("sort", "")
        query = {"show": group_of(sort), **request.query_params.dict()}
        filters = filters_for(membership, query)
        if filters is None:
            raise Http404
        return Response(files.as_json(filters, leaderboard_tested(filters, membership)))
