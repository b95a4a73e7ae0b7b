"""Counts that figures are drawn from: one statement each, over the pairs that a scope chooses."""

from judging.selectors.figures.agreement import agreement_by_day, grades_shared
from judging.selectors.figures.cases import Case, cases, cases_matching
from judging.selectors.figures.order import order_effects
from judging.selectors.figures.relevance import (
    grade_ranges,
    relevance_by_similarity,
    relevance_counted,
    relevance_of_ranks,
)
from judging.selectors.figures.scope import Scope

__all__ = [
    "Case",
    "Scope",
    "agreement_by_day",
    "cases",
    "cases_matching",
    "grade_ranges",
    "grades_shared",
    "order_effects",
    "relevance_by_similarity",
    "relevance_counted",
    "relevance_of_ranks",
]
