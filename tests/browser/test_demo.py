"""The pages of the demo, as whoever tries the site sees them: with one of everything."""

from pathlib import Path

import pytest
from django.core.files.storage import FileSystemStorage
from pytest_django import Settings

from accounts.models import User
from judging.demo.collection import LOGINS
from tests.browser.conftest import Browse
from tests.browser.test_every_page import NOT_OURS, visit
from tests.judging import demo_site


def test_pages_of_the_demo_are_clean(
    browse: Browse, long_clip: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings, tmp_path: Path
) -> None:
    """One page of each route, as the first person whom links lead to it."""
    settings.FEATURES_ROOT = settings.EXPERIMENTS_ROOT = tmp_path
    demo_site.ready(monkeypatch, long_clip, FileSystemStorage(tmp_path))
    addresses: dict[str, str] = {}
    complaints = []
    for username in LOGINS:
        new = {route: address for route, address, _ in demo_site.pages_of(username) if route not in addresses}
        new.pop(NOT_OURS, None)
        complaints += visit(browse(User.objects.get(username=username)), *new.values())
        addresses |= new
    assert complaints == []
    assert len(addresses) > 80
