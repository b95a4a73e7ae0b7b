from typing import Any
from uuid import UUID

from annotation.models import AuditEvent, Project, User


def audit_record(
    *, project: Project | None, actor: User | None, action: str, subject: UUID | None, **data: Any
) -> None:
    """Write down one decision; call it inside the transaction that carries the decision out."""
    AuditEvent.objects.create(project=project, actor=actor, action=action, subject=subject, data=data)
