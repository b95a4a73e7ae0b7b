"""An annotator at work in a browser."""

import pytest
from django.test import Client

from judging.models import Assignment
from tests.factories import BatchFactory
from tests.judging.views.acts import hold


@pytest.fixture
def held() -> Assignment:
    """An open assignment of three pairs whose lease runs."""
    return hold(BatchFactory(pairs=3))


@pytest.fixture
def browser(client: Client, held: Assignment) -> Client:
    client.force_login(held.annotator)
    return client
