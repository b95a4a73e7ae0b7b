"""The Celery app, the queue of every task, and the beat schedule."""

import os
import tomllib
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import heartbeat_sent

from core.env import env_str

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.local")
SHARE = 0.9  # of the time until the next one, after which a planned message has expired
QUEUES: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("queues.toml").read_text())

app = Celery("momentjudge")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.task_routes = {task: {"queue": queue} for queue, tasks in QUEUES.items() for task in tasks}


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
