"""A project over a corpus of its own."""

import pytest

from accounts.models import Project
from tests.factories import ProjectFactory


@pytest.fixture
def project() -> Project:
    return ProjectFactory()  # type: ignore[no-any-return]
