"""What a pair of the exam is worth, and whether an answer is aligned with it. Pure.

Source: TVR-Ranking, section 3.1 (arXiv:2407.06597).
"""

import math
from collections.abc import Hashable, Iterable, Mapping
from decimal import Decimal
from typing import TypeVar

Annotator = TypeVar("Annotator", bound=Hashable)
FURTHEST_ALIGNED = 1  # from the truth
MOST = 4  # the highest grade
FEWEST_AGREEING = 3  # people who agree before their majority makes a truth


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


def agreed_truth(grades: Iterable[int]) -> Decimal | None:
    """The median of the majority that agrees within one grade; None where fewer than three, or no majority, do.

    Two people who give the same grades at random make no truth by themselves, and cannot move one that three others
    make. Where two such majorities overlap (1, 2, 2, 3), the truth is the median of both together.
    """
    order = sorted(grades)
    steps = [[grade for grade in order if level <= grade <= level + 1] for level in range(MOST)]
    largest = max(map(len, steps))
    if largest < FEWEST_AGREEING or 2 * largest <= len(order):
        return None
    levels = [level for level, step in enumerate(steps) if len(step) == largest]
    return truth_of(grade for grade in order if levels[0] <= grade <= levels[-1] + 1)


def truth_without(grades: Mapping[Annotator, int], annotator: Annotator) -> Decimal | None:
    """The median of what the others gave a pair; None where nobody else did."""
    others = _of_others(grades, annotator)
    return truth_of(others) if others else None


def agreed_truth_without(grades: Mapping[Annotator, int], annotator: Annotator) -> Decimal | None:
    """The truth on which a majority of the others agrees, at least three of them; None where there is none.

    One's own grade neither moves this truth nor decides whether a pair is compared. If it counted towards the three,
    two people with the same grades would be compared on the very pairs where a third happens to agree with them.
    """
    return agreed_truth(_of_others(grades, annotator))


def _of_others(grades: Mapping[Annotator, int], annotator: Annotator) -> list[int]:
    return [grade for other, grade in grades.items() if other != annotator]


def is_aligned(grade: int, truth: Decimal | int) -> bool:
    return abs(Decimal(grade) - truth) <= FURTHEST_ALIGNED


def rounded_up(truth: Decimal | int) -> int:
    """The grade that a truth stands for where a grade is needed: kappa compares grades."""
    return math.ceil(truth)
