"""Policy and Guideline: versioned, because every judgment says under which versions it was given."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models import Moment, Project


class Policy(models.Model):
    """One version of a project's numbers; the newest is in force."""

    project = models.ForeignKey(Project, models.PROTECT, related_name="policies")
    version = models.PositiveIntegerField()
    lease_minutes = models.PositiveSmallIntegerField(default=20)
    break_minutes = models.PositiveSmallIntegerField(default=25, help_text="Suggest a break after so long; 0: never.")
    extend_from_mean = models.FloatField(
        default=2.0, help_text="Suggest a second batch from this mean of the last five."
    )
    extend_automatically = models.BooleanField(default=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "policies"
        constraints = [
            models.UniqueConstraint(fields=["project", "version"], name="policy_version_once_per_project"),
            models.CheckConstraint(condition=Q(lease_minutes__gte=1), name="policy_lease_lasts"),
            models.CheckConstraint(condition=Q(extend_from_mean__range=(0, 4)), name="policy_mean_is_a_relevance"),
        ]

    def __str__(self) -> str:
        return f"policy {self.version}"


class Guideline(models.Model):
    """One version of the text annotators judge by; the newest is in force."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="guidelines")
    version = models.PositiveIntegerField()
    body = models.TextField(help_text="Markdown")
    levels = models.JSONField(help_text="The one-line meaning of each grade, 0 first.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "version"], name="guideline_version_once_per_project")
        ]

    def __str__(self) -> str:
        return f"guideline {self.version}"


class GuidelineExample(models.Model):
    """A moment that shows what a grade means for a query."""

    guideline = models.ForeignKey(Guideline, models.CASCADE, related_name="examples")
    grade = models.PositiveSmallIntegerField()
    query_text = models.TextField()
    moment = models.ForeignKey(Moment, models.PROTECT, related_name="+")

    class Meta:
        ordering = ["-grade"]
        constraints = [
            models.UniqueConstraint(fields=["guideline", "grade"], name="guideline_example_once_per_grade"),
            models.CheckConstraint(condition=Q(grade__range=(0, 4)), name="guideline_example_grade_from_0_to_4"),
        ]

    def __str__(self) -> str:
        return f"example of grade {self.grade}"
