"""JudgmentImport: judgments of another tool on their way into a project."""

from django.conf import settings
from django.db import models

from accounts.models import Project
from core.uploads import Upload, upload_constraints


class JudgmentImport(Upload):
    """A Label Studio export; ``mapping`` says which of its fields means what."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="judgment_imports")
    project_name = models.CharField(max_length=200)
    mapping = models.JSONField()
    project = models.ForeignKey(
        Project, models.PROTECT, null=True, related_name="+", help_text="The project made of it, once it is done."
    )

    class Meta:
        constraints = upload_constraints("judgment_import")
