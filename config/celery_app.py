"""The Celery app and the beat schedule."""

import os
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import heartbeat_sent

from config.env import env_str

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.local")
app = Celery("momentjudge")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def _every(seconds: float, task: str) -> dict[str, Any]:
    """What is not taken before the next one comes is not taken: no heap waits for workers that were busy for hours.

    ``config.beat`` sets when: by the database's clock.
    """
    return {"task": task, "schedule": seconds, "options": {"expires": 0.9 * seconds}}


app.conf.beat_schedule = {
    "sweep-assignments": _every(15.0, "judging.tasks.assignments_sweep"),
    "sweep-batches": _every(20.0, "judging.tasks.batches_sweep"),
    "sweep-work": _every(60.0, "judging.tasks.work_sweep"),
    "sweep-runs": _every(60.0, "models_runner.tasks.runs_sweep"),
    "sweep-trainings": _every(10.0, "models_runner.tasks.trainings_sweep"),
    "sweep-imports": _every(60.0, "annotation.tasks.imports_sweep"),
    "sweep-previews": _every(30.0, "annotation.tasks.previews_sweep"),
    "sweep-rewritings": _every(60.0, "annotation.tasks.rewritings_sweep"),
    "sweep-captions": _every(60.0, "annotation.tasks.captions_sweep"),
    "sweep-train-sets": _every(60.0, "annotation.tasks.train_sets_sweep"),
    "sweep-left-files": _every(60.0, "annotation.tasks.left_files_sweep"),
    "sweep-statistics": _every(60.0, "annotation.tasks.statistics_sweep"),
    "sweep-sessions": _every(3600.0, "annotation.tasks.sessions_sweep"),
    "retention": _every(6 * 3600.0, "judging.tasks.retention_sweep"),
    "advance-demo": _every(4.0, "judging.tasks.demo_advance"),
}


@heartbeat_sent.connect
def note_heartbeat(**kwargs: Any) -> None:
    """A worker that talks to its broker touches HEARTBEAT_FILE every few seconds; a container's health is its age."""
    if path := env_str("HEARTBEAT_FILE", ""):
        Path(path).touch()
