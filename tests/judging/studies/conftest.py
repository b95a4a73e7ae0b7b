"""A collection with one finished query, whose moments a coverage study may judge."""

from copy import deepcopy

import pytest

from tests.conftest import hash_with
from tests.judging.covering import Covering


@pytest.fixture(scope="module")
def covering(module_database: None) -> Covering:
    with pytest.MonkeyPatch.context() as patch:
        hash_with(patch)
        return Covering()


@pytest.fixture
def collection(db: None, covering: Covering) -> Covering:
    return deepcopy(covering)
