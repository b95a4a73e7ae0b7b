"""Webhooks of a project with their last deliveries: for leads alone."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from accounts.models import Project
from judging.models import Webhook, WebhookDelivery

DELIVERIES_SHOWN = 10
State = WebhookDelivery.State


@dataclass(frozen=True)
class ShownWebhook:
    """A webhook and its last deliveries, the newest first.

    ``at_work`` is the newest that is due now, ``result`` the one that the page asks about, if it is this webhook's.
    """

    webhook: Webhook
    deliveries: list[WebhookDelivery]
    at_work: WebhookDelivery | None
    result: WebhookDelivery | None


def webhooks_shown(project: Project, *, now: datetime, delivery: UUID | None = None) -> list[ShownWebhook]:
    """Return the webhooks of the project in the order they were made; ``delivery`` is what the page asks about."""
    return [_shown(webhook, now, delivery) for webhook in project.webhooks.order_by("pk")]


def _shown(webhook: Webhook, now: datetime, delivery: UUID | None) -> ShownWebhook:
    rows = list(webhook.deliveries.order_by("-pk")[:DELIVERIES_SHOWN])
    due = [row for row in rows if webhook.is_active and row.state == State.WAITING and row.next_try_at <= now]
    result = next((row for row in rows if row.uuid == delivery), None)
    return ShownWebhook(webhook, rows, due[0] if due else None, result)
