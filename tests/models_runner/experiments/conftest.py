"""Experiments that a stand-in trains."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from judging.models import Release
from models_runner.models import Experiment
from tests.models_runner.benchmarks import configure_training, order_experiment

Order = Callable[..., Experiment]


@pytest.fixture
def order(release: Release, settings: Any, tmp_path: Path) -> Order:
    """Make an experiment on the release that nobody has begun to train."""
    configure_training(settings, tmp_path)
    return partial(order_experiment, release, tmp_path)
