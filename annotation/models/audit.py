"""AuditEvent: what was decided, by whom, when. Rows are only ever added."""

from uuid import uuid4

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models

from annotation.models.project import Project


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
            models.Index(fields=["project", "-id"], name="audit_by_project_newest"),
            models.Index(fields=["subject", "-id"], name="audit_by_subject_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.action} at {self.created_at:%Y-%m-%d %H:%M}"
