"""AccessToken: lets a program act as a person. The token itself is shown once and not kept."""

from uuid import uuid4

from django.conf import settings
from django.db import models


class AccessToken(models.Model):
    """One token of a person, under a name they chose; it is good until they revoke it, which deletes the row."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="access_tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token, in hexadecimal.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="access_token_name_once_per_person"),
            models.CheckConstraint(
                condition=models.Q(digest__regex="^[0-9a-f]{64}$"), name="access_token_is_kept_as_digest"
            ),
        ]

    def __str__(self) -> str:
        return self.name
