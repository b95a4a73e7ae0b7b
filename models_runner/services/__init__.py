"""Baselines trained; runs brought or made, read, scored on releases; and how participants take part."""

from models_runner.services.economy import study_create, study_work
from models_runner.services.experiment_deletion import experiment_delete
from models_runner.services.experiments import experiment_create, training_cancel, training_resume
from models_runner.services.features import (
    feature_set_cancel,
    feature_set_delete,
    feature_set_model,
    feature_set_register,
    feature_set_resume,
    feature_set_start,
    feature_set_work,
    feature_sets_sweep,
)
from models_runner.services.releases import release_receive, runs_sweep
from models_runner.services.runs import run_upload, run_withdraw, run_work
from models_runner.services.score_tests import score_tests_order, score_tests_work
from models_runner.services.scorings import scoring_work
from models_runner.services.settings import leaderboard_change, leaderboard_of
from models_runner.services.similarity import RUNS_TASK, similarity_runs_make, similarity_runs_request
from models_runner.services.trainings import training_work, trainings_sweep

__all__ = [
    "RUNS_TASK",
    "experiment_create",
    "experiment_delete",
    "feature_set_cancel",
    "feature_set_delete",
    "feature_set_model",
    "feature_set_register",
    "feature_set_resume",
    "feature_set_start",
    "feature_set_work",
    "feature_sets_sweep",
    "leaderboard_change",
    "leaderboard_of",
    "release_receive",
    "run_upload",
    "run_withdraw",
    "run_work",
    "runs_sweep",
    "score_tests_order",
    "score_tests_work",
    "scoring_work",
    "similarity_runs_make",
    "similarity_runs_request",
    "study_create",
    "study_work",
    "training_cancel",
    "training_resume",
    "training_work",
    "trainings_sweep",
]
