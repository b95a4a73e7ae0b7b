"""AuditEvent: what was decided, by whom, when. Rows are only ever added."""

from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import Func

from annotation.models.project import Project


class AuditWords(Func):
    """Texts and numbers of an event's data, as words to search."""

    template = "jsonb_to_tsvector('simple'::regconfig, %(expressions)s, '[\"string\", \"numeric\"]'::jsonb)"
    output_field = SearchVectorField()


class AuditEvent(models.Model):
    """One decision, written in the transaction that carried it out; a trigger refuses changes."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, null=True, related_name="audit_events")
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
