"""Models of trainings, runs, the truth they are scored against, and their scores."""

from models_runner.experiments.models import Experiment, Training
from models_runner.features.models import FeatureSet
from models_runner.ground_truths.models import GroundTruth, TruthRun, TruthScore
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
from models_runner.tuning.models import SettingsSearch

__all__ = [
    "EconomyStudy",
    "Experiment",
    "FeatureSet",
    "GroundTruth",
    "Leaderboard",
    "PerQuery",
    "ReadRelease",
    "Run",
    "Score",
    "ScoreTest",
    "Scoring",
    "SettingsSearch",
    "Training",
    "Truth",
    "TruthRun",
    "TruthScore",
]
