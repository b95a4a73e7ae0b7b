"""Videos to cut, and the two ways of cutting."""

from pathlib import Path

import pytest

from annotation.previews import cutting
from tests.annotation.previews.clips import GRAINY, UseMethod, make_video


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("media") / "tiny.mp4")


@pytest.fixture
def use_method(monkeypatch: pytest.MonkeyPatch) -> UseMethod:
    """Force one way of cutting: ``way(ALONE)`` or ``way(PASS)``."""
    return lambda start: monkeypatch.setattr(cutting, "PASS_FROM", start)


@pytest.fixture(scope="session")
def grainy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("media") / "grainy.mp4", source=GRAINY)
