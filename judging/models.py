"""Who judges, and what it means."""

from judging.guidelines.models import (
    Guideline,
    GuidelineConfirmation,
    GuidelineDraft,
    GuidelineDraftExample,
    GuidelineExample,
    Policy,
    Weights,
)
from judging.imports.models import JudgmentImport
from judging.pay.models import HoursCorrection, PayRate
from judging.people.models import Invitation
from judging.qualification.models import Exam, GateAttempt, GateQuestion, KnownPair, Sitting, SittingGrade
from judging.quality.models import GoldGrade, QualityAlert, QualityReport
from judging.releases.models import WORDS, Release, ReleaseChange, ReleaseComparison, ReleaseWords
from judging.work.models import (
    Assignment,
    Batch,
    BatchReview,
    Flag,
    FlagAnswer,
    Judgment,
    JudgmentChange,
    JudgmentDay,
    OwnGrade,
    Pair,
    Recut,
    ReviewUndone,
    Tally,
)
from judging.work.rules import SEATS

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
