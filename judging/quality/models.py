"""Figures about the work as last computed, alerts to leads, and grades of gold pairs."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Project
from judging.guidelines.models import Guideline, Policy
from judging.work.models import Assignment, Judgment, Pair


class QualityReport(models.Model):
    """The newest figures of a project; computed by a task, as they need every judgment."""

    project = models.OneToOneField(Project, models.PROTECT, related_name="quality_report")
    data = models.JSONField()
    last_judgment = models.BigIntegerField(default=0, help_text="The newest judgment that it counts.")
    computed_at = models.DateTimeField()


class QualityAlert(models.Model):
    """A threshold that an annotator's figures have passed. It only informs; a lead decides."""

    class Kind(models.TextChoices):
        KAPPA = "kappa", "Low agreement with settled relevance or with partners"
        BIAS = "bias", "Grades higher or lower than others"
        GOLD = "gold", "Misaligned on pairs of known truth"
        FAST = "fast", "Many judgments in very little time"
        RUN = "run", "A long run of one grade"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="quality_alerts")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    kind = models.CharField(max_length=5, choices=Kind)
    value = models.FloatField()
    threshold = models.FloatField()
    judgments = models.PositiveIntegerField(help_text="The annotator's judgments when it was raised.")
    raised_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(null=True)
    seen_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    note = models.CharField(max_length=1000, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "annotator", "kind"],
                condition=Q(seen_at__isnull=True),
                name="quality_alert_one_unseen_of_a_kind",
            ),
            models.CheckConstraint(
                condition=Q(seen_at__isnull=True, seen_by__isnull=True)
                | Q(seen_at__isnull=False, seen_by__isnull=False),
                name="quality_alert_seen_by_somebody",
            ),
        ]


class GoldGrade(models.Model):
    """A grade for a pair of known truth, asked among others; it never enters consensus, releases or the pair."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False, help_text="The key of the form that sent it.")
    pair = models.ForeignKey(Pair, models.PROTECT, related_name="gold_grades", db_index=False)
    assignment = models.ForeignKey(Assignment, models.PROTECT, related_name="gold_grades")
    annotator = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="gold_grades", db_index=False)
    grade = models.PositiveSmallIntegerField()
    truth = models.PositiveSmallIntegerField(
        null=True, help_text="The pair's relevance when it was requested; null where it is requested for company only."
    )
    revision = models.PositiveSmallIntegerField(default=0)
    history = models.JSONField(default=list, help_text="Each form that was sent: its key, grade and time.")
    position = models.PositiveSmallIntegerField()
    comment = models.TextField(blank=True)
    active_ms = models.PositiveIntegerField(null=True)
    source = models.CharField(max_length=9, choices=Judgment.Source)
    guideline = models.ForeignKey(Guideline, models.PROTECT, related_name="+", db_index=False)
    policy = models.ForeignKey(Policy, models.PROTECT, related_name="+", db_index=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["pair", "annotator"], name="gold_grade_once_per_pair_and_annotator"),
            models.CheckConstraint(
                condition=Q(grade__range=(0, 9)) & (Q(truth__isnull=True) | Q(truth__range=(0, 9))),
                name="gold_grade_from_0_to_9",
            ),
        ]
        indexes = [models.Index(fields=["annotator", "created_at"], name="gold_by_annotator_and_day")]
