"""Release: the judged data of a project at one time, in the published file forms."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models import Project


def archive_path(release: "Release", filename: str) -> str:
    return f"releases/{uuid4().hex}.zip"


class Release(models.Model):
    """One archive; ``manifest`` holds its counts and the SHA-256 of every file."""

    class State(models.TextChoices):
        PREPARING = "preparing"
        READY = "ready"
        FAILED = "failed"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="releases")
    version = models.PositiveIntegerField()
    state = models.CharField(max_length=9, choices=State, default=State.PREPARING)
    archive = models.FileField(upload_to=archive_path, blank=True, max_length=255)
    includes_pilot = models.BooleanField(default=False, help_text="Try-outs of the guideline, too.")
    manifest = models.JSONField(default=dict)
    error = models.TextField(blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-version"]
        constraints = [
            models.UniqueConstraint(fields=["project", "version"], name="release_version_once_per_project"),
            models.CheckConstraint(condition=~Q(state="ready") | ~Q(archive=""), name="release_ready_has_its_archive"),
        ]

    def __str__(self) -> str:
        return f"release {self.version} of {self.project}"
