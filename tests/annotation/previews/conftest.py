"""Videos to cut, and the two ways of cutting."""

from pathlib import Path

import pytest

from annotation.previews import cutting
from tests.annotation.previews.clips import GRAINY, make_video


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("media") / "tiny.mp4")


@pytest.fixture(params=[10_000, 1], ids=["alone", "pass"])
def each_method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut every moment alone, then as many as possible in one pass."""
    monkeypatch.setattr(cutting, "PASS_FROM", request.param)


@pytest.fixture(scope="session")
def grainy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("media") / "grainy.mp4", source=GRAINY)
