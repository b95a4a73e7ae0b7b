"""Job: long work that somebody waits for, with its progress."""

from uuid import uuid4

from django.db import models
from django.db.models import F, Q

from annotation.models.project import Project


class Job(models.Model):
    """One piece of long work: how far it is, and why it failed if it did."""

    class State(models.TextChoices):
        RUNNING = "running"
        WAITING = "waiting"  # goes on later by itself; ``error`` says what for
        DONE = "done"
        FAILED = "failed"

    AT_WORK = (State.RUNNING, State.WAITING)

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="jobs")
    kind = models.CharField(max_length=40)
    title = models.CharField(max_length=200)
    state = models.CharField(max_length=10, choices=State, default=State.RUNNING)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "kind"],
                condition=Q(state__in=["running", "waiting"]),
                name="job_runs_once_per_project_and_kind",
            ),
            models.CheckConstraint(condition=Q(done__lte=F("total")), name="job_done_within_total"),
        ]

    def __str__(self) -> str:
        return f"{self.title}: {self.done} of {self.total}"

    @property
    def percent(self) -> int:
        return 100 * self.done // self.total if self.total else 0
