"""TrainSet: a pseudo training set of a project, from its order to its files."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounts.models import Project
from annotation.corpora.models import Measure

MOST_DEPTH = 1_000_000
TYPES = {"json": "application/json", "parquet": "application/vnd.apache.parquet"}  # of its files


class TrainSet(models.Model):
    """Each training query's top ``depth`` moments by similarity, as the published JSON and as Parquet."""

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"  # see error; it can go on

    class Step(models.TextChoices):
        """Steps that ``done`` and ``total`` count."""

        EMBEDDING = "embedding", "Embedding captions"
        RANKING = "ranking", "Ranking queries"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="train_sets")
    depth = models.PositiveIntegerField(help_text="Moments of a query; all of them where there are fewer.")
    measure = models.ForeignKey(
        Measure,
        models.PROTECT,
        null=True,
        related_name="train_sets",
        help_text="Of the similarities; unknown until it is begun.",
    )
    state = models.CharField(max_length=7, choices=State, default=State.RUNNING)
    step = models.CharField(max_length=9, choices=Step, default=Step.EMBEDDING)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    warning = models.CharField(max_length=300, blank=True, help_text="A warning about how it was made.")
    queries = models.PositiveIntegerField(default=0)
    moments = models.PositiveIntegerField(default=0, help_text="Moments that were ranked.")
    rows = models.PositiveBigIntegerField(default=0)
    json = models.FileField(blank=True, max_length=255)
    json_bytes = models.PositiveBigIntegerField(default=0)
    json_sha256 = models.CharField(max_length=64, blank=True)
    parquet = models.FileField(blank=True, max_length=255)
    parquet_bytes = models.PositiveBigIntegerField(default=0)
    parquet_sha256 = models.CharField(max_length=64, blank=True)
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField(auto_now_add=True, help_text="When its progress was last written.")
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "depth"],
                condition=Q(state="running"),
                name="train_set_runs_once_per_project_and_depth",
            ),
            models.CheckConstraint(condition=Q(depth__gte=1), name="train_set_depth_from_1"),
            models.CheckConstraint(
                condition=Q(state__in=["running", "done", "failed"]), name="train_set_state_is_known"
            ),
            models.CheckConstraint(condition=Q(step__in=["embedding", "ranking"]), name="train_set_step_is_known"),
            models.CheckConstraint(condition=Q(done__lte=F("total")), name="train_set_done_within_total"),
            models.CheckConstraint(
                condition=~Q(state="done")
                | ~(
                    Q(json="")
                    | Q(json_sha256="")
                    | Q(parquet="")
                    | Q(parquet_sha256="")
                    | Q(finished_at=None)
                    | Q(measure=None)
                ),
                name="train_set_done_has_its_files",
            ),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="train_set_failed_says_why"),
        ]

    @property
    def progress(self) -> str:
        if not self.total:
            return "Waiting for a worker"
        return f"{self.Step(self.step).label}: {self.done:,} of {self.total:,}"

    @property
    def name(self) -> str:
        """Of its files, less the ending: as releases call them."""
        return f"train_top{self.depth:02d}"
