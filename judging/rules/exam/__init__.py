"""The exam's rules: truth, reports, who passes, and which pairs are drawn. Pure."""

from judging.rules.exam.anchors import Distance, distance
from judging.rules.exam.draws import Levels, TooFew, draw_even, draw_levels, unevenness
from judging.rules.exam.passing import PassRule, gives_no_result, passes, why, why_no_result
from judging.rules.exam.reports import cohort_report, stored_report
from judging.rules.exam.truth import agreed_truth, agreed_truth_without, is_aligned, rounded_up, truth_of, truth_without

__all__ = [
    "Distance",
    "Levels",
    "PassRule",
    "TooFew",
    "agreed_truth",
    "agreed_truth_without",
    "cohort_report",
    "distance",
    "draw_even",
    "draw_levels",
    "gives_no_result",
    "is_aligned",
    "passes",
    "rounded_up",
    "stored_report",
    "truth_of",
    "truth_without",
    "unevenness",
    "why",
    "why_no_result",
]
