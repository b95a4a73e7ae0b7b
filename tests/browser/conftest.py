"""Debian's chromium against Django's live server; without that browser the whole folder is skipped.

Its package chromium-headless-shell holds the same engine without the windows around it, and is quicker.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.core.signals import request_started
from django.test import Client
from playwright.sync_api import Browser, Page, expect, sync_playwright
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import User

CHROMIUM = next(filter(Path.exists, map(Path, ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium"))), None)
FLAGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]
PATIENCE_MS = 180_000  # of a machine that does much else; what is there at once costs nothing
WALKS = {  # a whole walk of each role; `make test-all` runs the others
    "test_benchmark.py",  # an admin
    "test_exams.py",  # somebody new
    "test_leaderboard.py",  # a participant
    "test_walk.py",  # annotators and a lead
}
Browse = Callable[..., Page]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is a browser test."""
    folder = f"{Path(__file__).parent}/"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.browser)
            if item.path.name not in WALKS:
                item.add_marker(pytest.mark.browser_all)
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="there is no Chromium: apt-get install chromium"))


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """One browser for the folder. Sync Playwright keeps a loop in this thread, where Django refuses its database."""
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        expect.set_options(timeout=PATIENCE_MS)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def browse(chromium: Browser, live_server: LiveServer, settings: Settings, tmp_path: Path) -> Iterator[Browse]:
    """``browse(user, **context_options)``: a page of a fresh browser window, logged in as ``user`` if there is one."""
    folder = {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = {**settings.STORAGES, "default": folder}  # files in memory have one read position for all
    windows = []

    def open_page(user: User | None = None, **options: Any) -> Page:
        window = chromium.new_context(base_url=live_server.url, **options)
        windows.append(window)
        window.set_default_timeout(PATIENCE_MS)
        if user:
            client = Client()
            client.force_login(user)
            name = configured.SESSION_COOKIE_NAME
            window.add_cookies([{"name": name, "value": client.cookies[name].value, "url": live_server.url}])
        return window.new_page()

    yield open_page
    for window in windows:
        window.close()


@pytest.fixture
def server_log() -> Iterator[list[str]]:
    """Every address the server was asked for, with its method: what a browser's cache answers is not among them."""
    requests: list[str] = []

    def note(environ: dict[str, str], **kwargs: object) -> None:
        requests.append(f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}")

    request_started.connect(note)
    yield requests
    request_started.disconnect(note)
