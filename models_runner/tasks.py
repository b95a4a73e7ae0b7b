"""Doors for Celery: primary keys in, one service call."""

from celery import shared_task
from django.db import OperationalError
from django.utils import timezone


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def similarity_runs_make(release_id: int) -> None:
    """Make and score the similarity runs of a release; a repeat finds them scored."""
    from models_runner import services

    services.similarity_runs_make(release_id=release_id)


@shared_task
def runs_sweep() -> None:
    """Make the similarity runs of recent releases that have none: their message was lost."""
    from models_runner import services

    services.runs_sweep(now=timezone.now())
