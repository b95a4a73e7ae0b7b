"""A project, its lead and an annotator in a browser; one short clip in place of the demo's videos."""

from pathlib import Path

import pytest
from django.test import Client

from accounts.models import Project
from judging.demo import services
from judging.models import Assignment
from tests.factories import BatchFactory, ProjectFactory, lead
from tests.judging.views.acts import hold


@pytest.fixture
def open_assignment() -> Assignment:
    """An open assignment of three pairs whose lease runs."""
    return hold(BatchFactory(pairs=3))


@pytest.fixture
def browser(client: Client, open_assignment: Assignment) -> Client:
    client.force_login(open_assignment.annotator)
    return client


@pytest.fixture
def project() -> Project:
    return ProjectFactory()  # type: ignore[no-any-return]


@pytest.fixture
def lead_client(client: Client, project: Project) -> Client:
    client.force_login(lead(project))
    return client


@pytest.fixture
def one_clip(long_clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every episode of the demo is the same clip."""
    monkeypatch.setattr(services, "video_path", lambda episode: long_clip)
