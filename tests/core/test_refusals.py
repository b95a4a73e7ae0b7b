"""Logs contain nothing that gives access."""

import logging

import pytest
from django.conf import settings
from django.test import Client

from core.refusals import WithoutSecrets
from judging.people.services import invitation_create
from tests.factories import ProjectFactory, lead


def test_every_handler_leaves_secrets_out() -> None:
    assert all("without_secrets" in handler["filters"] for handler in settings.LOGGING["handlers"].values())


@pytest.mark.django_db
def test_a_refused_join_is_logged_without_its_secret(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    """Django logs every path it answered with 4xx or 5xx, the one with the secret too."""
    project = ProjectFactory()
    _, path = invitation_create(project=project, actor=lead(project), role="annotator")
    with caplog.at_level(logging.WARNING):
        assert client.post(path, {"username": "x", "password": "short"}).status_code == 422
    lines = [record for record in caplog.records if "/invitations/" in record.getMessage()]
    assert lines
    for line in lines:
        assert WithoutSecrets().filter(line)
        assert path.split("/")[2] not in line.getMessage()
        assert "/invitations/[secret]" in line.getMessage()
