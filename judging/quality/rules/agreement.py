"""How well annotators agree beyond chance: Cohen's, Fleiss' and Krippendorff's coefficients. Pure.

Notation: G grades of the project's scale, from 0 on.

Cohen's kappa is scikit-learn's, Fleiss' kappa statsmodels'; both are imported where they are called, so that the web
process starts without them. What is undefined is None: never NaN, never 1.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import chain, combinations
from statistics import fmean
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Annotator = TypeVar("Annotator", bound=Hashable)
Item = TypeVar("Item", bound=Hashable)
Counts = NDArray[np.int64]
SAMPLES = 1000
FEWEST_PAIRS = 10  # below this a bootstrap repeats the same few pairs and says nothing


class Weights(StrEnum):
    """How a distance between two grades counts as disagreement."""

    UNWEIGHTED = "unweighted"
    LINEAR = "linear"
    QUADRATIC = "quadratic"

    def matrix(self, n_grades: int) -> NDArray[np.float64]:
        """Disagreement [G, G] of each two grades."""
        gap = np.abs(np.subtract.outer(range(n_grades), range(n_grades))).astype(float)
        return {Weights.UNWEIGHTED: (gap > 0).astype(float), Weights.LINEAR: gap, Weights.QUADRATIC: gap**2}[self]


class Interval(NamedTuple):
    """A bootstrap percentile interval, and how many resamples had no kappa and were left out."""

    low: float
    high: float
    undefined: int


def kappa(a: Sequence[int], b: Sequence[int], weights: Weights) -> float | None:
    """Cohen's kappa of two annotators' grades of the same items, in the same order.

    One minus observed over expected disagreement; grades that nobody gave change nothing.

    Returns:
        A value up to 1, and 0 where agreement is that of chance. None in two cases only: there are no items, or both
        gave every item one and the same grade, so that chance expects no disagreement. Where only one of them is
        constant, or each at a grade of their own, kappa is defined and 0.

    Raises:
        ValueError: the lengths differ, or a grade is below 0.

    Source: Cohen 1960; weighted: Cohen 1968.
    """
    from sklearn.metrics import cohen_kappa_score

    check_grades(a, b)
    if len({*a, *b}) < 2:  # no items, or one grade is all that either gave
        return None
    scheme = None if weights is Weights.UNWEIGHTED else weights.value
    return float(cohen_kappa_score(np.asarray(a), np.asarray(b), labels=list(range(max(*a, *b) + 1)), weights=scheme))


def kappas(a: Sequence[int], b: Sequence[int], *, n_grades: int, seed: int) -> dict[str, Any]:
    """Return, as JSON can hold it, how many items there are (``n``) and Cohen's kappa under each weighting: its
    ``value``, None where undefined, and its 95 % ``interval`` (``Interval``), None where there is too little for one.
    The intervals are from the same resamples, drawn by ``seed``."""
    tables = resampled(table_of(a, b, n_grades), samples=SAMPLES, seed=seed)
    by_weights = {}
    for weights in Weights:
        interval = percentiles(tables, weights)
        by_weights[str(weights)] = {"value": kappa(a, b, weights), "interval": interval and interval._asdict()}
    return {"n": len(a), **by_weights}


def table_of(a: Sequence[int], b: Sequence[int], n_grades: int) -> Counts:
    """How often the first gave i where the second gave j: [G, G]. Raises ValueError: the lengths differ, or a grade is
    not of the scale."""
    check_grades(a, b, n_grades)
    cells = np.asarray(a, dtype=np.int64) * n_grades + np.asarray(b, dtype=np.int64)  # [N]
    return np.bincount(cells, minlength=n_grades**2).reshape(n_grades, n_grades)


def resampled(table: Counts, *, samples: int, seed: int | np.random.Generator) -> Counts:
    """Tables [S, G, G] of as many pairs, drawn from the pairs of ``table`` [G, G] with replacement; S is 0 for few."""
    n = int(table.sum())
    if n < FEWEST_PAIRS:
        return np.empty((0, *table.shape), dtype=np.int64)
    draws = np.random.default_rng(seed).multinomial(n, table.ravel() / n, size=samples)  # [S, G * G]
    return draws.reshape(samples, *table.shape)


def kappa_values(tables: Counts, weights: Weights) -> NDArray[np.float64]:
    """Cohen's kappa of each of the tables [S, G, G]: [S], NaN where it is undefined."""
    n, disagreement = tables.sum(axis=(1, 2)), weights.matrix(tables.shape[1])  # [S], [G, G]
    expected_counts = tables.sum(axis=2)[:, :, None] * tables.sum(axis=1)[:, None, :]  # [S, G, G], times n
    by_chance = (expected_counts * disagreement).sum(axis=(1, 2))  # [S]
    observed = (tables * disagreement).sum(axis=(1, 2)) * n
    values = np.full(len(tables), np.nan)
    defined = by_chance > 0  # exact: whole numbers
    values[defined] = 1.0 - observed[defined] / by_chance[defined]
    return values


def kappas_of(tables: Counts, weights: Weights) -> NDArray[np.float64]:
    """Cohen's kappa of each of the tables [S, G, G], without those where it is undefined: [D], D at most S."""
    values = kappa_values(tables, weights)
    defined_values: NDArray[np.float64] = values[~np.isnan(values)]
    return defined_values


def percentiles(tables: Counts, weights: Weights) -> Interval | None:
    """Where Cohen's kappa lies when the pairs are drawn again, with replacement: the middle 95 % of the kappas of
    resampled tables [S, G, G]; None for no tables, or where fewer than half of them have a kappa.

    Source: Efron and Tibshirani 1993, chapter 13.
    """
    values = kappas_of(tables, weights)
    if 2 * len(values) < len(tables) or len(values) == 0:
        return None
    low, high = np.quantile(values, [0.025, 0.975])
    return Interval(float(low), float(high), len(tables) - len(values))


