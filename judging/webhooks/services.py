"""Webhooks made, changed and deleted; events written down for them, sent, and tried again.

An event is a row for each webhook that hears of it, written in the transaction that carried it out: what was rolled
back is never sent, and what was committed always is. A task sends the rows of one webhook one after the other, for some
seconds; then it is the next webhook's turn. One message is at work at a time in the whole site: servers that take
their time keep one worker process, and previews, imports and releases have the others.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from secrets import token_urlsafe
from time import monotonic
from typing import Any
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q

from accounts.models import Project, User
from accounts.services.credentials import decrypt, encrypt
from core import clock
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import LONGEST_ERROR, JobKind, durable, swept
from core.sql import only_one
from judging.models import Webhook, WebhookDelivery
from judging.webhooks.models import PING, Event
from judging.webhooks.rules import FIRST_RETRY, UrlRefused, retry_after, signature_header, url_checked
from judging.webhooks.sending import NotSent, message_send

logger = logging.getLogger(__name__)
State = WebhookDelivery.State
MOST_WEBHOOKS = 10  # of a project
AT_WORK = "webhooks"  # the lock of whoever sends
AT_ONCE = 20  # messages to one address, before others have their turn
TURN_S = 10.0  # after which no further message begins
FORGOTTEN_AFTER = timedelta(days=30)  # what was sent, or given up
DELIVERIES = JobKind(
    "judging.tasks.webhook_send",
    lambda: (
        WebhookDelivery.objects.filter(state=State.WAITING, next_try_at__lte=clock.now())
        .select_related("webhook")
        .order_by("pk")
    ),
    moved="",
    key="webhook",
    lock="webhook",
)
OFF = "The webhook was switched off before this was sent."
KEY_CHANGED = "The site has another key since this webhook was made. Delete it, and add it again."


@transaction.atomic
def webhook_create(*, project: Project, actor: User, url: str, events: Sequence[str]) -> tuple[Webhook, str]:
    """Add a webhook; return it with its secret, which is shown this once.

    Raises:
        NotPossible: the address is none that may be, is there already, or the project has too many.
    """
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    try:
        url = url_checked(url)
    except UrlRefused as error:
        raise NotPossible(str(error)) from error
    if project.webhooks.count() >= MOST_WEBHOOKS:
        raise NotPossible(f"A project has at most {MOST_WEBHOOKS} webhooks. Delete one of them first.")
    secret = f"whsec_{token_urlsafe(32)}"
    row = Webhook(project=project, url=url, secret=encrypt(secret), events=_in_order(events), created_by=actor)
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        raise NotPossible("The project has a webhook of this address already.") from error
    audit_record(
        project=project, actor=actor, action="webhook.create", subject=row.uuid, url=row.url, events=row.events
    )
    return row, secret


@transaction.atomic
def webhook_change(
    *, webhook: Webhook, actor: User, events: Sequence[str] | None = None, is_active: bool | None = None
) -> Webhook:
    """Have a webhook hear of other events, or switch it off or on; what waits when it is switched off is given up."""
    row = _lock(webhook)
    if events is not None:
        row.events = _in_order(events)
    if is_active is not None:
        row.is_active = is_active
    row.save(update_fields=["events", "is_active"])
    if not row.is_active:
        row.deliveries.filter(state=State.WAITING).update(state=State.FAILED, error=OFF)
    facts = {"url": row.url, "events": row.events, "is_active": row.is_active}
    audit_record(project=row.project, actor=actor, action="webhook.change", subject=row.uuid, **facts)
    return row


@transaction.atomic
def webhook_delete(*, webhook: Webhook, actor: User) -> None:
    """Delete a webhook with its deliveries; what waits is never sent."""
    row = _lock(webhook)
    audit_record(project=row.project, actor=actor, action="webhook.delete", subject=row.uuid, url=row.url)
    row.delete()


@transaction.atomic
def webhook_ping(*, webhook: Webhook, actor: User) -> WebhookDelivery:
    """Send a message that only tries the address. Raises NotPossible where the webhook is off."""
    row = _lock(webhook)
    if not row.is_active:
        raise NotPossible("This webhook is off. Switch it on first.")
    audit_record(project=row.project, actor=actor, action="webhook.ping", subject=row.uuid, url=row.url)
    [delivery] = _deliveries_write([row], PING, {"webhook": row.uuid})
    return delivery


@transaction.atomic
def delivery_retry(*, delivery: WebhookDelivery, actor: User) -> WebhookDelivery:
    """Try a message again now, that was given up or waits. Raises NotPossible where it was sent, or the webhook is
    off."""
    webhook = _lock(delivery.webhook)
    row = WebhookDelivery.objects.select_for_update().get(pk=delivery.pk)
    if row.state == State.SENT:
        raise NotPossible("This message was sent already.")
    if not webhook.is_active:
        raise NotPossible("This webhook is off. Switch it on first.")
    facts = {"event": row.event, "url": webhook.url}
    audit_record(project=webhook.project, actor=actor, action="webhook.retry", subject=webhook.uuid, **facts)
    row.state, row.attempts, row.next_try_at, row.error = State.WAITING, 0, clock.now(), ""
    row.save(update_fields=["state", "attempts", "next_try_at", "error"])
    DELIVERIES.send(row.webhook_id)
    return row


def _lock(webhook: Webhook) -> Webhook:
    row = Webhook.objects.select_for_update(of=("self",)).select_related("project").filter(pk=webhook.pk).first()
    if row is None:
        raise NotPossible("This webhook has been deleted.")
    return row


def _in_order(events: Iterable[str]) -> list[str]:
    """Return the events in their usual order, each once. Raises NotPossible where there is none."""
    names = set(events)
    values = [event.value for event in Event if event.value in names]
    if not values or len(values) < len(names):
        raise NotPossible(f"Choose at least one of {', '.join(Event.values)}.")
    return values


def event_record(*, project_id: int, event: Event, **facts: object) -> None:
    """Write a message for each webhook of the project that hears of the event; call it in the event's transaction.

    ``facts`` name rows by UUID, with numbers and states: no grade, caption or name leaves the site this way.
    """
    webhooks = Webhook.objects.filter(project=project_id, is_active=True, events__contains=[event])
    _deliveries_write(list(webhooks.select_related("project")), event, facts)


def _deliveries_write(webhooks: Sequence[Webhook], event: str, facts: Mapping[str, object]) -> list[WebhookDelivery]:
    now = clock.now()
    rows = []
    for webhook in webhooks:
        uuid = uuid4()
        about = {"id": uuid, "event": event, "project": webhook.project.uuid, "at": now.isoformat(), **facts}
        payload = {name: str(value) if isinstance(value, UUID) else value for name, value in about.items()}
        rows.append(WebhookDelivery(uuid=uuid, webhook=webhook, event=event, payload=payload, next_try_at=now))
    WebhookDelivery.objects.bulk_create(rows)
    for row in rows:
        DELIVERIES.send(row.webhook_id)
    return rows


@durable(DELIVERIES.task)
def webhook_send(*, webhook_id: int) -> None:
    """Send what is due to one webhook, in the order of the events, until a message does not get through.

    Where another process is sending, it wakes the next webhook once its turn is over, and a sweep does where it was
    killed. A repeat finds nothing due. A message may arrive twice where a worker is killed between sending and writing
    that down; its receiver knows it by its id.
    """
    if not DELIVERIES.rows().filter(webhook=webhook_id).exists():
        return  # without the lock, which would keep other webhooks back whom nobody wakes then
    with only_one(AT_WORK) as alone:
        if not alone:
            return
        _take_turn(webhook_id)
    # The lock is free by now: what was committed before somebody else found it locked is seen here.
    keys = set(DELIVERIES.rows().order_by().values_list("webhook_id", flat=True))
    if keys:
        DELIVERIES.send(min(keys, key=lambda key: (key <= webhook_id, key)))


def _take_turn(webhook_id: int) -> None:
    begin = monotonic()
    for _ in range(AT_ONCE):
        with DELIVERIES.claim(webhook_id) as delivery:
            if delivery is None or not _try(delivery):
                return
        if monotonic() - begin >= TURN_S:
            return


def _try(delivery: WebhookDelivery) -> bool:
    """Send one message and write down what came of it; return whether it got through."""
    now = clock.now()
    waiting = WebhookDelivery.objects.filter(pk=delivery.pk, state=State.WAITING)
    try:
        status = _send(delivery, now)
    except NotSent as error:
        attempts = delivery.attempts + 1
        delay = retry_after(attempts)
        values: dict[str, Any] = (
            {"state": State.WAITING, "next_try_at": now + delay} if delay else {"state": State.FAILED}
        )
        waiting.update(attempts=attempts, status=error.status, error=str(error)[:LONGEST_ERROR], **values)
        others = WebhookDelivery.objects.filter(webhook=delivery.webhook_id, state=State.WAITING, next_try_at__lte=now)
        others.update(next_try_at=now + FIRST_RETRY)  # one try a minute of what is out of order
        logger.warning("webhook %s: message %s was not sent, try %s", delivery.webhook_id, delivery.pk, attempts)
        return False
    waiting.update(state=State.SENT, attempts=delivery.attempts + 1, status=status, error="", sent_at=clock.now())
    return True


def _send(delivery: WebhookDelivery, now: datetime) -> int:
    try:
        secret = decrypt(delivery.webhook.secret)
    except NotPossible as error:
        raise NotSent(KEY_CHANGED) from error
    body = json.dumps(delivery.payload, sort_keys=True).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "MomentJudge",
        "MomentJudge-Event": delivery.event,
        "MomentJudge-Delivery": str(delivery.uuid),
        "MomentJudge-Signature": signature_header(secret, int(now.timestamp()), body),
    }
    allows_private = settings.WEBHOOK_PRIVATE_ADDRESSES
    return message_send(delivery.webhook.url, body=body, headers=headers, allows_private=allows_private)


@swept
def deliveries_forget(now: datetime) -> None:
    """Forget old messages that were sent or given up."""
    over = Q(state__in=[State.SENT, State.FAILED], created_at__lte=now - FORGOTTEN_AFTER)
    WebhookDelivery.objects.filter(over).delete()
