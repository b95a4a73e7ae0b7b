"""How annotators did in the exam, as plain values that JSON can hold. Pure.

An annotator's part, in ``report["annotators"][str(annotator)]`` or from ``later_exam_report``:

    n                 pairs graded
    misaligned        share of first grades too far from the truth, of the pairs that have one
    mean_bias         mean of first grade less truth; above 0 for who grades high
    distribution      how often each grade was given at first
    kappas            of first grades against the truth rounded up (``agreement.kappas``)
    bias              mean of first grade less the truth that kappas are against
    levels            how many levels of that truth first grades tell apart (truth.levels_distinguished)
    truth_levels      how many levels that truth has
    pairwise          of first grades by weights: mean kappa with the partners, how many, how many without a kappa
    after_feedback    kappas of the grades after feedback against the same truth; None before

The truth of a first cohort is the median of all first grades, or what a majority agrees on (``agreed_truth``); for
kappas, bias and levels it follows by the same rule from the others' grades alone (``compared_with``). The part of a
cohort, in ``report["cohort"]``, holds means over its annotators. What is undefined is None.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping
from decimal import Decimal
from statistics import fmean
from typing import Any, TypeVar

from judging.qualification.rules.truth import (
    agreed_truth,
    is_aligned,
    levels_distinguished,
    rounded_up,
    truth_of,
    truth_without,
)
from judging.quality.rules import agreement
from judging.quality.rules.agreement import Weights
from judging.work.rules import Rules

Annotator = TypeVar("Annotator", bound=Hashable)
Pair = TypeVar("Pair", bound=Hashable)
Report = dict[str, Any]


def cohort_report(
    first: Mapping[Annotator, Mapping[Pair, int]],
    scale: Rules,
    *,
    seed: int,
    left_out: Collection[Annotator] = (),
    agreeing: bool = False,
) -> Report:
    """How a first cohort did, each and all.

    Args:
        first: first grades of each annotator by pair; somebody may have graded some pairs only.
        scale: the rules of the project.
        seed: of the intervals, 0 or more.
        left_out: whose grades make no truth, neither of a pair nor for the others; they are in no mean.
        agreeing: whether only majorities that agree make a truth, of a pair and for the comparison of each person.
    """
    cohort_grades = {annotator: grades for annotator, grades in first.items() if annotator not in left_out}
    by_pair = transposed(cohort_grades)
    truths = {
        pair: agreed_truth(grades.values(), scale) if agreeing else truth_of(grades.values())
        for pair, grades in by_pair.items()
    }
    truth = {pair: value for pair, value in truths.items() if value is not None}
    pairwise = {weights: agreement.mean_pairwise_kappa(first, weights) for weights in Weights}
    of_counted = (
        {weights: agreement.mean_pairwise_kappa(cohort_grades, weights) for weights in Weights}
        if left_out
        else pairwise
    )
    annotators: dict[str, Report] = {}
    for annotator, grades in first.items():
        others = compared_with(by_pair, annotator, grades, scale, agreeing=agreeing)
        annotators[str(annotator)] = {
            **described(grades, truth, scale),
            **compared(grades, others, None, scale, seed=seed),
            "pairwise": {
                str(weights): by_annotator[annotator]._asdict() for weights, (by_annotator, _) in pairwise.items()
            },
        }
    alpha = agreement.krippendorff_alpha((list(grades.values()) for grades in by_pair.values()), len(scale.grades))
    parts = [annotators[str(annotator)] for annotator in cohort_grades]
    means = {str(weights): kappa._asdict() for weights, (_, kappa) in of_counted.items()}
    return {"annotators": annotators, "cohort": cohort(parts, means, pairs=len(by_pair), alpha=alpha)}


def later_exam_report(
    first: Mapping[Pair, int],
    truth: Mapping[Pair, Decimal],
    final: Mapping[Pair, int] | None,
    scale: Rules,
    *,
    seed: int,
) -> Report:
    """How one annotator did against truth that was known before; nobody else sat, so ``pairwise`` is None.

    Args:
        first: first grades by pair.
        truth: the truth of those pairs at least.
        final: grades after feedback, of all pairs or of those graded again; None before feedback.
        seed: of the intervals, 0 or more.
    """
    return {**described(first, truth, scale), **compared(first, truth, final, scale, seed=seed), "pairwise": None}


def compared_with(
    by_pair: Mapping[Pair, Mapping[Annotator, int]],
    annotator: Annotator,
    pairs: Iterable[Pair],
    scale: Rules,
    *,
    agreeing: bool,
) -> dict[Pair, Decimal]:
    """The truth that the others' grades make for one annotator of a first cohort, of those pairs that have one."""
    truths = {pair: truth_without(by_pair.get(pair, {}), annotator, scale, agreeing=agreeing) for pair in pairs}
    return {pair: truth for pair, truth in truths.items() if truth is not None}