class MeanKappa(NamedTuple):
    """A mean over the kappas that are defined, how many those are, and how many are undefined."""

    value: float | None
    defined: int
    undefined: int


def partner_kappas(
    grades: Mapping[Annotator, Mapping[Item, int]], weights: Weights
) -> dict[tuple[Annotator, Annotator], float | None]:
    """Cohen's kappa of every two annotators who share an item, each two once, in the order of ``grades``; None where it
    is undefined."""
    by_pair = {}
    for one, other in combinations(grades, 2):
        shared = [item for item in grades[one] if item in grades[other]]
        if shared:
            both = [[grades[person][item] for item in shared] for person in (one, other)]
            by_pair[one, other] = kappa(both[0], both[1], weights)
    return by_pair


def mean_pairwise_kappa(
    grades: Mapping[Annotator, Mapping[Item, int]], weights: Weights
) -> tuple[dict[Annotator, MeanKappa], MeanKappa]:
    """Each annotator's mean Cohen's kappa with every partner over the items both graded, and that of all pairs of
    annotators. Each partner counts once; partners without a shared item are none; pairs without a kappa are left out
    and counted."""
    by_pair = partner_kappas(grades, weights)
    by_annotator = {one: mean_kappa(value for pair, value in by_pair.items() if one in pair) for one in grades}
    return by_annotator, mean_kappa(by_pair.values())


def mean_kappa(values: Iterable[float | None]) -> MeanKappa:
    """The mean of the kappas that are defined; None where none is."""
    kappas = list(values)
    defined = [value for value in kappas if value is not None]
    return MeanKappa(fmean(defined) if defined else None, len(defined), len(kappas) - len(defined))


def counts_of(ratings: Iterable[Sequence[int]], n_grades: int) -> Counts:
    """How often each item was given each grade: [N, G] from N items, each with its grades in any order. Raises
    ValueError: a grade is not of the scale."""
    items = list(ratings)
    grades = np.fromiter(chain.from_iterable(items), dtype=np.int64)
    check_range(grades, n_grades)
    rows = np.repeat(np.arange(len(items)), [len(item) for item in items])  # the item of each grade
    return np.bincount(rows * n_grades + grades, minlength=len(items) * n_grades).reshape(len(items), n_grades)


def fleiss_kappa(counts: Counts) -> float | None:
    """Fleiss' kappa of items that all hold equally many grades, from whomever.

    Args:
        counts: [N, G], how often each of N items was given each grade.

    Returns:
        None where it is undefined: no items, fewer than two grades each, or one grade is all that was given.

    Raises:
        ValueError: some items hold more grades than others (use ``krippendorff_alpha``).

    Source: Fleiss 1971.
    """
    from statsmodels.stats.inter_rater import fleiss_kappa as of_statsmodels

    sizes = set(counts.sum(axis=1).tolist())
    if len(sizes) > 1:
        raise ValueError(f"Fleiss' kappa needs equally many grades of each item, got {sorted(sizes)}")
    if not sizes or sizes.pop() < 2 or np.count_nonzero(counts.sum(axis=0)) < 2:
        return None
    return float(of_statsmodels(counts))


def krippendorff_alpha(ratings: Iterable[Sequence[int]], n_grades: int) -> float | None:
    """``krippendorff_of_counts`` of items, each with the grades it was given by whomever, in any order."""
    return krippendorff_of_counts(counts_of(ratings, n_grades))


def krippendorff_of_counts(counts: Counts) -> float | None:
    """Krippendorff's ordinal alpha of items with any number of grades each; those with fewer than two say nothing.

    Args:
        counts: [N, G], how often each of N items was given each grade.

    Returns:
        One minus observed over expected disagreement. None where it is undefined: no item holds two grades, or the
        items that do hold one grade only.

    Source: Krippendorff 2011, Computing Krippendorff's Alpha-Reliability.
    """
    counts = counts[counts.sum(axis=1) >= 2]
    totals = counts.sum(axis=0)  # [G]
    middles = np.cumsum(totals) - totals / 2  # of each grade's ranks
    distance = np.subtract.outer(middles, middles) ** 2  # [G, G], squared and ordinal, of each two grades
    expected_disagreement = float((np.outer(totals, totals) * distance).sum())
    if expected_disagreement == 0:  # nothing to compare, or no variation
        return None
    weighed = counts / (counts.sum(axis=1, keepdims=True) - 1)  # [N, G]
    # How often two grades meet on one item, an item of m grades counting m; a grade does not meet itself
    coincidences = counts.T @ weighed - np.diag(weighed.sum(axis=0))  # [G, G]
    observed = float((coincidences * distance).sum())
    return 1.0 - (int(totals.sum()) - 1) * observed / expected_disagreement


def check_grades(a: Sequence[int], b: Sequence[int], n_grades: int | None = None) -> None:
    """Refuse grades that are not of the same items, or no grades."""
    if len(a) != len(b):
        raise ValueError(f"expected grades of the same items, got {len(a)} and {len(b)}")
    check_range(np.asarray([*a, *b]), n_grades)


def check_range(grades: NDArray[Any], n_grades: int | None) -> None:
    """Refuse grades below 0, and those beyond a scale of so many."""
    strange = grades[(grades < 0) | (grades >= n_grades if n_grades else False)]
    if strange.size:
        raise ValueError(f"expected grades from 0{f' to {n_grades - 1}' if n_grades else ' on'}, got {strange[0]}")
