"""Run: a ranked list per query from one system. Score: what it earned."""

from uuid import uuid4

from django.db import models
from django.db.models import Q

from annotation.models import Project
from judging.models import Release


def run_path(run: "Run", filename: str) -> str:
    return f"runs/{uuid4().hex}.json"


class Run(models.Model):
    """The answers of one system to the queries of one release's split."""

    class State(models.TextChoices):
        RUNNING = "running"
        SCORED = "scored"
        FAILED = "failed"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="runs")
    release = models.ForeignKey(Release, models.PROTECT, related_name="runs")
    system = models.CharField(max_length=100)
    split = models.CharField(max_length=5)
    state = models.CharField(max_length=7, choices=State, default=State.RUNNING)
    file = models.FileField(upload_to=run_path, blank=True, max_length=255)
    n_queries = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["release", "system", "split"], name="run_once_per_release_system_and_split"
            ),
            models.CheckConstraint(condition=Q(split__in=["val", "test"]), name="run_split_is_judged"),
            models.CheckConstraint(condition=~Q(state="scored") | ~Q(file=""), name="run_scored_has_its_file"),
        ]

    def __str__(self) -> str:
        return f"{self.system} on {self.split}"


class Score(models.Model):
    """One number of a run: NDCG@k,IoU>=mu under a convention and a gain."""

    run = models.ForeignKey(Run, models.CASCADE, related_name="scores")
    convention = models.CharField(max_length=10)
    gain = models.CharField(max_length=12)
    k = models.PositiveSmallIntegerField()
    mu = models.FloatField()
    value = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "convention", "gain", "k", "mu"], name="score_once_per_measure"),
            models.CheckConstraint(condition=Q(value__range=(0, 1)), name="score_within_0_and_1"),
        ]

    def __str__(self) -> str:
        return f"NDCG@{self.k},IoU>={self.mu}: {self.value:.4f}"
