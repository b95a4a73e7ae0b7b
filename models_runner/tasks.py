"""Modules whose services are tasks (``core.jobs.durable``), and the sweep of trainings."""

from typing import Any

from celery import shared_task

from core import clock
from models_runner.experiments import trainings
from models_runner.features import making
from models_runner.leaderboard.services import economy, releases, runs, score_tests, scorings
from models_runner.pools import services as pools

__all__ = ["economy", "making", "pools", "releases", "runs", "score_tests", "scorings"]


@shared_task
def trainings_sweep() -> None:
    """Send again the trainings that lost their worker or their message."""
    trainings.trainings_sweep(now=clock.now())


@shared_task(ignore_result=False, acks_late=False)
def search_work(training_id: int, text: str, moments: int, every: bool) -> dict[str, Any]:
    """Answer one query of typed words; nobody waits for it longer than seconds, so it is never sent again."""
    from models_runner.search.services import search_work as work  # which imports this module

    return work(training_id=training_id, text=text, moments=moments, every=every)
