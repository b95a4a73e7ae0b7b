"""Invitation: a link that lets one person join a project, once."""

from datetime import datetime
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounts.models import Identity, Membership, Project


class Invitation(models.Model):
    """One invitation; the link holds a secret of which only a digest is kept."""

    class Mail(models.TextChoices):
        """Whether the link goes by e-mail; its secret is made when the message is."""

        NONE = ""
        WAITING = "waiting"
        SENT = "sent"
        FAILED = "failed"

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="invitations")
    role = models.CharField(max_length=20, choices=Membership.Role, default=Membership.Role.ANNOTATOR)
    qualifies = models.BooleanField(
        default=False, db_default=False, help_text="By the word of who invites: they judge without training and exam."
    )
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the secret, in hexadecimal.")
    identity = models.ForeignKey(
        Identity,
        models.SET_NULL,
        null=True,
        related_name="invitations",
        help_text="The recipient, where it goes by e-mail.",
    )
    mail = models.CharField(max_length=7, choices=Mail, blank=True, default=Mail.NONE)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    accepted_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(condition=Q(digest__regex="^[0-9a-f]{64}$"), name="invitation_is_kept_as_digest"),
            models.CheckConstraint(
                condition=Q(accepted_by__isnull=True, accepted_at__isnull=True)
                | Q(accepted_by__isnull=False, accepted_at__isnull=False, revoked_at__isnull=True),
                name="invitation_accepted_by_somebody",
            ),
            models.CheckConstraint(
                condition=Q(mail__in=["", "waiting", "sent", "failed"]), name="invitation_mail_is_known"
            ),
            models.CheckConstraint(condition=Q(expires_at__gt=F("created_at")), name="invitation_lasts"),
            models.CheckConstraint(
                condition=Q(qualifies=False) | Q(role="annotator"), name="invitation_qualifies_annotators"
            ),
        ]

    @property
    def role_text(self) -> str:
        return f"{self.role}, qualified" if self.qualifies else self.role

    @property
    def short_name(self) -> str:
        """Tells open invitations apart that are for nobody by name."""
        return f"no. {self.uuid.hex[:6]}"

    def is_open_at(self, now: datetime) -> bool:
        return self.accepted_at is None and self.revoked_at is None and now < self.expires_at
