"""What was trained, what was retrieved, against what it is scored, and what it earned."""

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
