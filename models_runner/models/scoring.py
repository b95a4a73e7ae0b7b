"""Scoring: a run on a release. Score: one number of it. PerQuery: the values behind the numbers."""

from uuid import uuid4

from django.db import models
from django.db.models import F, Q

from judging.models import Release
from models_runner.models.run import Run


class Scoring(models.Model):
    """One run against one release; a new release adds a row and leaves those on earlier ones as they are."""

    class State(models.TextChoices):
        WAITING = "waiting"
        SCORED = "scored"
        FAILED = "failed"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    run = models.ForeignKey(Run, models.CASCADE, related_name="scorings")
    release = models.ForeignKey(Release, models.PROTECT, related_name="scorings")
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    n_queries = models.PositiveIntegerField(default=0, help_text="Of the release.")
    n_answered = models.PositiveIntegerField(default=0, help_text="Of those, by the run.")
    n_others = models.PositiveIntegerField(default=0, help_text="Answered, but not judged in the release.")
    missing = models.JSONField(default=list, help_text="Queries of the release that the run does not answer.")
    remarks = models.JSONField(default=list, help_text="Sentences on what is odd about the run; none tells a label.")
    attempts = models.PositiveSmallIntegerField(default=0, help_text="Those that something unexpected ended.")
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    scored_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["release", "state"], name="scoring_by_release_and_state")]
        constraints = [
            models.UniqueConstraint(fields=["run", "release"], name="scoring_once_per_run_and_release"),
            models.CheckConstraint(
                condition=Q(state="scored", scored_at__isnull=False) | (~Q(state="scored") & Q(scored_at=None)),
                name="scoring_scored_has_its_time",
            ),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="scoring_failed_says_why"),
            models.CheckConstraint(
                condition=Q(n_answered__lte=F("n_queries")), name="scoring_answered_within_the_queries"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run} of {self.release}"


class Score(models.Model):
    """One number with its 95 % interval over queries, and how much of what it looked at has no relevance."""

    scoring = models.ForeignKey(Scoring, models.CASCADE, related_name="scores")
    metric = models.CharField(max_length=40)
    convention = models.CharField(max_length=10, blank=True)
    gain = models.CharField(max_length=12, blank=True)
    k = models.PositiveSmallIntegerField()
    mu = models.FloatField(null=True)
    value = models.FloatField()
    low = models.FloatField()
    high = models.FloatField()
    unjudged = models.FloatField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["scoring", "metric", "convention", "gain"], name="score_once_per_measure"),
            models.CheckConstraint(condition=Q(value__range=(0, 1)), name="score_within_0_and_1"),
            models.CheckConstraint(condition=Q(low__lte=F("high")), name="score_interval_is_in_order"),
            models.CheckConstraint(
                condition=Q(unjudged=None) | Q(unjudged__range=(0, 1)), name="score_unjudged_within_0_and_1"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.metric}: {self.value:.4f}"


class PerQuery(models.Model):
    """The value of every query and measure of a scoring; queries as in its truth, measures as in ``COLUMNS``."""

    scoring = models.OneToOneField(Scoring, models.CASCADE, related_name="per_query", primary_key=True)
    values = models.BinaryField(help_text="[queries, measures] of float64, zlib.")

    def __str__(self) -> str:
        return f"values of {self.scoring_id}"
