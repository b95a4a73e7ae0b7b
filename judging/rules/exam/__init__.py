"""The exam's rules: truth, reports, who passes, and which pairs are drawn. Pure."""

from judging.rules.exam.draws import Levels, TooFew, draw_even, draw_levels, unevenness
from judging.rules.exam.passing import passes, why
from judging.rules.exam.reports import cohort_report, stored_report
from judging.rules.exam.truth import is_aligned, rounded_up, truth_of, truth_without

__all__ = [
    "Levels",
    "TooFew",
    "cohort_report",
    "draw_even",
    "draw_levels",
    "is_aligned",
    "passes",
    "rounded_up",
    "stored_report",
    "truth_of",
    "truth_without",
    "unevenness",
    "why",
]
