"""Audit events are written with what they tell of, or not at all."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest

from core.audit import audit_record
from core.models import AuditEvent
from tests.factories import ProjectFactory, UserFactory

pytestmark = pytest.mark.django_db


def test_who_what_when_on_what() -> None:
    project, actor, subject = ProjectFactory(), UserFactory(), uuid4()
    audit_record(project=project, actor=actor, action="thing.do", subject=subject, why="because", n=3)
    event = AuditEvent.objects.get()
    assert (event.project, event.actor, event.action, event.subject) == (project, actor, "thing.do", subject)
    assert event.data == {"why": "because", "n": 3}
    assert event.created_at is not None


def test_values_that_json_cannot_express() -> None:
    at, name = datetime(2026, 1, 1, tzinfo=UTC), uuid4()
    audit_record(project=None, actor=None, action="thing.do", subject=None, at=at, name=name)
    assert AuditEvent.objects.get().data == {"at": "2026-01-01T00:00:00Z", "name": str(name)}
