"""Whether two runs differ by more than chance: the paired randomisation test, and Holm's correction.

If two runs were equally good, the difference on each query could as well have had the other sign. All differences get
random signs, again and again; the p-value is how often their mean is then at least as far from 0 as it is.

Source: Fisher 1935; for retrieval Smucker, Allan & Carterette, CIKM 2007; Holm 1979.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from moment_retrieval.statistics.bootstrap import SEED
from moment_retrieval.tables import Floats

PERMUTATIONS = 10_000
CELLS = 1 << 20  # signs held at a time
EQUAL = 1e-12  # sums that differ by less are equal but for the order of adding


def signs(queries: int, permutations: int = PERMUTATIONS, *, seed: int = SEED) -> Iterator[Floats]:
    """[some, queries] of 1 and -1, block by block until there are ``permutations``."""
    random = np.random.default_rng(seed)
    at_once = max(1, CELLS // max(1, queries))
    for first in range(0, permutations, at_once):
        drawn = random.integers(0, 2, (min(at_once, permutations - first), queries), dtype=np.int8)
        yield drawn.astype(np.float64) * 2 - 1


def randomisation_test(differences: Floats, permutations: int = PERMUTATIONS, *, seed: int = SEED) -> Floats:
    """[columns] two-sided p-values of ``differences`` [queries, columns]; all columns get the same signs.

    NaN counts as no difference: such queries have no part in a comparison. The observed order is one of those counted,
    so no p-value is 0 (Phipson & Smyth 2010).
    """
    held = np.nan_to_num(differences, nan=0.0)
    observed = np.abs(held.sum(axis=0))
    reached = np.ones(held.shape[1])
    for some in signs(len(held), permutations, seed=seed):
        reached += (np.abs(some @ held) >= observed - EQUAL).sum(axis=0)
    return reached / (permutations + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for their number, in their order; the chance of any false alarm stays within alpha."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected, highest = [0.0] * len(p_values), 0.0
    for place, number in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[number]))
        corrected[number] = highest
    return corrected
