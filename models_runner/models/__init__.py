"""What was retrieved, against what it is scored, and what it earned."""

from models_runner.models.economy import EconomyStudy
from models_runner.models.feature_set import FeatureSet
from models_runner.models.leaderboard import Leaderboard
from models_runner.models.run import Run, run_path
from models_runner.models.scoring import PerQuery, Score, Scoring
from models_runner.models.truth import Truth

__all__ = ["EconomyStudy", "FeatureSet", "Leaderboard", "PerQuery", "Run", "Score", "Scoring", "Truth", "run_path"]
