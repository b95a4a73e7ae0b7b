"""How sure a score, a difference or a ranking is: bootstrap intervals, randomisation tests, Kendall's tau.

Bootstrap: queries are drawn again, with replacement (Efron & Tibshirani 1993, chapter 13: percentile interval). The
draws depend on the seed and the number of queries alone, so runs and measures scored apart are resampled together;
the means of all columns are one product of matrices. Randomisation: if two runs were equally good, each query's
difference could as well have the other sign; the p-value is how often their mean is then as far from 0 (Fisher 1935;
Smucker, Allan & Carterette, CIKM 2007), corrected after Holm 1979. Rankings: tau-b, which allows ties (Kendall 1945;
Voorhees 2000 on rankings of systems under other judgments).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from moment_retrieval.tables import Floats

SEED = 20260101
SAMPLES = 10_000
LEVEL = 0.95
CELLS = 1 << 18  # counts in memory at a time: what the processor's cache takes


def draws(queries: int, samples: int = SAMPLES, *, seed: int = SEED) -> Iterator[Floats]:
    """[some, queries] how often each query was drawn, block by block until there are ``samples``; each row sums to Q.

    Raises:
        ValueError: there is no query, or no sample is requested.
    """
    if queries < 1 or samples < 1:
        raise ValueError(f"needs queries and samples, got {queries} and {samples}")
    random = np.random.default_rng(seed)
    at_once = max(1, CELLS // queries)
    for first in range(0, samples, at_once):
        some = min(at_once, samples - first)
        indexes = random.integers(0, queries, (some, queries), dtype=np.uint32).astype(np.int64)
        indexes += queries * np.arange(some)[:, None]
        yield np.bincount(indexes.ravel(), minlength=some * queries).reshape(some, queries).astype(np.float64)


def resampled_means(values: Floats, samples: int = SAMPLES, *, seed: int = SEED) -> Floats:
    """[samples, columns] the mean of each column of ``values`` [queries, columns] in every sample.

    NaN has no part in a mean; a sample in which a column has nothing else is NaN.
    """
    mask = ~np.isnan(values)
    if mask.all():
        return np.concatenate([counts @ values for counts in draws(len(values), samples, seed=seed)]) / len(values)
    filled, weights = np.where(mask, values, 0.0), mask.astype(np.float64)
    parts = []
    with np.errstate(invalid="ignore"):
        for counts in draws(len(values), samples, seed=seed):
            parts.append((counts @ filled) / (counts @ weights))
    return np.concatenate(parts)


def intervals(values: Floats, samples: int = SAMPLES, *, seed: int = SEED, level: float = LEVEL) -> Floats:
    """[columns, 2] the percentile interval of each column's mean; NaN where a column holds nothing.

    Args:
        values: [queries, columns], NaN where a query has no part in a measure.
        level: how much of the samples lies inside, in (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"the level must lie in (0, 1), got {level}")
    return bounds(resampled_means(values, samples, seed=seed), level)


def bounds(samples: Floats, level: float = LEVEL) -> Floats:
    """[columns, 2] between which the middle of the samples [samples, columns] lies; NaN is left out."""
    shares = [50 * (1 - level), 50 * (1 + level)]
    if not np.isnan(samples).any():
        return np.percentile(samples, shares, axis=0).T
    limits = np.full((samples.shape[1], 2), np.nan)
    for index, column in enumerate(samples.T):
        values = column[~np.isnan(column)]
        if len(values):
            limits[index] = np.percentile(values, shares)
    return limits


PERMUTATIONS = 10_000
SIGNS = 1 << 20  # signs in memory at a time
EQUAL = 1e-12  # sums that differ by less are equal but for the order of adding


def signs(queries: int, permutations: int = PERMUTATIONS, *, seed: int = SEED) -> Iterator[Floats]:
    """[some, queries] of 1 and -1, block by block until there are ``permutations``."""
    random = np.random.default_rng(seed)
    at_once = max(1, SIGNS // max(1, queries))
    for first in range(0, permutations, at_once):
        bits = random.integers(0, 2, (min(at_once, permutations - first), queries), dtype=np.int8)
        yield bits.astype(np.float64) * 2 - 1


def randomisation_test(differences: Floats, permutations: int = PERMUTATIONS, *, seed: int = SEED) -> Floats:
    """[columns] two-sided p-values of ``differences`` [queries, columns]; all columns get the same signs.

    NaN counts as no difference: such queries have no part in a comparison. The observed order is one of those counted,
    so no p-value is 0 (Phipson & Smyth 2010).
    """
    values = np.nan_to_num(differences, nan=0.0)
    observed = np.abs(values.sum(axis=0))
    reached = np.ones(values.shape[1])
    for some in signs(len(values), permutations, seed=seed):
        reached += (np.abs(some @ values) >= observed - EQUAL).sum(axis=0)
    return reached / (permutations + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for their number, in their order; the chance of any false alarm stays within alpha."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, number in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[number]))
        corrected[number] = highest
    return corrected


TIED = 1e-12  # scores that differ by less are tied


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
    return np.where(np.abs(differences) <= TIED, 0.0, np.sign(differences))
