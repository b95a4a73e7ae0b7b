"""Who judges, and what it means."""

from judging.models.answers import FlagAnswer, Recut
from judging.models.batch import Batch, BatchReview, Pair, ReviewUndone
from judging.models.exam import Exam, KnownPair, Sitting, SittingGrade
from judging.models.gate import GateAttempt, GateQuestion
from judging.models.imports import JudgmentImport
from judging.models.invitation import Invitation
from judging.models.judgment import SEATS, Assignment, Flag, GoldGrade, Judgment, JudgmentChange, OwnGrade
from judging.models.pay import HoursCorrection, PayRate
from judging.models.policy import (
    Guideline,
    GuidelineConfirmation,
    GuidelineDraft,
    GuidelineDraftExample,
    GuidelineExample,
    Policy,
    Weights,
)
from judging.models.quality import QualityAlert, QualityReport
from judging.models.release import WORDS, Release, ReleaseChange, ReleaseComparison, ReleaseWords
from judging.models.tally import JudgmentDay, Tally

__all__ = [
    "SEATS",
    "WORDS",
    "Assignment",
    "Batch",
    "BatchReview",
    "Exam",
    "Flag",
    "FlagAnswer",
    "GateAttempt",
    "GateQuestion",
    "GoldGrade",
    "Guideline",
    "GuidelineConfirmation",
    "GuidelineDraft",
    "GuidelineDraftExample",
    "GuidelineExample",
    "HoursCorrection",
    "Invitation",
    "Judgment",
    "JudgmentChange",
    "JudgmentDay",
    "JudgmentImport",
    "KnownPair",
    "OwnGrade",
    "Pair",
    "PayRate",
    "Policy",
    "QualityAlert",
    "QualityReport",
    "Recut",
    "Release",
    "ReleaseChange",
    "ReleaseComparison",
    "ReleaseWords",
    "ReviewUndone",
    "Sitting",
    "SittingGrade",
    "Tally",
    "Weights",
]
