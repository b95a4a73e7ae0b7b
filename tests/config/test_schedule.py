"""Schedule of beat: while all workers are busy for hours, no backlog of sweeps grows for them to work off."""

from datetime import timedelta
from typing import Any

import pytest
from celery.beat import ScheduleEntry

from config.celery_app import app

SCHEDULE = app.conf.beat_schedule


@pytest.mark.parametrize("name", SCHEDULE)
def test_a_planned_message_expires_a_little_before_the_next(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict[str, Any]] = []
    entry = ScheduleEntry(name=name, app=app, **SCHEDULE[name])
    monkeypatch.setattr(app, "send_task", lambda *task, **options: calls.append(options))
    monkeypatch.setattr(app.tasks[entry.task], "apply_async", lambda *words, **options: calls.append(options))
    app.Beat(quiet=True).Service(app).get_scheduler(lazy=True).apply_async(entry, advance=False)
    (options,) = calls
    assert entry.schedule.run_every * 0.8 < timedelta(seconds=options["expires"]) < entry.schedule.run_every
