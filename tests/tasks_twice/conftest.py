"""The ground on which every task finds its work."""

from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar

import pytest
from django.conf import settings

from judging.demo import services
from models_runner.features import making
from tests.judging.scenario import HandMade
from tests.models_runner.benchmarks import Drawn, configure_training
from tests.tasks_twice.scenarios import Ground


class Rows(Drawn):
    """Features of anything, four at a time."""

    batch = 4
    attributes: ClassVar[dict[str, str]] = {}


@pytest.fixture(scope="module")
def module_scenario(module_database: None) -> HandMade:
    return HandMade()


@pytest.fixture
def ground(
    db: None,
    module_scenario: HandMade,
    encoder: object,
    videos_on_disk: Path,
    clip: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Ground:
    """A small project, a video, and a disk of one's own; each video of the demo is the same clip."""
    monkeypatch.setattr(settings, "MOMENTJUDGE_VAR", tmp_path)
    monkeypatch.setattr(settings, "FEATURES_ROOT", tmp_path / "features")
    configure_training(settings, tmp_path)
    video = tmp_path / "clip.mp4"
    video.write_bytes(clip)
    monkeypatch.setattr(services, "video_path", lambda episode: video)
    monkeypatch.setattr(making, "extractor_of", lambda *args, **more: Rows())
    return Ground(deepcopy(module_scenario), clip, tmp_path)


@pytest.fixture(autouse=True)
def settings_restored(monkeypatch: pytest.MonkeyPatch) -> Any:
    """``places`` writes into the settings."""
    for name in ("EXPERIMENTS_ROOT", "TRAIN_COMMAND"):
        monkeypatch.setattr(settings, name, getattr(settings, name))
