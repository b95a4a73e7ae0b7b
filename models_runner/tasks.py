"""Modules whose services are tasks: Celery finds them here."""

from models_runner.experiments import trainings
from models_runner.features import making
from models_runner.ground_truths import services as ground_truths
from models_runner.leaderboard.services import economy, releases, runs, score_tests, scorings
from models_runner.pools import services as pools
from models_runner.search.services import search_work
from models_runner.tuning import work as tuning

__all__ = [
    "economy",
    "ground_truths",
    "making",
    "pools",
    "releases",
    "runs",
    "score_tests",
    "scorings",
    "search_work",
    "trainings",
    "tuning",
]
