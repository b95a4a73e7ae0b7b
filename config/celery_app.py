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
app.conf.beat_schedule = {
    "sweep-assignments": {"task": "judging.tasks.assignments_sweep", "schedule": 15.0},
    "sweep-batches": {"task": "judging.tasks.batches_sweep", "schedule": 20.0},
    "sweep-work": {"task": "judging.tasks.work_sweep", "schedule": 60.0},
    "sweep-runs": {"task": "models_runner.tasks.runs_sweep", "schedule": 60.0},
    "sweep-trainings": {"task": "models_runner.tasks.trainings_sweep", "schedule": 10.0},
    "sweep-imports": {"task": "annotation.tasks.imports_sweep", "schedule": 60.0},
    "sweep-previews": {"task": "annotation.tasks.previews_sweep", "schedule": 30.0},
    "sweep-rewritings": {"task": "annotation.tasks.rewritings_sweep", "schedule": 60.0},
    "sweep-captions": {"task": "annotation.tasks.captions_sweep", "schedule": 60.0},
    "sweep-train-sets": {"task": "annotation.tasks.train_sets_sweep", "schedule": 60.0},
    "sweep-left-files": {"task": "annotation.tasks.left_files_sweep", "schedule": 60.0},
    "sweep-statistics": {"task": "annotation.tasks.statistics_sweep", "schedule": 60.0},
    "sweep-sessions": {"task": "annotation.tasks.sessions_sweep", "schedule": 3600.0},
    "retention": {"task": "judging.tasks.retention_sweep", "schedule": 6 * 3600.0},
    "advance-demo": {"task": "judging.tasks.demo_advance", "schedule": 4.0},
}


@heartbeat_sent.connect
def note_heartbeat(**kwargs: Any) -> None:
    """A worker that talks to its broker touches HEARTBEAT_FILE every few seconds; a container's health is its age."""
    if path := env_str("HEARTBEAT_FILE", ""):
        Path(path).touch()
