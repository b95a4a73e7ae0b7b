"""BrowserSession: somebody's log-in in one browser. Throttle: how often something was tried of late."""

from typing import Any
from uuid import uuid4

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone

WRITTEN_AGAIN = ["session_data", "expire_date", "user", "client"]


class BrowserSession(AbstractBaseSession):
    """Django's session, with whose it is. No address is kept; the browser is as rough as "Firefox on Linux"."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="browser_sessions")
    client = models.CharField(max_length=60, blank=True)
    began_at = models.DateTimeField(default=timezone.now)
    used_at = models.DateTimeField(default=timezone.now, help_text="True to ten minutes.")

    class Meta:
        ordering = ["-used_at"]

    @classmethod
    def get_session_store_class(cls) -> Any:
        from django.conf import settings
        from django.utils.module_loading import import_string

        return import_string(f"{settings.SESSION_ENGINE}.SessionStore")

    def save(self, *args: Any, **kwargs: Any) -> None:
        """A session store makes a new instance each time it saves: when it began is not to be written anew."""
        if kwargs.get("force_update"):
            kwargs["update_fields"] = WRITTEN_AGAIN
        super().save(*args, **kwargs)


class Throttle(models.Model):
    """How often something was tried within its span of time; whose it was is kept as a digest under the site's key."""

    kind = models.CharField(max_length=40)
    digest = models.CharField(max_length=64)
    tries = models.PositiveIntegerField(default=1)
    began_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "digest"], name="throttle_once_per_kind_and_digest"),
            models.CheckConstraint(condition=models.Q(digest__regex="^[0-9a-f]{64}$"), name="throttle_names_nobody"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.tries}"
