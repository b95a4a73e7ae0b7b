"""What was trained, what was retrieved, against what it is scored, and what it earned."""

from models_runner.models.economy import EconomyStudy
from models_runner.models.experiment import Experiment, Training
from models_runner.models.feature_set import FeatureSet
from models_runner.models.leaderboard import Leaderboard
from models_runner.models.run import Run, run_path
from models_runner.models.score_test import ScoreTest
from models_runner.models.scoring import PerQuery, Score, Scoring
from models_runner.models.truth import ReadRelease, Truth

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
    "run_path",
]
