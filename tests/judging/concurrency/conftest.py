"""A meeting of two, whatever they do."""

from functools import partial

import pytest

from tests.judging.concurrency.meeting import Meet, overlap


@pytest.fixture
def meet(monkeypatch: pytest.MonkeyPatch) -> Meet:
    """Let the second come while the first stops at a call site."""
    return partial(overlap, monkeypatch)
