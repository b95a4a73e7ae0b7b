"""One small project with a release that runs are scored on."""

from copy import deepcopy

import pytest

from tests.judging.world import HandMade


@pytest.fixture(scope="module")
def made_once(kept_for_module: None) -> HandMade:
    return HandMade()


@pytest.fixture
def made(db: None, made_once: HandMade) -> HandMade:
    return deepcopy(made_once)
