"""Who judges, and what it means."""

from judging.checking.models import QueryCheck
from judging.collection.models import (
    ClipAssignment,
    QueryType,
    WriterStop,
    WritingClip,
    WritingRound,
    WritingRoundMember,
    WrittenQuery,
)
from judging.guidelines.models import (
    Guideline,
    GuidelineConfirmation,
    GuidelineDraft,
    GuidelineDraftExample,
    GuidelineExample,
    Policy,
)
from judging.imports.models import JudgmentImport
from judging.pay.models import HoursCorrection, PayRate
from judging.people.models import Invitation
from judging.qualification.models import Exam, ExamAttempt, ExamGrade, KnownPair, ScreeningAttempt, ScreeningQuestion
from judging.quality.models import GoldGrade, QualityAlert, QualityReport
from judging.releases.models import WORDS, Release, ReleaseChange, ReleaseComparison, ReleaseWords
from judging.verification.models import (
    VerificationAnswer,
    VerificationAssignment,
    VerificationInspection,
    VerificationPair,
    VerificationStatement,
    VerificationStudy,
)
from judging.webhooks.models import Webhook, WebhookDelivery
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

__all__ = ["Guideline", "GuidelineConfirmation", "GuidelineDraft", "GuidelineDraftExample", "GuidelineExample"]
__all__ += ["Policy"]
__all__ += ["JudgmentImport"]
__all__ += ["HoursCorrection", "Invitation", "PayRate"]
__all__ += ["Exam", "ExamAttempt", "ExamGrade", "KnownPair", "ScreeningAttempt", "ScreeningQuestion"]
__all__ += ["QualityAlert", "QualityReport"]
__all__ += ["WORDS", "Release", "ReleaseChange", "ReleaseComparison", "ReleaseWords"]
__all__ += ["Batch", "BatchReview", "JudgmentDay", "Pair", "ReviewUndone", "Tally"]
__all__ += ["Assignment", "Flag", "FlagAnswer", "GoldGrade", "Judgment", "JudgmentChange", "OwnGrade", "Recut"]
__all__ += ["Webhook", "WebhookDelivery"]
__all__ += [
    "ClipAssignment",
    "QueryCheck",
    "QueryType",
    "WriterStop",
    "WritingClip",
    "WritingRound",
    "WritingRoundMember",
    "WrittenQuery",
]
__all__ += ["VerificationAnswer", "VerificationAssignment", "VerificationInspection", "VerificationPair"]
__all__ += ["VerificationStatement", "VerificationStudy"]
