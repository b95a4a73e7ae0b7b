"""One small project with a release that runs are scored on."""

from copy import deepcopy

import pytest

from judging.models import Release
from tests.conftest import hash_with
from tests.judging.scenario import HandMade
from tests.models_runner.acts import Site, ready_release


@pytest.fixture(scope="module")
def module_scenario(module_database: None) -> HandMade:
    return HandMade()


@pytest.fixture
def scenario(db: None, module_scenario: HandMade) -> HandMade:
    return deepcopy(module_scenario)


@pytest.fixture(scope="module")
def released_once(module_scenario: HandMade) -> Release:
    with pytest.MonkeyPatch.context() as patch:
        hash_with(patch)
        return ready_release(module_scenario.project)


@pytest.fixture
def release(db: None, released_once: Release) -> Release:
    """Every test of the module that takes it finds the project with this release."""
    return deepcopy(released_once)


@pytest.fixture
def site(scenario: HandMade, release: Release) -> Site:
    return Site(scenario, release)
