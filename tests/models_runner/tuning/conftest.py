"""Searches over settings that a stand-in trains."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from judging.models import Release
from models_runner.models import SettingsSearch
from tests.models_runner.benchmarks import configure_training, order_search

OrderSearch = Callable[..., SettingsSearch]


@pytest.fixture
def order(release: Release, settings: Any, tmp_path: Path) -> OrderSearch:
    """Make a search on the release that nobody has begun."""
    configure_training(settings, tmp_path)
    return partial(order_search, release, tmp_path)
