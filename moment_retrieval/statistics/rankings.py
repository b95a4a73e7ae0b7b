"""How alike two rankings of the same runs are.

Source: Kendall 1945 (tau-b, which allows ties); Voorhees 2000 on rankings of systems under other judgments.
"""

from __future__ import annotations

import numpy as np

from moment_retrieval.tables import Floats

EQUAL = 1e-12  # scores that differ by less are tied


def kendall(one: Floats, other: Floats) -> Floats:
    """[...] tau-b between scores [..., runs]; 1 for the same ranking, -1 for the reverse.

    NaN where one of them ties all runs: it ranks nothing.
    """
    first, second = np.triu_indices(one.shape[-1], k=1)
    a, b = order(one[..., first] - one[..., second]), order(other[..., first] - other[..., second])
    with np.errstate(invalid="ignore"):
        tau: Floats = (a * b).sum(axis=-1) / np.sqrt((a != 0).sum(axis=-1) * (b != 0).sum(axis=-1))
    return tau


def order(differences: Floats) -> Floats:
    """1 where the first is better, -1 where the second is, 0 for a tie."""
    return np.where(np.abs(differences) <= EQUAL, 0.0, np.sign(differences))
