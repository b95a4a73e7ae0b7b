from collections.abc import Iterator

import pytest

from tests.moment_retrieval.threads import one_thread


@pytest.fixture(autouse=True)
def alone_on_a_core() -> Iterator[None]:
    with one_thread():
        yield
