"""Sittings: one person's way through pairs of known truth."""

from judging.services.sittings.endings import missed_exam_count, sitting_hand_in, sitting_settle
from judging.services.sittings.grading import SittingAnswer, sitting_grade
from judging.services.sittings.starting import sitting_start
from judging.services.sittings.warm_ups import WarmUp, warm_up_due, warm_up_lacks

__all__ = [
    "SittingAnswer",
    "WarmUp",
    "missed_exam_count",
    "sitting_grade",
    "sitting_hand_in",
    "sitting_settle",
    "sitting_start",
    "warm_up_due",
    "warm_up_lacks",
]
