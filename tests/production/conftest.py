"""The site in production's shape, started once by each process of the tests; `make test-production` runs them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connections
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from tests.production.topology import Site, missing_programs
from tests.production.topology.inside import django_on, files_of
from tests.production.topology.site import eventually, running_site

TIMEOUT_S = 1800


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs the real servers."""
    missing = missing_programs()
    folder = f"{Path(__file__).parent}/"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.production)
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))
            if missing:
                item.add_marker(pytest.mark.skip(reason=f"apt-get install {' '.join(missing)}"))
    items.sort(key=_position)


def _position(item: pytest.Item) -> int:
    """The longest test has begun when the other processes run out of others; files are in the bucket once."""
    if item.path.name == "test_soak.py":
        return 0
    return 1 + int("bucket" not in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def running(request: pytest.FixtureRequest, django_db_blocker: DjangoDbBlocker) -> Iterator[Site]:
    """The site, and this process's Django on its database; a test takes ``site``.

    No test of this folder asks for pytest-django's own database: rows are the site's, and stay.
    """
    failed: list[bool] = []
    folder = Path(settings.MOMENTJUDGE_VAR) / "production"
    with running_site(folder, failed=failed) as site, django_db_blocker.unblock(), django_on(site):
        yield site
        failed.append(request.session.testsfailed > 0)


@pytest.fixture
def site(running: Site, request: pytest.FixtureRequest) -> Iterator[Site]:
    """The site with every server up, before the test and after it."""
    running.mend()
    running.keep_files(in_bucket="bucket" in request.fixturenames)
    yield running
    running.mend()
    connections.close_all()  # the test may have killed what they led to
    eventually(lambda: answers(running))


@pytest.fixture
def bucket(site: Site) -> Iterator[Site]:
    """The site with its files in the double of object storage, which this process reaches, too."""
    with override_settings(**files_of(site)):
        yield site


def answers(site: Site) -> bool:
    """Every process of the web hosts has noticed that all is well again."""
    return all(site.visitor().get("/login/").status_code == 200 for _ in range(8))
