"""Who passes the exam and why in words, and how likely an exam lets somebody pass who cannot grade. Pure.

Somebody is a table of chances: which grade they give to a pair of each true level. Their first grades are drawn from it
for the truths that the exam asks, and the pass rule itself decides about each draw. Four people ought to fail: one who
grades at random, one who gives the same grade always, one who tells only 0 from the rest, and one who grades one too
high always. Where such a person can go about it in several ways the way that passes most often counts. A fifth one
ought to pass: true grades with the noise of the paper's annotators.

Notation: G grades of the project's scale, from 0 on.

Attempts are of different pairs and independent of each other, so ``within`` is one minus the chance to fail all.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import cache, lru_cache
from math import erf, inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judging.qualification.rules.truth import levels_distinguished, rounded_up
from judging.quality.rules.agreement import Weights, kappa_values, percentiles, resampled
from judging.work.rules import TVR_RANKING, Rules

ROUNDING = 1e-9  # a value of exactly the threshold passes, whichever way its division was rounded
ANY_LOW, ANY_LEVELS = -1.0, 1  # what asks for nothing; a bias does from the top grade on
LEAST_PAIRS = 10  # of a first cohort with agreeing majorities, compared with the others before there is a result
LEAST_PERCENT = 80  # and of the pairs that the person graded


@dataclass(frozen=True)
class PassRule:
    """Requirements of the policy for first grades; the bounds after kappa ask for nothing unless set.

    Args:
        weights: of the kappa.
        kappa: the least kappa; one equal to it passes.
        kappa_low: the least lower bound of that kappa's 95 % interval (the bootstrap of ``agreement.percentiles``).
        bias: how far first grades may be above or below the truth on average.
        levels: how many levels of the truth they tell apart (``truth.levels_distinguished``); where the pairs of an
            exam hold fewer levels, as many as they hold.
        top_grade: of the project; no bias can exceed it, so that such a bound asks for nothing.
    """

    weights: Weights
    kappa: float
    kappa_low: float = ANY_LOW
    bias: float = inf
    levels: int = ANY_LEVELS
    top_grade: int = TVR_RANKING.top_grade

    @property
    def asks_low(self) -> bool:
        return self.kappa_low > ANY_LOW

    @property
    def asks_bias(self) -> bool:
        return self.bias < self.top_grade

    @property
    def asks_levels(self) -> bool:
        return self.levels > ANY_LEVELS


def passes(report: Mapping[str, Any], rule: PassRule) -> bool:
    """Say whether first grades, by an annotator's part of a report, meet each condition; undefined kappa never does."""
    return all(met for met, _ in conditions(report, rule))


def gives_no_result(graded: int, compared: int) -> bool:
    """Whether too few of a person's pairs can be compared with an agreeing majority of the others. Below four fifths of
    them it matters which pairs are left: those on which somebody happens to agree."""
    return compared < LEAST_PAIRS or 100 * compared < LEAST_PERCENT * graded


def why_no_result(graded: int, compared: int) -> str:
    pairs = f"{graded} pair{'' if graded == 1 else 's'}"
    return (
        f"No result: on {compared} of the {pairs} three or more of the others, and most of them, agree; "
        f"{LEAST_PERCENT} % and at least {LEAST_PAIRS} are needed."
    )


def why(report: Mapping[str, Any], rule: PassRule) -> str:
    """Return a sentence for each condition of the rule."""
    return " ".join(sentence for _, sentence in conditions(report, rule))


def conditions(report: Mapping[str, Any], rule: PassRule) -> list[tuple[bool, str]]:
    """Each condition that the rule asks: whether it is met, and the sentence that says so."""
    kappa = report["kappas"][rule.weights]
    if kappa["value"] is None:
        return [(False, no_kappa(report))]
    results = [_at_least(f"{rule.weights.capitalize()} kappa", kappa["value"], rule.kappa)]
    if rule.asks_low:
        if kappa["interval"] is None:
            results.append((False, "The interval of kappa cannot be computed: there are too few pairs."))
        else:
            results.append(_at_least("The lower bound of its interval,", kappa["interval"]["low"], rule.kappa_low))
    if rule.asks_bias:
        results.append(_bias(report["bias"], rule.bias))
    if rule.asks_levels:
        results.append(_levels(report["levels"], min(rule.levels, report["truth_levels"])))
    return results


def _at_least(name: str, value: float, threshold: float) -> tuple[bool, str]:
    value_text, threshold_text = distinct_texts(value, threshold)
    met = reaches(value, threshold)
    return met, f"{name} {value_text} {'reaches' if met else 'is below'} {threshold_text}."


def _bias(value: float, most: float) -> tuple[bool, str]:
    met = reaches(-abs(value), -most)
    value_text, limit_text = distinct_texts(-abs(value), -most)
    if float(value_text) == 0:
        return met, "Grades are as high as the truth on average."
    direction = "above" if value > 0 else "below"
    size = f"{value_text.lstrip('-')} {direction} the truth on average"
    return met, f"Grades are {size}, {'within' if met else 'more than'} {limit_text.lstrip('-')}."


