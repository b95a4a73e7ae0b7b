"""Writes the audit log; project and actor are rows of ``accounts``."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db.models import Model

from core.models import AuditEvent

CHUNK = 1000


def audit_record(*, project: Model | None, actor: Model | None, action: str, subject: UUID | None, **data: Any) -> None:
    """Write down one decision; call it inside the transaction that carries the decision out."""
    AuditEvent.objects.create(project_id=_key(project), actor_id=_key(actor), action=action, subject=subject, data=data)


def audit_record_all(
    *, project: Model, actor: Model | None, events: Iterable[tuple[str, UUID, dict[str, Any]]]
) -> None:
    """Write down many decisions of one kind, each by its action, subject and data."""
    rows = [
        AuditEvent(project_id=project.pk, actor_id=_key(actor), action=action, subject=subject, data=data)
        for action, subject, data in events
    ]
    AuditEvent.objects.bulk_create(rows, batch_size=CHUNK)


def _key(row: Model | None) -> int | None:
    return None if row is None else row.pk
