"""What beat plans: while all workers are busy for hours, no heap of sweeps grows that they had to work off."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from celery.beat import ScheduleEntry
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from annotation import clock
from config import beat
from config.celery_app import app

SCHEDULE = app.conf.beat_schedule
HOUR = timedelta(hours=1)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Options of the messages that beat has sent."""
    found: list[dict[str, Any]] = []
    for entry in SCHEDULE.values():
        monkeypatch.setattr(app.tasks[entry["task"]], "apply_async", lambda *words, **options: found.append(options))
    return found


def send(name: str) -> timedelta:
    """Have beat send the message of this name; says how often that is planned."""
    planned = SCHEDULE[name]
    entry = ScheduleEntry(name=name, app=app, **{**planned, "options": dict(planned["options"])})
    beat.SteadyScheduler(app=app, lazy=True).apply_async(entry, advance=False)
    return timedelta(seconds=planned["schedule"])


def lasts(options: dict[str, Any], now: datetime) -> timedelta:
    left: timedelta = options["expires"] - now
    return left


def test_beat_is_ours() -> None:
    assert settings.CELERY_BEAT_SCHEDULER == "config.beat.SteadyScheduler"


@pytest.mark.parametrize("name", SCHEDULE)
def test_a_planned_message_expires_a_little_before_the_next(name: str) -> None:
    assert SCHEDULE[name]["task"] in app.tasks
    assert 0.8 * SCHEDULE[name]["schedule"] < SCHEDULE[name]["options"]["expires"] < SCHEDULE[name]["schedule"]


@pytest.mark.django_db
@pytest.mark.parametrize("name", SCHEDULE)
def test_by_the_clock_of_the_database_wherever_that_of_beat_s_host_stands(
    name: str, sent: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timezone, "now", lambda: datetime.now(tz=timezone.get_default_timezone()) - HOUR)
    every = send(name)
    assert 0.8 * every < lasts(sent[0], clock.now()) < every


def test_by_its_own_clock_while_the_database_is_away(
    sent: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> datetime:
        raise OperationalError

    monkeypatch.setattr(beat, "now", away)
    monkeypatch.setattr(beat.connection, "close", lambda: None)
    every = send("sweep-runs")
    assert 0.8 * every < lasts(sent[0], timezone.now()) < every
