"""Who judges, and what it means."""

from judging.models.batch import Batch, BatchReview, Pair
from judging.models.judgment import SEATS, Assignment, Flag, Judgment, JudgmentChange
from judging.models.policy import Guideline, GuidelineExample, Policy
from judging.models.release import Release

__all__ = [
    "SEATS",
    "Assignment",
    "Batch",
    "BatchReview",
    "Flag",
    "Guideline",
    "GuidelineExample",
    "Judgment",
    "JudgmentChange",
    "Pair",
    "Policy",
    "Release",
]
