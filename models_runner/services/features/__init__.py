"""Feature sets: ordered or named by their file, made by a task that can be killed, checked, removed."""

from models_runner.services.features.making import FULL, LATE, feature_set_work, feature_sets_sweep
from models_runner.services.features.material import names_wanted
from models_runner.services.features.ordering import (
    feature_set_cancel,
    feature_set_delete,
    feature_set_model,
    feature_set_register,
    feature_set_resume,
    feature_set_start,
    features_hold,
)

__all__ = [
    "FULL",
    "LATE",
    "feature_set_cancel",
    "feature_set_delete",
    "feature_set_model",
    "feature_set_register",
    "feature_set_resume",
    "feature_set_start",
    "feature_set_work",
    "feature_sets_sweep",
    "features_hold",
    "names_wanted",
]
