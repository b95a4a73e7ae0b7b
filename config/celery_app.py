"""The Celery app, the queue of every task, and the beat schedule, which bears clocks that are wrong or set back."""

import copy
import os
import tomllib
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from celery import Celery
from celery.beat import PersistentScheduler, ScheduleEntry
from celery.signals import heartbeat_sent
from django.db import DatabaseError, connection

from core import clock
from core.env import env_str

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.local")
SHARE = 0.9  # of the time until the next one, after which a planned message has expired
QUEUES: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("queues.toml").read_text())

app = Celery("momentjudge")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.task_routes = {task: {"queue": queue} for queue, tasks in QUEUES.items() for task in tasks}
SLACK = timedelta(seconds=1)


def _every(seconds: float, task: str) -> dict[str, Any]:
    """Schedule a task that expires before the next one: no heap waits for workers that were busy for hours."""
    return {"task": task, "schedule": seconds, "options": {"expires": SHARE * seconds}}


app.conf.beat_schedule = {
    "sweep-assignments": _every(15.0, "judging.tasks.assignments_sweep"),
    "sweep-batches": _every(20.0, "judging.tasks.batches_sweep"),
    "sweep": _every(60.0, "core.tasks.sweep"),
    "sweep-trainings": _every(10.0, "models_runner.tasks.trainings_sweep"),
    "sweep-sessions": _every(3600.0, "accounts.tasks.sessions_sweep"),
    "retention": _every(6 * 3600.0, "judging.tasks.retention_sweep"),
    "advance-demo": _every(4.0, "judging.tasks.demo_advance"),
}


@heartbeat_sent.connect
def note_heartbeat(**kwargs: Any) -> None:
    """A worker that talks to its broker touches HEARTBEAT_FILE every few seconds; a container's health is its age."""
    if path := env_str("HEARTBEAT_FILE", ""):
        Path(path).touch()


class SteadyScheduler(PersistentScheduler):
    """Celery's waits until its clock shows the time at which something is due; set back by an hour, it would send
    nothing for that hour. What was last sent in the future was sent now. And what a message expires at is a time of
    the database's clock: by one that is late, every message would be over before it came."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        for entry in self.schedule.values():
            if entry.last_run_at and entry.last_run_at > entry.default_now() + SLACK:
                entry.last_run_at = entry.default_now()
                self._heap = None  # it is in the order of the old clock
        delay: float = super().tick(*args, **kwargs)
        return delay

    def apply_async(self, entry: ScheduleEntry, *args: Any, **kwargs: Any) -> Any:
        options = entry.options or {}
        if isinstance(seconds := options.get("expires"), int | float):
            entry = copy.copy(entry)
            entry.options = {**options, "expires": _in(seconds)}
        return super().apply_async(entry, *args, **kwargs)


def _in(seconds: float) -> datetime | None:
    """So many seconds from now; None, that is never, while the database cannot be asked."""
    try:
        return clock.now() + timedelta(seconds=seconds)
    except (DatabaseError, psycopg.Error):
        return None
    finally:
        connection.close()  # asked once a minute
