"""Doors for Celery: primary keys in, one service call."""

from celery import shared_task
from django.db import OperationalError
from django.utils import timezone


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def similarity_runs_make(release_id: int) -> None:
    """Make and score the similarity runs of a release; a repeat finds them scored."""
    from models_runner import services

    services.similarity_runs_make(release_id=release_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def pool_prepare(pooling_id: int) -> None:
    """Plan a pool from its runs; a repeat finds the plan."""
    from models_runner import pool_services

    pool_services.pool_prepare(pooling_id=pooling_id)


@shared_task
def runs_sweep() -> None:
    """Send again the similarity runs and the plans of pools whose message was lost."""
    from models_runner import pool_services, services

    services.runs_sweep(now=timezone.now())
    pool_services.pools_sweep(now=timezone.now())
