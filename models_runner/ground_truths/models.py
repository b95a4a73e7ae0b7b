"""Ground truth of another form than a release has, each with a leaderboard of its own, and the runs scored on it."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounts.models import Project
from models_runner.ground_truths.rules import FORM_LABELS, Form

SHA256 = "^[0-9a-f]{64}$"


def ground_truth_path(row: models.Model, filename: str) -> str:
    return f"ground_truths/{uuid4().hex}"


class GroundTruth(models.Model):
    """A file of labels that leads or admins upload; neither it nor who may see it changes."""

    class State(models.TextChoices):
        READING = "reading"
        READY = "ready"
        FAILED = "failed"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="ground_truths")
    name = models.CharField(max_length=100)
    split = models.CharField(max_length=40, help_text="A label for people, as test or val_1.")
    form = models.CharField(
        max_length=12,
        blank=True,
        choices=[(form.value, label) for form, label in FORM_LABELS.items()],
        help_text="Empty until it is seen from the content.",
    )
    is_public = models.BooleanField(default=False, help_text="Participants may have the file, and upload runs.")
    state = models.CharField(max_length=7, choices=State, default=State.READING)
    file = models.FileField(upload_to=ground_truth_path, max_length=255, help_text="As it was uploaded.")
    file_name = models.CharField(max_length=200)
    bytes = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64)
    n_queries = models.PositiveIntegerField(default=0, help_text="Of a matrix, its videos and captions.")
    n_videos = models.PositiveIntegerField(
        null=True, help_text="Of a matrix; empty where it was read before they were counted, and of other forms."
    )
    measures = models.JSONField(default=list, help_text="The families of measures that it has what it takes for.")
    error = models.TextField(blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="ground_truth_name_once_per_project"),
            models.CheckConstraint(condition=~Q(name=""), name="ground_truth_has_a_name"),
            models.CheckConstraint(condition=Q(form__in=["", *Form]), name="ground_truth_form_is_known"),
            models.CheckConstraint(
                condition=Q(state__in=["reading", "ready", "failed"]), name="ground_truth_state_is_known"
            ),
            models.CheckConstraint(condition=Q(sha256__regex=SHA256), name="ground_truth_has_a_checksum"),
            models.CheckConstraint(
                condition=~Q(state="ready") | (~Q(form="") & Q(n_queries__gte=1) & ~Q(measures=[])),
                name="ground_truth_ready_was_read",
            ),
            models.CheckConstraint(
                condition=Q(n_videos=None) | Q(form="matrix", n_videos__gte=1, n_videos__lt=F("n_queries")),
                name="ground_truth_of_a_matrix_alone_counts_videos",
            ),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="ground_truth_failed_says_why"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_at_work(self) -> bool:
        return self.state == self.State.READING

    @property
    def n_captions(self) -> int:
        """Of a matrix whose videos were counted."""
        return self.n_queries - (self.n_videos or 0)

    @property
    def is_ready(self) -> bool:
        return self.state == self.State.READY


class TruthRun(models.Model):
    """The answers of one system, scored on one ground truth by the measures that its owner has chosen."""

    class State(models.TextChoices):
        WAITING = "waiting"
        SCORED = "scored"
        FAILED = "failed"
        WITHDRAWN = "withdrawn"

    ENDED = (State.FAILED, State.WITHDRAWN)  # their names are free again, and the ground truth may go with them

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    truth = models.ForeignKey(GroundTruth, models.PROTECT, related_name="runs")
    system = models.CharField(max_length=100)
    team = models.CharField(max_length=100, blank=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="truth_runs")
    state = models.CharField(max_length=9, choices=State, default=State.WAITING)
    file = models.FileField(upload_to=ground_truth_path, blank=True, max_length=255, help_text="As it was uploaded.")
    file_name = models.CharField(max_length=200, blank=True)
    bytes = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64)
    measures = models.JSONField(help_text="The families of measures that it is scored by.")
    options = models.JSONField(default=dict, help_text="How they are computed: see rules.Options.")
    n_queries = models.PositiveIntegerField(default=0, help_text="That its means are over.")
    n_missing = models.PositiveIntegerField(default=0, help_text="Of those, not answered.")
    warnings = models.JSONField(default=list, help_text="Sentences on what is odd about the file.")
    error = models.TextField(blank=True)
    reason = models.CharField(max_length=500, blank=True, help_text="Why it was withdrawn.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["truth", "owner", "system"],
                condition=~Q(state__in=["failed", "withdrawn"]),
                name="truth_run_name_once_per_owner",
            ),
            models.UniqueConstraint(
                fields=["truth", "owner"], condition=Q(state="waiting"), name="truth_run_one_waiting_per_owner"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "scored", "failed", "withdrawn"]), name="truth_run_state_is_known"
            ),
            models.CheckConstraint(condition=Q(sha256__regex=SHA256), name="truth_run_has_a_checksum"),
            models.CheckConstraint(condition=~Q(measures=[]), name="truth_run_chooses_a_measure"),
            models.CheckConstraint(
                condition=Q(state="failed") | ~Q(file=""), name="truth_run_has_its_file_unless_it_failed"
            ),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="truth_run_failed_says_why"),
            models.CheckConstraint(
                condition=~Q(state="withdrawn") | ~Q(reason=""), name="truth_run_withdrawn_says_why"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """As everybody sees it."""
        return f"{self.system} ({self.team})" if self.team else self.system

    @property
    def n_answered(self) -> int:
        """How many of the queries that its means are over it answers."""
        return self.n_queries - self.n_missing

    @property
    def is_at_work(self) -> bool:
        return self.state == self.State.WAITING


class TruthScore(models.Model):
    """The mean of one measure of a run."""

    run = models.ForeignKey(TruthRun, models.CASCADE, related_name="scores")
    family = models.CharField(max_length=10)
    metric = models.CharField(max_length=40)
    setting = models.CharField(max_length=40, blank=True, help_text="What else it depends on, as gain linear.")
    value = models.FloatField(help_text="A share in [0, 1], or a rank from 1.")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["run", "family", "metric", "setting"], name="truth_score_once_per_measure"),
            models.CheckConstraint(
                condition=Q(value__gte=0, value__lt=float("inf")), name="truth_score_is_a_number_from_0"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.metric}: {self.value:.4f}"
