"""Modules whose services are tasks: Celery finds them here."""

from models_runner.tuning import work as tuning

__all__ = [
    *("economy", "making", "pools", "releases", "runs", "score_tests", "scorings", "search_work", "trainings"),
    "tuning",
]
