"""A project with training queries, whose sets are written in small blocks."""

from pathlib import Path

import pytest

from accounts.models import Project
from tests.annotation.train_sets.train_sets import filled, small_blocks
from tests.factories import ProjectFactory


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where parts lie."""
    return small_blocks(tmp_path, monkeypatch)


@pytest.fixture
def project(work: Path) -> Project:
    return filled(ProjectFactory())
