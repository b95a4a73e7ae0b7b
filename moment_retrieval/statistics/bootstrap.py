"""Bootstrap over queries: the queries are drawn again, with replacement, and every mean is taken anew.

The draws depend on the seed and the number of queries alone, so runs and measures scored apart, in other processes and
on other days, are resampled together. A sample is how often each query was drawn; the means of all columns are then one
product of matrices.

Source: Efron & Tibshirani 1993, An Introduction to the Bootstrap, chapter 13 (percentile interval).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from moment_retrieval.tables import Floats

SEED = 20260101
SAMPLES = 10_000
LEVEL = 0.95
CELLS = 1 << 18  # counts held at a time: what the processor's cache takes


def draws(queries: int, samples: int = SAMPLES, *, seed: int = SEED) -> Iterator[Floats]:
    """[some, queries] how often each query was drawn, block by block until there are ``samples``; each row sums to Q.

    Raises:
        ValueError: there is no query, or no sample is asked for.
    """
    if queries < 1 or samples < 1:
        raise ValueError(f"needs queries and samples, got {queries} and {samples}")
    random = np.random.default_rng(seed)
    at_once = max(1, CELLS // queries)
    for first in range(0, samples, at_once):
        some = min(at_once, samples - first)
        drawn = random.integers(0, queries, (some, queries), dtype=np.uint32).astype(np.int64)
        drawn += queries * np.arange(some)[:, None]
        yield np.bincount(drawn.ravel(), minlength=some * queries).reshape(some, queries).astype(np.float64)


def resampled_means(values: Floats, samples: int = SAMPLES, *, seed: int = SEED) -> Floats:
    """[samples, columns] the mean of each column of ``values`` [queries, columns] in every sample.

    NaN has no part in a mean; a sample in which a column has nothing else is NaN.
    """
    known = ~np.isnan(values)
    if known.all():
        return np.concatenate([counts @ values for counts in draws(len(values), samples, seed=seed)]) / len(values)
    filled, weights = np.where(known, values, 0.0), known.astype(np.float64)
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
    held = np.full((samples.shape[1], 2), np.nan)
    for place, column in enumerate(samples.T):
        known = column[~np.isnan(column)]
        if len(known):
            held[place] = np.percentile(known, shares)
    return held
