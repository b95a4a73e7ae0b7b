"""What a pair of the exam is worth, and whether an answer is aligned with it. Pure.

Source: TVR-Ranking, section 3.1 (arXiv:2407.06597).
"""

import math
from collections.abc import Hashable, Iterable, Mapping
from decimal import Decimal
from typing import TypeVar

Annotator = TypeVar("Annotator", bound=Hashable)
FURTHEST_ALIGNED = 1  # from the truth


def truth_of(grades: Iterable[int]) -> Decimal:
    """The median of a pair's first grades; an even number of them may give a half.

    Raises:
        ValueError: there are no grades.
    """
    order = sorted(grades)
    if not order:
        raise ValueError("no grades, no truth")
    middle = len(order) // 2
    return Decimal(order[middle] + order[~middle]) / 2


def truth_without(grades: Mapping[Annotator, int], annotator: Annotator) -> Decimal | None:
    """The median of what the others gave a pair; None where nobody else did."""
    others = [grade for other, grade in grades.items() if other != annotator]
    return truth_of(others) if others else None


def is_aligned(grade: int, truth: Decimal | int) -> bool:
    return abs(Decimal(grade) - truth) <= FURTHEST_ALIGNED


def rounded_up(truth: Decimal | int) -> int:
    """The grade that a truth stands for where a grade is needed: kappa compares grades."""
    return math.ceil(truth)
