"""The Celery app and the beat schedule."""

import os

from celery import Celery

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
    "sweep-statistics": {"task": "annotation.tasks.statistics_sweep", "schedule": 60.0},
    "advance-demo": {"task": "judging.tasks.demo_advance", "schedule": 4.0},
}
