"""How many levels of the truth somebody's grades tell apart. Pure.

The levels 0 to 4 are cut into steps of neighbouring levels in every possible way. A cut counts where the mean grade
rises from each step to the next by more than chance explains: Student's two-sample t of the two steps, with their
pooled variance, reaches ``LEAST_T``. The answer is the number of steps of the finest cut that counts. Somebody who
grades 0 rightly and all the rest at random tells 2 apart, a constant grade 1, a careful person 4 or 5.

Source: Student 1908, The probable error of a mean (Biometrika 6); the cuts are all tried, so nothing is assumed about
where somebody's levels lie.
"""

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from judging.rules.consensus import GRADES

LEVELS = len(GRADES)
LEAST_T = 3.2  # chance reaches it about once in 1,000 comparisons of 40 pairs with 40
Counts = NDArray[np.int64]
Steps = list[tuple[int, int]]  # of levels, each from the first to before the last


def cuts() -> list[Steps]:
    """Every way to cut the levels into steps, the finest first."""
    found = []
    for size in range(LEVELS, 0, -1):
        for places in combinations(range(1, LEVELS), size - 1):
            bounds = (0, *places, LEVELS)
            found.append(list(pairwise(bounds)))
    return found


def levels_told_apart(tables: Counts) -> NDArray[np.int64]:
    """How many levels of the truth each table tells apart: [S], 1 to 5, or 0 for an empty table.

    Args:
        tables: [S, 5, 5], how often each person gave grade i to pairs of true grade j.
    """
    grades = np.arange(LEVELS)
    n = tables.sum(axis=1)  # [S, 5], by level of the truth
    total = np.einsum("g,sgt->st", grades, tables)  # [S, 5], sum of the grades
    squares = np.einsum("g,sgt->st", grades**2, tables)  # [S, 5]
    told = np.zeros(len(tables), dtype=np.int64)
    for cut in cuts():
        parts = [tuple(part[:, low:high].sum(axis=1) for part in (n, total, squares)) for low, high in cut]
        holds = np.all([part[0] > 0 for part in parts], axis=0)  # [S]
        for below, above in pairwise(parts):
            holds &= rises(below, above)
        told = np.where((told == 0) & holds, len(cut), told)
    return told


def rises(below: Sequence[Counts], above: Sequence[Counts]) -> NDArray[np.bool_]:
    """Whether the mean grade of the upper step is above that of the lower one beyond chance: [S].

    Args:
        below, above: number of pairs, sum of their grades, sum of their squares, each [S].
    """
    (n, total, squares), (n_above, total_above, squares_above) = below, above
    rise = total_above * n - total * n_above  # [S], the difference of the means times n * n_above: exact
    # Sum of squares around both means, times n * n_above: whole numbers, so that 0 is 0.
    spread = (n * squares - total**2) * n_above + (n_above * squares_above - total_above**2) * n  # [S]
    freedom = n + n_above - 2  # [S]
    # t >= T with t = (rise / nm) / sqrt(spread / nm / freedom * (n + m) / nm), squared and without a division
    enough: NDArray[np.bool_] = rise**2 * freedom >= LEAST_T**2 * spread * (n + n_above)
    return (rise > 0) & (freedom > 0) & enough
