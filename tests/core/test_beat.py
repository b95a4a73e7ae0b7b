"""Beat's schedule by a clock that is set back, and what its messages expire at."""

from datetime import datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from celery import Celery
from django.db import OperationalError
from django.utils import timezone

from config.celery_app import app as ours
from core import clock
from core.tasks import SteadyScheduler

HOUR = timedelta(hours=1)


class Sent(SteadyScheduler):
    """It writes down what it would send, and keeps nothing on disk."""

    def setup_schedule(self) -> None:
        self.data, self.sent = {}, list[tuple[str, Any]]()
        self.merge_inplace({name: {"task": name, "schedule": 10.0, "options": {"expires": 9}} for name in "ab"})

    schedule = property(lambda self: self.data)

    def send_task(self, name: str, *args: object, expires: datetime | None = None, **options: object) -> None:
        self.sent.append((name, expires))

    def sync(self) -> None:
        pass


@pytest.fixture
def beat(monkeypatch: pytest.MonkeyPatch) -> Sent:
    monkeypatch.setattr(Sent, "producer", None)
    return Sent(Celery("one that knows no tasks", set_as_current=False))


def ticks(beat: Sent, times: int = 6) -> list[str]:
    beat.sent.clear()
    for _ in range(times):
        beat.tick()
    return sorted(name for name, _ in beat.sent)


@pytest.fixture(autouse=True)
def time_of_the_database(monkeypatch: pytest.MonkeyPatch) -> datetime:
    database_now = timezone.now() + 5 * HOUR
    monkeypatch.setattr(clock, "now", lambda: database_now)
    return database_now


def test_what_was_sent_in_the_future_was_sent_now(beat: Sent) -> None:
    for entry in beat.schedule.values():
        entry.last_run_at = entry.default_now() + HOUR
    assert ticks(beat) == []
    for entry in beat.schedule.values():
        assert entry.last_run_at <= entry.default_now()
        entry.last_run_at -= timedelta(seconds=10)
    beat._heap = None
    assert ticks(beat) == ["a", "b"]


def test_messages_expire_by_the_clock_of_the_database(beat: Sent, time_of_the_database: datetime) -> None:
    for entry in beat.schedule.values():
        entry.last_run_at -= HOUR
    assert ticks(beat) == ["a", "b"]
    assert {expires for _, expires in beat.sent} == {time_of_the_database + timedelta(seconds=9)}


def test_without_the_database_they_do_not_expire(beat: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", Mock(side_effect=OperationalError("no database")))
    for entry in beat.schedule.values():
        entry.last_run_at -= HOUR
    assert ticks(beat) == ["a", "b"]
    assert {expires for _, expires in beat.sent} == {None}
    assert ours.conf.beat_scheduler == "core.tasks.SteadyScheduler"