def described(grades: Mapping[Pair, int], truth: Mapping[Pair, Decimal], scale: Rules) -> Report:
    """Numbers of one annotator's first grades beside the truth as it is, halves and all."""
    values = list(grades.values())
    both = _with_truth(grades, truth)
    return {
        "n": len(values),
        "misaligned": mean(float(not is_aligned(grade, true, scale.max_spread)) for grade, true in both),
        "mean_bias": mean_bias(both),
        "distribution": [values.count(level) for level in scale.grades],
    }


def compared(
    first: Mapping[Pair, int],
    truth: Mapping[Pair, Decimal],
    final: Mapping[Pair, int] | None,
    scale: Rules,
    *,
    seed: int,
) -> Report:
    """Kappas of one annotator's first grades against the truth, what else a pass rule may ask of them, and apart from
    them kappas after feedback."""
    later = None if final is None else {**first, **final}
    return {
        "kappas": against(first, truth, scale, seed=seed),
        **criteria(first, truth, scale),
        "after_feedback": None if later is None else against(later, truth, scale, seed=seed),
    }


def criteria(grades: Mapping[Pair, int], truth: Mapping[Pair, Decimal], scale: Rules) -> Report:
    """Bias and levels of one annotator's first grades, over the pairs that have both."""
    both = _with_truth(grades, truth)
    levels = [rounded_up(true) for _, true in both]
    table = agreement.table_of([grade for grade, _ in both], levels, len(scale.grades))
    return {
        "bias": mean_bias(both),
        "levels": int(levels_distinguished(table[None])[0]),
        "truth_levels": len(set(levels)),
    }


def mean_bias(grades_with_truth: Iterable[tuple[int, Decimal]]) -> float | None:
    """The mean of grade less truth."""
    return mean(float(grade - true) for grade, true in grades_with_truth)


def against(grades: Mapping[Pair, int], truth: Mapping[Pair, Decimal], scale: Rules, *, seed: int) -> Report:
    """Kappas of grades against the truth rounded up, over the pairs that have both."""
    both = _with_truth(grades, truth)
    first, second = [grade for grade, _ in both], [rounded_up(true) for _, true in both]
    return agreement.kappas(first, second, n_grades=len(scale.grades), seed=seed)


def _with_truth(grades: Mapping[Pair, int], truth: Mapping[Pair, Decimal]) -> list[tuple[int, Decimal]]:
    return [(grade, truth[pair]) for pair, grade in grades.items() if pair in truth]


def cohort(annotators: Iterable[Report], pairwise: Report | None, *, pairs: int | None, alpha: float | None) -> Report:
    """Means over the annotators who graded anything; a kappa that is undefined is left out of its mean and counted."""
    sat = [report for report in annotators if report["n"]]
    return {
        "n": len(sat),
        "pairs": pairs,
        "misaligned": mean(report["misaligned"] for report in sat),
        "kappas": mean_kappas(report["kappas"] for report in sat),
        "pairwise": pairwise,
        "alpha": alpha,
        "after_feedback": None,
    }


def mean_kappas(reports: Iterable[Report]) -> dict[str, Report]:
    """Mean over annotators under each weighting; empty without annotators."""
    parts = list(reports)
    return {
        str(weights): agreement.mean_kappa(report[weights]["value"] for report in parts)._asdict()
        for weights in Weights
        if parts
    }


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of those that are defined."""
    defined = [value for value in values if value is not None]
    return fmean(defined) if defined else None


def transposed(grades: Mapping[Annotator, Mapping[Pair, int]]) -> dict[Pair, dict[Annotator, int]]:
    """Each pair's grades by annotator."""
    by_pair: dict[Pair, dict[Annotator, int]] = {}
    for annotator, own in grades.items():
        for pair, grade in own.items():
            by_pair.setdefault(pair, {})[annotator] = grade
    return by_pair
