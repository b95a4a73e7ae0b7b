"""Run: a ranked list per query from one system."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models import Project
from judging.models import Release


def run_path(run: "Run", filename: str) -> str:
    return f"runs/{uuid4().hex}"


class Run(models.Model):
    """The answers of one system to the queries of one split; ``release`` is the first that it was scored on."""

    class State(models.TextChoices):
        RUNNING = "running"
        SCORED = "scored"
        FAILED = "failed"
        WITHDRAWN = "withdrawn"

    class Source(models.TextChoices):
        UPLOAD = "upload"
        BASELINE = "baseline"
        SIMILARITY = "similarity"  # made anew for each release, from its own candidates

    class Labels(models.TextChoices):
        JUDGED = "judged", "people's grades"
        SIMILARITY = "similarity", "grades derived from similarity"

    class Step(models.TextChoices):
        WAITING = "waiting", "Waiting for a worker"
        READING = "reading", "Reading and checking the file"
        SCORING = "scoring", "Scoring"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="runs")
    release = models.ForeignKey(Release, models.PROTECT, related_name="runs")
    split = models.CharField(max_length=5)
    system = models.CharField(max_length=100)
    team = models.CharField(max_length=100, blank=True, help_text="Shown to everybody beside the system.")
    source = models.CharField(max_length=10, choices=Source, default=Source.SIMILARITY)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="runs", help_text="Who uploaded it."
    )
    labels = models.CharField(
        max_length=10,
        choices=Labels,
        default=Labels.JUDGED,
        help_text="What it is scored against; the leaderboard has those scored against judgments alone.",
    )
    state = models.CharField(max_length=9, choices=State, default=State.RUNNING)
    step = models.CharField(max_length=7, choices=Step, default=Step.WAITING)
    file = models.FileField(upload_to=run_path, blank=True, max_length=255, help_text="As it was brought.")
    file_name = models.CharField(max_length=200, blank=True)
    form = models.CharField(max_length=20, blank=True, help_text="Of the file; see moment_retrieval.formats.")
    bytes = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    table = models.FileField(upload_to=run_path, blank=True, max_length=255, help_text="As it is scored.")
    n_queries = models.PositiveIntegerField(default=0)
    concerns = models.JSONField(
        default=list, db_default=[], help_text="Why a lead should look at it; for leads and admins alone."
    )
    remarks = models.JSONField(default=list, help_text="Sentences on what is odd about the file.")
    error = models.TextField(blank=True)
    reason = models.CharField(max_length=500, blank=True, help_text="Why it was withdrawn.")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["release", "system", "split"],
                condition=Q(owner=None),
                name="run_once_per_release_system_and_split",
            ),
            models.UniqueConstraint(
                fields=["project", "split", "owner", "system"],
                condition=Q(owner__isnull=False) & ~Q(state__in=["failed", "withdrawn"]),
                name="run_name_once_per_owner_and_split",
            ),
            models.UniqueConstraint(
                fields=["project", "owner"],
                condition=Q(owner__isnull=False, state="running"),
                name="run_one_at_work_per_owner",
            ),
            models.CheckConstraint(condition=Q(split__in=["val", "test"]), name="run_split_is_judged"),
            models.CheckConstraint(
                condition=Q(source__in=["upload", "baseline", "similarity"]), name="run_source_is_known"
            ),
            models.CheckConstraint(
                condition=~Q(source="upload") | (Q(owner__isnull=False) & Q(sha256__regex="^[0-9a-f]{64}$")),
                name="run_upload_has_owner_and_checksum",
            ),
            models.CheckConstraint(
                condition=Q(labels="judged") | Q(labels="similarity", source="baseline", owner=None),
                name="run_of_similarity_labels_is_a_baselines",
            ),
            models.CheckConstraint(condition=~Q(state="scored") | ~Q(file=""), name="run_scored_has_its_file"),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="run_failed_says_why"),
            models.CheckConstraint(condition=~Q(state="withdrawn") | ~Q(reason=""), name="run_withdrawn_says_why"),
        ]

    def __str__(self) -> str:
        return f"{self.name} on {self.split}"

    @property
    def name(self) -> str:
        """As everybody sees it."""
        return f"{self.system} ({self.team})" if self.team else self.system

    @property
    def is_at_work(self) -> bool:
        return self.state == self.State.RUNNING
