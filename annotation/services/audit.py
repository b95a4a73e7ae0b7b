from collections.abc import Iterable
from typing import Any
from uuid import UUID

from annotation.models import AuditEvent, Project, User

CHUNK = 1000


def audit_record(
    *, project: Project | None, actor: User | None, action: str, subject: UUID | None, **data: Any
) -> None:
    """Write down one decision; call it inside the transaction that carries the decision out."""
    AuditEvent.objects.create(project=project, actor=actor, action=action, subject=subject, data=data)


def audit_record_all(
    *, project: Project, actor: User | None, events: Iterable[tuple[str, UUID, dict[str, Any]]]
) -> None:
    """Write down many decisions of one kind, each by its action, subject and data."""
    rows = [
        AuditEvent(project=project, actor=actor, action=action, subject=subject, data=data)
        for action, subject, data in events
    ]
    AuditEvent.objects.bulk_create(rows, batch_size=CHUNK)