def _levels(n_levels: int, least: int) -> tuple[bool, str]:
    levels = f"{n_levels} level{'' if n_levels == 1 else 's'} of the truth"
    return n_levels >= least, f"Grades tell {levels} apart; {least} {'is' if least == 1 else 'are'} needed."


def reaches(value: float | None, threshold: float) -> bool:
    return value is not None and value >= float(threshold) - ROUNDING


def distinct_texts(value: float, threshold: float) -> tuple[str, str]:
    """Both with two decimals, or with as many as it takes to see which is the larger."""
    for digits in range(2, 7):
        value_text, threshold_text = f"{value:.{digits}f}", f"{threshold:.{digits}f}"
        if (float(value_text) >= float(threshold_text)) == reaches(value, threshold):
            break
    return value_text, threshold_text


def no_kappa(report: Mapping[str, Any]) -> str:
    if not report["n"]:
        return "Kappa cannot be computed: nothing was graded."
    if not report["kappas"]["n"]:
        return "Kappa cannot be computed: nobody else graded these pairs."
    return "Kappa cannot be computed: all grades are the same."


SAMPLES = 8000  # people of each way; a chance of 1 % is known to 0.11 points
TWO_GRADES = 2
LOW_SAMPLES, RESAMPLES = 400, 200  # people, and resamples of each, whose interval is computed where the rule asks
MOST = 0.01  # of the chance to pass for who ought to fail
# Relevance 0 to 4 among the settled pairs that TVR-Ranking published (data/tvr_ranking/raw_annotation.csv).
PUBLISHED = (5929, 19245, 30056, 24439, 14773)
# Standard deviation in grades of 0 to 4: on PUBLISHED 11.9 % of grades are misaligned and linear kappa is 0.49.
NOISE = 1.12
Chances = NDArray[np.float64]  # [G, G], of grade i for a true level j; columns add up to 1
Tables = NDArray[np.int64]  # [S, G, G], how often grade i was given to true level j


class Truths(NamedTuple):
    """The truths of the pairs that one attempt asks."""

    levels: tuple[int, ...]  # how many pairs of each level, the truth rounded up
    total: float  # of the truths as they are, halves and all


class Chance(NamedTuple):
    """How likely somebody passes."""

    once: float
    within: float  # the attempts allowed


class Grader(StrEnum):
    """Who sits the exam."""

    RANDOM = "random"
    CONSTANT = "constant"
    TWO_LEVEL = "two-level"
    SHIFTED = "shifted"
    HONEST = "honest"


OUGHT_TO_FAIL = (Grader.RANDOM, Grader.CONSTANT, Grader.TWO_LEVEL, Grader.SHIFTED)


def expected_shares(n_grades: int) -> Sequence[float]:
    """Return how often each level is expected where nothing is known: the published histogram, cut into equal parts."""
    return [float(part) for part in np.repeat(PUBLISHED, n_grades).reshape(n_grades, -1).sum(axis=1) / n_grades]


MISALIGNED = 0.1183  # share of first grades further than one from the truth: TVR-Ranking, section 3.1


@cache
def misaligned_share(scale: Rules) -> float:
    """Return which share of an honest annotator's first grades is too far from the truth: the paper's by its rules."""
    return MISALIGNED * _misaligned_by_noise(scale) / _misaligned_by_noise(TVR_RANKING)


def _misaligned_by_noise(scale: Rules) -> float:
    grades, shares = np.arange(len(scale.grades)), np.asarray(expected_shares(len(scale.grades)))
    is_far = np.abs(grades[:, None] - grades) > scale.max_spread  # [G, G]
    return float((honest(len(grades)) * is_far).sum(axis=0) @ shares / shares.sum())


def truths_of(truths: Iterable[Decimal], n_grades: int) -> Truths:
    """Sum up the truths of the pairs of an attempt."""
    values = list(truths)
    levels = [rounded_up(truth) for truth in values]
    return Truths(tuple(levels.count(level) for level in range(n_grades)), float(sum(values)))


def truths_drawn(shares: Sequence[float], *, pairs: int, draws: int, seed: int) -> tuple[Truths, ...]:
    """Attempts of pairs whose truths are not known yet, drawn from how often each level is expected."""
    weights = np.asarray(shares, dtype=float)
    counts = np.random.default_rng(seed).multinomial(pairs, weights / weights.sum(), size=draws)  # [D, G]
    return tuple(Truths(tuple(map(int, row)), float(row @ np.arange(len(row)))) for row in counts)


def always(grade_of: Sequence[int]) -> Chances:
    """Gives one certain grade to each level."""
    return np.eye(len(grade_of))[list(grade_of)].T


