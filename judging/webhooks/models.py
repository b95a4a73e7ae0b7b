"""Webhook: an address that hears of a project's events. WebhookDelivery: one message to it, until it is sent."""

from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounts.models import Project
from judging.webhooks.rules import LONGEST_URL


class Event(models.TextChoices):
    BATCH_DONE = "batch.done", "A batch is done"
    QUERY_WAITING = "query.waiting", "A query waits for a decision"
    RELEASE_READY = "release.ready", "A release is ready"
    EXPERIMENT_ENDED = "experiment.ended", "A benchmark run has ended"


PING = "ping"  # the event of a message that only tries the address


class Webhook(models.Model):
    """One address of a project, with the secret that signs what is sent there."""

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    project = models.ForeignKey(Project, models.PROTECT, related_name="webhooks")
    url = models.CharField(max_length=LONGEST_URL)
    secret = models.TextField(help_text="Encrypted under the site's key, as secrets of phones are.")
    events = ArrayField(models.CharField(max_length=20, choices=Event))
    is_active = models.BooleanField(default=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "url"], name="webhook_url_once_per_project"),
            models.CheckConstraint(condition=Q(url__regex="^https?://"), name="webhook_url_is_of_the_web"),
            models.CheckConstraint(condition=~Q(secret=""), name="webhook_has_a_secret"),  # nosec B106 - no secret, but what is none
            models.CheckConstraint(
                condition=Q(events__contained_by=["batch.done", "query.waiting", "release.ready", "experiment.ended"])
                & ~Q(events=[]),
                name="webhook_hears_of_known_events",
            ),
        ]

    def __str__(self) -> str:
        return self.url


class WebhookDelivery(models.Model):
    """One message, written in the transaction of its event; its UUID is the event's for whoever receives it."""

    class State(models.TextChoices):
        WAITING = "waiting"  # to be tried at next_try_at
        SENT = "sent"
        FAILED = "failed"  # given up; see error

    uuid = models.UUIDField(default=uuid4, unique=True, editable=False)
    webhook = models.ForeignKey(Webhook, models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=20, choices=[*Event.choices, (PING, "A test")])
    payload = models.JSONField()
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_try_at = models.DateTimeField()
    status = models.PositiveSmallIntegerField(null=True, help_text="Of the last answer; null where none came.")
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    sent_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "webhook deliveries"
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state="sent", sent_at__isnull=False)
                | Q(state__in=["waiting", "failed"], sent_at__isnull=True),
                name="webhook_delivery_sent_has_its_time",
            ),
            models.CheckConstraint(
                condition=~Q(state="failed") | ~Q(error=""), name="webhook_delivery_failed_says_why"
            ),
        ]
        indexes = [
            models.Index(fields=["next_try_at"], condition=Q(state="waiting"), name="webhook_delivery_to_be_tried")
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook}"
