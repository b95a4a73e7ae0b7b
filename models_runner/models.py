"""Models of trainings, runs, the truth they are scored against, and their scores."""

from models_runner.experiments.models import Experiment, Training
from models_runner.features.models import FeatureSet
from models_runner.leaderboard.models import (
    EconomyStudy,
    Leaderboard,
    PerQuery,
    ReadRelease,
    Run,
    Score,
    ScoreTest,
    Scoring,
    Truth,
)

__all__ = [
    "EconomyStudy",
    "Experiment",
    "FeatureSet",
    "Leaderboard",
    "PerQuery",
    "ReadRelease",
    "Run",
    "Score",
    "ScoreTest",
    "Scoring",
    "Training",
    "Truth",
]