def noisy(noise: float, n_grades: int) -> Chances:
    """Gives the truth plus normal noise, rounded and kept within the scale."""
    spread, grades = noise * sqrt(2), range(n_grades)
    at_most = [[0.5 * (1 + erf((grade + 0.5 - level) / spread)) for level in grades] for grade in grades[:-1]]
    return np.diff(at_most, axis=0, prepend=0.0, append=1.0)


def honest(n_grades: int) -> Chances:
    """Grades as the paper's annotators did, on any scale."""
    return noisy(NOISE * (n_grades - 1) / TVR_RANKING.top_grade, n_grades)


def zero_and_random(n_grades: int) -> Chances:
    """Tells 0 from the rest, and gives the rest any grade above 0 at random."""
    chances = np.full((n_grades, n_grades), 1 / (n_grades - 1))
    chances[0, :] = 0
    chances[:, 0] = np.eye(n_grades)[0]
    return chances


@cache
def strategies(n_grades: int) -> Mapping[Grader, list[Chances]]:
    """Every way in which each grader may grade; of two grades, who tells 0 from the rest is right."""
    grades = range(n_grades)
    two_level = [zero_and_random(n_grades), *(always([0, *[grade] * (n_grades - 1)]) for grade in grades[1:])]
    return {
        Grader.RANDOM: [np.full((n_grades, n_grades), 1 / n_grades)],
        Grader.CONSTANT: [always([grade] * n_grades) for grade in grades],
        **({Grader.TWO_LEVEL: two_level} if n_grades > TWO_GRADES else {}),
        Grader.SHIFTED: [always([*grades[1:], grades[-1]])],
        Grader.HONEST: [honest(n_grades)],
    }


@lru_cache(maxsize=64)
def power(attempt_truths: tuple[Truths, ...], rule: PassRule, *, attempts: int, seed: int = 0) -> dict[Grader, Chance]:
    """How likely each grader passes, at once and within ``attempts``.

    Args:
        attempt_truths: what attempts may ask; each is sat by equally many people.
        rule: the pass rule in force.
        seed: of the draws; the same seed gives the same chances.
    """
    chances = {}
    for grader, grader_strategies in strategies(len(attempt_truths[0].levels)).items():
        once = max(passing_share(strategy, attempt_truths, rule, seed=seed) for strategy in grader_strategies)
        chances[grader] = Chance(once, 1 - (1 - once) ** attempts)
    return chances


def passing_share(chances: Chances, attempt_truths: Sequence[Truths], rule: PassRule, *, seed: int) -> float:
    """Which share of people with these chances pass."""
    rng = np.random.default_rng(seed)
    each = -(-SAMPLES // len(attempt_truths))
    tables = np.concatenate([graded(chances, truths, each, rng) for truths in attempt_truths])
    totals = np.repeat([truths.total for truths in attempt_truths], each)
    met = rule_met(tables, totals, rule)
    share = float(met.mean())
    if rule.asks_low and met.any():
        some = rng.permutation(np.flatnonzero(met))[:LOW_SAMPLES]
        share *= float((lows(tables[some], rule, rng) >= rule.kappa_low - ROUNDING).mean())
    return share


def graded(chances: Chances, truths: Truths, people: int, rng: np.random.Generator) -> Tables:
    """The tables of so many people: [S, G, G]."""
    columns = [rng.multinomial(n, chances[:, level], size=people) for level, n in enumerate(truths.levels)]
    return np.stack(columns, axis=2)


def rule_met(tables: Tables, totals: NDArray[np.float64], rule: PassRule) -> NDArray[np.bool_]:
    """Whether each table [S, G, G] of first grades meets the rule, as ``passing.passes`` decides: [S]. The lower bound
    of kappa is left to ``lows``: it takes longer, and is looked at where all else is met. ``totals`` is the sum of the
    truths as they are, in each of the tables: [S]."""
    values = kappa_values(tables, rule.weights)
    met: NDArray[np.bool_] = np.nan_to_num(values, nan=-np.inf) >= rule.kappa - ROUNDING
    if rule.asks_bias:
        grade_sums = tables.sum(axis=2) @ np.arange(tables.shape[1])  # [S]
        met &= np.abs(grade_sums - totals) <= (rule.bias + ROUNDING) * tables.sum(axis=(1, 2))
    if rule.asks_levels:
        there = (tables[met].sum(axis=1) > 0).sum(axis=1)
        met[met] = levels_distinguished(tables[met]) >= np.minimum(rule.levels, there)
    return met


def lows(tables: Tables, rule: PassRule, rng: np.random.Generator) -> NDArray[np.float64]:
    """The lower bound of kappa's interval of each table [C, G, G]: [C], minus infinity where there is none."""
    samples = (resampled(table, samples=RESAMPLES, seed=rng) for table in tables)
    intervals = [percentiles(sample, rule.weights) for sample in samples]
    return np.array([-np.inf if interval is None else interval.low for interval in intervals])
