"""Benchmark runs for programs: ordering them, seeing how far they are, cancelling, resuming, deleting."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import STAFF, benchmark_runners, grant, grant_by, person_of
from core.api import ApiView, Invalid, KeyField, Pages, body_of, paged
from core.api import Problem as REFUSED
from models_runner.experiments.deletion import experiment_delete
from models_runner.experiments.forms import form_of
from models_runner.experiments.models import MOST_SEEDS
from models_runner.experiments.selectors import experiments_with_trainings, state_of, training_granted
from models_runner.experiments.services import experiment_create, training_cancel, training_resume
from models_runner.experiments.settings import PRESETS
from models_runner.models import Experiment, Training
from moment_retrieval.settings import Boundaries, Encoder, Ranking, Streams


class TrainingOutput(serializers.ModelSerializer[Training]):
    """One seed; ``best`` is the highest NDCG@20,IoU>=0.5 on validation, ``error`` says why it failed."""

    val_run = serializers.UUIDField(
        source="val_run.uuid", default=None, allow_null=True, help_text="Its run on validation; null until done."
    )
    test_run = serializers.UUIDField(source="test_run.uuid", default=None, allow_null=True)

    class Meta:
        model = Training
        fields = [
            *("uuid", "seed", "state", "device", "attempts", "step", "steps", "epoch", "loss", "best", "best_step"),
            *("seconds_per_step", "eta_s", "memory_mb", "curve", "notices", "error", "started_at", "ended_at"),
            *("val_run", "test_run", "has_weights"),
        ]


class ExperimentOutput(serializers.ModelSerializer[Experiment]):
    """A baseline and its seeds; its state is that of the seed that is least finished."""

    release = serializers.IntegerField(source="release.version")
    candidates = serializers.UUIDField(
        source="candidates.uuid", default=None, allow_null=True, help_text="Whose videos CONQUER looks at; else null."
    )
    state = serializers.SerializerMethodField()
    trainings = TrainingOutput(many=True)

    class Meta:
        model = Experiment
        fields = [
            *("uuid", "name", "baseline", "top_n", "release", "candidates", "options", "labels", "state", "created_at"),
            "trainings",
        ]

    def get_state(self, experiment: Experiment) -> str:
        return state_of(list(experiment.trainings.all()))


class ExperimentInput(serializers.Serializer[Any]):
    """Fields of the form of a new benchmark run; what is left out is as the preset says."""

    key = KeyField(required=False, help_text="Any UUID: sent again with it, a request is answered as the first time.")
    release = serializers.IntegerField(required=False, help_text="Version; the newest if it is left out.")
    baseline = serializers.ChoiceField(Experiment.Baseline.choices)
    top_n = serializers.IntegerField(
        min_value=Experiment.TOP_N[0], max_value=Experiment.TOP_N[-1], required=False, help_text="40 if left out."
    )
    seeds = serializers.IntegerField(min_value=1, max_value=MOST_SEEDS, required=False, help_text="1 if left out.")
    name = serializers.CharField(max_length=80, required=False)
    preset = serializers.ChoiceField(list(PRESETS), required=False)
    video = serializers.CharField(required=False, help_text="Features; those of the only file if left out.")
    subtitle = serializers.CharField(required=False)
    query = serializers.CharField(required=False)
    candidates = serializers.UUIDField(required=False, help_text="A finished seed of XML or ReLoCLNet, for CONQUER.")
    epochs = serializers.IntegerField(required=False)
    evaluations_per_epoch = serializers.FloatField(required=False)
    patience = serializers.IntegerField(required=False)
    batch = serializers.IntegerField(required=False)
    lr = serializers.FloatField(required=False)
    warmup = serializers.FloatField(required=False)
    hidden = serializers.IntegerField(required=False)
    padding = serializers.ChoiceField(["official", "compact"], required=False)
    precision = serializers.ChoiceField(["float32", "bfloat16", "float16"], required=False)
    labels = serializers.ChoiceField(
        Experiment.Labels.choices, required=False, help_text="Of validation and test; judged if left out."
    )
    end_offset_s = serializers.FloatField(
        required=False, help_text="0 or 1.5; as released if left out: 1.5 for XML and CONQUER, 0 for ReLoCLNet."
    )
    endpoints = serializers.BooleanField(required=False, help_text="Where a clip lies in its video (TEF).")
    mask_positives = serializers.BooleanField(required=False)
    sum_positives = serializers.BooleanField(required=False, help_text="In ReLoCLNet's video contrast.")
    hard_from_epoch = serializers.IntegerField(required=False)
    hard_pool = serializers.IntegerField(required=False)
    weigh_by_similarity = serializers.BooleanField(required=False)
    same_split = serializers.BooleanField(
        required=False, help_text="CONQUER's candidates come from the split of the query's own video."
    )
    shuffle_links = serializers.BooleanField(required=False)
    sampled_videos = serializers.IntegerField(required=False, help_text="CONQUER's; 0 if left out, its authors 3.")
    sampled_pool = serializers.IntegerField(required=False)
    score_videos = serializers.BooleanField(required=False, help_text="CONQUER's, with sampled videos.")
    ranking = serializers.ChoiceField(list(Ranking), required=False, help_text="CONQUER's; disjoint if left out.")
    alpha = serializers.FloatField(
        required=False, help_text="Of XML and ReLoCLNet: how steeply a video's score counts."
    )
    margin = serializers.FloatField(required=False, help_text="Of XML and ReLoCLNet; 0.1 if left out.")
    span_weight = serializers.FloatField(required=False, help_text="0.01 if left out.")
    frame_weight = serializers.FloatField(required=False, help_text="ReLoCLNet's; 0.03 if left out.")
    video_weight = serializers.FloatField(required=False, help_text="ReLoCLNet's; 0.03 if left out.")
    own_video_weight = serializers.FloatField(required=False, help_text="CONQUER's that scores videos.")
    encoder = serializers.ChoiceField(list(Encoder), required=False, help_text="XML's; transformer if left out.")
    modular = serializers.BooleanField(required=False, help_text="XML's; true if left out.")
    streams = serializers.ChoiceField(list(Streams), required=False, help_text="XML's; both if left out.")
    boundaries = serializers.ChoiceField(list(Boundaries), required=False, help_text="XML's; convolution if left out.")


class Experiments(ApiView):
    pagination_class = Pages

    @extend_schema(
        operation_id="experiments",
        responses={200: ExperimentOutput(many=True), 403: REFUSED},
    )
    def get(self, request: Request, project_uuid: UUID) -> Response:
        """Benchmark runs, the newest first."""
        membership = grant_by(request, project_uuid, STAFF)
        return paged(request, self, experiments_with_trainings().filter(project=membership.project), ExperimentOutput)

    @extend_schema(
        operation_id="experiment_start",
        request=ExperimentInput,
        responses={201: ExperimentOutput, **dict.fromkeys((403, 409, 422), REFUSED)},
    )
    def post(self, request: Request, project_uuid: UUID) -> Response:
        """Start a benchmark run; for admins, and leads where the site lets them. Ask until its state says done."""
        project = grant_by(request, project_uuid, benchmark_runners).project
        form = form_of(project, body_of(request, ExperimentInput))
        if not form.is_valid():
            raise Invalid(form.refusal)
        experiment = experiment_create(actor=person_of(request), **form.values())
        return Response(ExperimentOutput(experiment).data, status=201)


class OneExperiment(ApiView):
    @extend_schema(operation_id="experiment", responses={200: ExperimentOutput, 403: REFUSED, 404: REFUSED})
    def get(self, request: Request, experiment_uuid: UUID) -> Response:
        """One benchmark run with every seed: how far it is, its curves, its runs."""
        experiment = get_object_or_404(experiments_with_trainings(), uuid=experiment_uuid)
        grant(request._request, experiment.project, STAFF)
        return Response(ExperimentOutput(experiment).data)

    @extend_schema(operation_id="experiment_delete", responses={204: None, **dict.fromkeys((403, 404, 409), REFUSED)})
    def delete(self, request: Request, experiment_uuid: UUID) -> Response:
        """Delete a benchmark run that has ended, with its files; for who may start one. Its runs and scores stay."""
        experiment = get_object_or_404(Experiment.objects.select_related("project"), uuid=experiment_uuid)
        grant(request._request, experiment.project, benchmark_runners)
        experiment_delete(experiment=experiment, actor=person_of(request))
        return Response(status=204)


CHANGED = {200: TrainingOutput, **dict.fromkeys((403, 404, 409), REFUSED)}


class Cancel(ApiView):
    @extend_schema(operation_id="training_cancel", request=None, responses=CHANGED)
    def post(self, request: Request, training_uuid: UUID) -> Response:
        """Cancel a seed: it ends within ten seconds, and can be resumed."""
        training = training_granted(request._request, training_uuid, benchmark_runners)
        return Response(TrainingOutput(training_cancel(training=training, actor=person_of(request))).data)


class Resume(ApiView):
    @extend_schema(operation_id="training_resume", request=None, responses=CHANGED)
    def post(self, request: Request, training_uuid: UUID) -> Response:
        """Have a cancelled or failed seed go on from its last checkpoint."""
        training = training_granted(request._request, training_uuid, benchmark_runners)
        return Response(TrainingOutput(training_resume(training=training, actor=person_of(request))).data)
