"""The audit log, long work with its progress, and stored files that are still to be removed."""

from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import F, Func, Q


class AuditWords(Func):
    """Texts and numbers of an event's data, as words to search."""

    template = "jsonb_to_tsvector('simple'::regconfig, %(expressions)s, '[\"string\", \"numeric\"]'::jsonb)"
    output_field = SearchVectorField()


class AuditEvent(models.Model):
    """One decision, written in the transaction that carried it out; a trigger refuses changes."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey("accounts.Project", models.PROTECT, null=True, related_name="audit_events")
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    action = models.CharField(max_length=60)
    subject = models.UUIDField(null=True)
    data = models.JSONField(default=dict, encoder=DjangoJSONEncoder)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["project", "-created_at", "-id"], name="audit_by_project_and_time"),
            models.Index(fields=["project", "action", "-created_at", "-id"], name="audit_by_action_and_time"),
            models.Index(fields=["project", "actor", "-created_at", "-id"], name="audit_by_actor_and_time"),
            models.Index(fields=["subject", "-id"], name="audit_by_subject_newest"),
            GinIndex(AuditWords("data"), name="audit_by_words"),
        ]

    def __str__(self) -> str:
        return f"{self.action} at {self.created_at:%Y-%m-%d %H:%M}"


class Job(models.Model):
    """One piece of long work: how far it is, and why it failed if it did."""

    class State(models.TextChoices):
        RUNNING = "running"
        WAITING = "waiting"  # goes on later by itself; ``error`` says what for
        DONE = "done"
        FAILED = "failed"

    AT_WORK = (State.RUNNING, State.WAITING)

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey("accounts.Project", models.CASCADE, related_name="jobs")
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


class LeftFile(models.Model):
    """Removed later: a backup was running, which may still copy it, or the storage did not answer."""

    name = models.CharField(max_length=255, unique=True)
    left_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name
