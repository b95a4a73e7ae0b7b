"""EconomyStudy: what fewer judgments would have said of the runs."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from judging.models import Release


class EconomyStudy(models.Model):
    """How the ranking of the runs of a release and split changes when judgments are left out."""

    class State(models.TextChoices):
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    release = models.ForeignKey(Release, models.PROTECT, related_name="economy_studies")
    split = models.CharField(max_length=5)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    state = models.CharField(max_length=7, choices=State, default=State.RUNNING)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    result = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["release", "split"], condition=Q(state="running"), name="economy_study_one_at_work"
            ),
            models.CheckConstraint(condition=Q(split__in=["val", "test"]), name="economy_study_split_is_judged"),
            models.CheckConstraint(condition=Q(done__lte=F("total")), name="economy_study_done_within_total"),
            models.CheckConstraint(condition=~Q(state="failed") | ~Q(error=""), name="economy_study_failed_says_why"),
        ]

    def __str__(self) -> str:
        return f"judging economy of {self.release}, {self.split}"

    @property
    def is_at_work(self) -> bool:
        return self.state == self.State.RUNNING
