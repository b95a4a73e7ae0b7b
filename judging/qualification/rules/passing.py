"""Who passes the exam, and why in words. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from judging.quality.rules.agreement import Kappas, Weights

ROUNDING = 1e-9  # a value of exactly the threshold passes, whichever way its division was rounded
ANY_LOW, ANY_BIAS, ANY_LEVELS = -1.0, 4.0, 1  # what asks for nothing
LEAST_PAIRS = 10  # of a first cohort with agreeing majorities, compared with the others before there is a result
LEAST_PERCENT = 80  # and of the pairs that the person graded
FEEDBACK_OPEN = "Some pairs of the feedback are still to be graded again."


@dataclass(frozen=True)
class PassRule:
    """What the policy asks of first grades; the last three ask for nothing unless said.

    Args:
        weights: of the kappa.
        kappa: the least kappa; one equal to it passes.
        kappa_low: the least lower bound of that kappa's 95 % interval (the bootstrap of ``agreement.kappa_interval``).
        bias: how far first grades may be above or below the truth on average.
        levels: how many levels of the truth they tell apart (``levels.levels_told_apart``); where the pairs of an exam
            hold fewer levels, as many as they hold.
    """

    weights: Weights
    kappa: float
    kappa_low: float = ANY_LOW
    bias: float = ANY_BIAS
    levels: int = ANY_LEVELS

    @property
    def asks_low(self) -> bool:
        return self.kappa_low > ANY_LOW

    @property
    def asks_bias(self) -> bool:
        return self.bias < ANY_BIAS

    @property
    def asks_levels(self) -> bool:
        return self.levels > ANY_LEVELS


def passes(report: Mapping[str, Any], rule: PassRule, *, feedback_done: bool) -> bool:
    """Whether first grades meet every condition of the rule and no feedback is open; an undefined kappa never does.

    Args:
        report: an annotator's part of a report.
        feedback_done: whether every misaligned pair has been graded again until aligned.
    """
    return feedback_done and all(met for met, _ in conditions(report, rule))


def gives_no_result(graded: int, compared: int) -> bool:
    """Whether too few of a person's pairs can be compared with an agreeing majority of the others.

    Below four fifths of them it matters which pairs are left: those on which somebody happens to agree.
    """
    return compared < LEAST_PAIRS or 100 * compared < LEAST_PERCENT * graded


def why_no_result(graded: int, compared: int) -> str:
    pairs = f"{graded} pair{'' if graded == 1 else 's'}"
    return (
        f"No result: on {compared} of the {pairs} three or more of the others, and most of them, agree; "
        f"{LEAST_PERCENT} % and at least {LEAST_PAIRS} are needed."
    )


def why(report: Mapping[str, Any], rule: PassRule, *, feedback_done: bool) -> str:
    """A sentence for each condition of the rule, and whether feedback is open. Args as ``passes``."""
    said = [sentence for _, sentence in conditions(report, rule)]
    return " ".join(said if feedback_done else [*said, FEEDBACK_OPEN])


def conditions(report: Mapping[str, Any], rule: PassRule) -> list[tuple[bool, str]]:
    """Each condition that the rule asks: whether it is met, and the sentence that says so."""
    found = Kappas.from_dict(report["kappas"])
    kappa = found.of(rule.weights)
    if kappa.value is None:
        return [(False, no_kappa(report, found))]
    said = [_at_least(f"{rule.weights.capitalize()} kappa", kappa.value, float(rule.kappa))]
    if rule.asks_low:
        if kappa.interval is None:
            said.append((False, "The interval of kappa cannot be computed: there are too few pairs."))
        else:
            said.append(_at_least("The lower bound of its interval,", kappa.interval.low, float(rule.kappa_low)))
    if rule.asks_bias:
        said.append(_bias(report["bias"], float(rule.bias)))
    if rule.asks_levels:
        said.append(_levels(report["levels"], min(rule.levels, report["truth_levels"])))
    return said


def _at_least(name: str, value: float, threshold: float) -> tuple[bool, str]:
    shown, asked = told_apart(value, threshold)
    met = reaches(value, threshold)
    return met, f"{name} {shown} {'reaches' if met else 'is below'} {asked}."


def _bias(value: float, most: float) -> tuple[bool, str]:
    met = reaches(-abs(value), -most)
    shown, asked = told_apart(-abs(value), -most)
    if float(shown) == 0:
        return met, "Grades are as high as the truth on average."
    way = "above" if value > 0 else "below"
    size = f"{shown.lstrip('-')} {way} the truth on average"
    return met, f"Grades are {size}, {'within' if met else 'more than'} {asked.lstrip('-')}."


def _levels(told: int, least: int) -> tuple[bool, str]:
    levels = f"{told} level{'' if told == 1 else 's'} of the truth"
    return told >= least, f"Grades tell {levels} apart; {least} {'is' if least == 1 else 'are'} needed."


def reaches(value: float | None, threshold: float) -> bool:
    return value is not None and value >= float(threshold) - ROUNDING


def told_apart(value: float, threshold: float) -> tuple[str, str]:
    """Both with two decimals, or with as many as it takes to see which is the larger."""
    for digits in range(2, 7):
        shown, asked = f"{value:.{digits}f}", f"{threshold:.{digits}f}"
        if (float(shown) >= float(asked)) == reaches(value, threshold):
            break
    return shown, asked


def no_kappa(report: Mapping[str, Any], found: Kappas) -> str:
    if not report["n"]:
        return "Kappa cannot be computed: nothing was graded."
    if not found.n:
        return "Kappa cannot be computed: nobody else graded these pairs."
    return "Kappa cannot be computed: all grades are the same."
