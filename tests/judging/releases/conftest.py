"""The hand-made project, written once for each module."""

import pytest

from accounts.models import Project
from tests.judging.scenario import HandMade


@pytest.fixture(scope="module")
def project(module_database: None) -> Project:
    return HandMade().project
