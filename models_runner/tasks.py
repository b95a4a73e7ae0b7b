"""Doors for Celery: primary keys in, one service call."""

from typing import Any

from celery import shared_task
from django.db import OperationalError

from core import clock


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def similarity_runs_make(release_id: int) -> None:
    """Score a ready release's runs: those brought before, and those by similarity; a repeat finds them scored."""
    from models_runner.leaderboard.services.releases import release_receive

    release_receive(release_id=release_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def run_work(run_id: int) -> None:
    """Read and score a run that somebody brought; a repeat finds it done."""
    from models_runner.leaderboard.services import runs

    runs.run_work(run_id=run_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def scoring_work(scoring_id: int) -> None:
    """Score one run on one release; a repeat finds it scored."""
    from models_runner.leaderboard.services import scorings

    scorings.scoring_work(scoring_id=scoring_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def score_tests_work(score_id: int) -> None:
    """Test runs against one of them by one measure; a repeat finds it done."""
    from models_runner.leaderboard.services import score_tests

    score_tests.score_tests_work(score_id=score_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def economy_work(study_id: int) -> None:
    """Compute a study of judging economy; a repeat finds it done."""
    from models_runner.leaderboard.services.economy import study_work

    study_work(study_id=study_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5)
def pool_prepare(pooling_id: int) -> None:
    """Plan a pool from its runs; a repeat finds the plan."""
    from models_runner.pools import services

    services.pool_prepare(pooling_id=pooling_id)


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5, acks_late=False)
def training_work(training_id: int) -> None:
    """Train to the end, for hours; a repeat finds it at work or done. What a killed worker leaves, a sweep sends."""
    from models_runner.experiments import trainings

    trainings.training_work(training_id=training_id)


@shared_task(ignore_result=False, acks_late=False)
def search_work(training_id: int, text: str, moments: int, every: bool) -> dict[str, Any]:
    """Answer one query of typed words; nobody waits for it longer than seconds, so it is never sent again."""
    from models_runner.search.services import search_work as work

    return work(training_id=training_id, text=text, moments=moments, every=every)


@shared_task
def trainings_sweep() -> None:
    """Send again the trainings that lost their worker or their message."""
    from models_runner.experiments import trainings

    trainings.trainings_sweep(now=clock.now())


@shared_task(autoretry_for=(OperationalError,), retry_backoff=True, max_retries=5, acks_late=False)
def features_work(feature_set_id: int) -> None:
    """Make and check features, for hours; a repeat finds them at work or done, a sweep sends what was lost."""
    from models_runner.features.making import feature_set_work

    feature_set_work(feature_set_id=feature_set_id)


@shared_task
def runs_sweep() -> None:
    """Send again what was lost: runs, their scores and tests, features, and the plans of pools."""
    from models_runner.features.making import feature_sets_sweep
    from models_runner.leaderboard.services import releases
    from models_runner.pools import services

    releases.runs_sweep(now=clock.now())
    feature_sets_sweep(now=clock.now())
    services.pools_sweep(now=clock.now())
