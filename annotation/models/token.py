"""AccessToken: lets a program act as a person. The token itself is shown once and not kept."""

from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone


class AccessToken(models.Model):
    """One token of a person, under a name they chose, good for some scopes until it expires or is revoked.

    Revoking it deletes the row.
    """

    class Scope(models.TextChoices):
        READ = "read", "Read: look at what you may see"
        JUDGE = "judge", "Judge: take batches, grade, flag, finish"
        UPLOAD = "upload", "Upload: bring runs to the leaderboard and withdraw them"
        MANAGE = "manage", "Manage: review, withdraw pairs, set priorities, start benchmark runs"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="access_tokens")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the token, in hexadecimal.")
    scopes = ArrayField(  # what a release without scopes makes may do all, as its tokens could
        models.CharField(max_length=10, choices=Scope), default=list, db_default=["read", "judge", "upload", "manage"]
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, help_text="Null: it does not end by itself.")
    used_at = models.DateTimeField(null=True, help_text="True to ten minutes.")

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="access_token_name_once_per_person"),
            models.CheckConstraint(
                condition=models.Q(digest__regex="^[0-9a-f]{64}$"), name="access_token_is_kept_as_digest"
            ),
            models.CheckConstraint(
                condition=models.Q(scopes__contained_by=["read", "judge", "upload", "manage"], scopes__len__gt=0),
                name="access_token_has_known_scopes",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()
