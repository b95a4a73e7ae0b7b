"""The database's time, asked now and then."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from core import clock

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def forgotten_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_last", None)


def test_it_is_the_time_of_the_database_and_no_statement_of_the_work_at_hand() -> None:
    with CaptureQueriesContext(connection) as captured:
        now = clock.now()
    assert abs(now - timezone.now()) < timedelta(seconds=5)
    assert now.utcoffset() == timedelta()
    assert not captured.captured_queries


def test_between_two_questions_passes_what_the_steady_clock_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    first = clock.now()
    monkeypatch.setattr(timezone, "now", lambda: pytest.fail("the host's clock is not looked at"))
    monkeypatch.setattr(clock, "_read", lambda: pytest.fail("it is asked once a minute"))
    at = clock._last.at if clock._last else 0.0
    monkeypatch.setattr(clock, "monotonic", lambda: at + 30)
    assert timedelta(seconds=29) < clock.now() - first < timedelta(seconds=31)


def test_it_is_read_anew_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    clock.now()
    before, passed = clock._last, clock.monotonic() + clock.CACHE_S + 1
    monkeypatch.setattr(clock, "monotonic", lambda: passed)
    clock.now()
    assert clock._last is not before
