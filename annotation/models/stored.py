"""LeftFile: a stored file that nobody needs any more and that could not be removed at once."""

from django.db import models


class LeftFile(models.Model):
    """Removed later: a backup was running, which may still copy it, or the storage did not answer."""

    name = models.CharField(max_length=255, unique=True)
    left_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name
