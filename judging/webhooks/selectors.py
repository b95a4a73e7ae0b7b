"""Webhooks of a project with their last deliveries: for leads alone."""

from dataclasses import dataclass

from accounts.models import Project
from judging.models import Webhook, WebhookDelivery

DELIVERIES_SHOWN = 10


@dataclass(frozen=True)
class ShownWebhook:
    """A webhook and its last deliveries, the newest first."""

    webhook: Webhook
    deliveries: list[WebhookDelivery]


def webhooks_shown(project: Project) -> list[ShownWebhook]:
    """Return the webhooks of the project in the order they were made."""
    webhooks = project.webhooks.order_by("pk")
    return [ShownWebhook(webhook, list(webhook.deliveries.order_by("-pk")[:DELIVERIES_SHOWN])) for webhook in webhooks]
