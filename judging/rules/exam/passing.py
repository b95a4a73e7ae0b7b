"""Who passes the exam, and why in words. Pure."""

from collections.abc import Mapping
from typing import Any

from judging.rules.agreement import Kappas, Weights

ROUNDING = 1e-9  # a kappa of exactly the threshold passes, whichever way its division was rounded


def passes(report: Mapping[str, Any], *, weights: Weights, threshold: float, feedback_done: bool) -> bool:
    """Whether kappa of the first grades reaches the threshold and no feedback is open; an undefined kappa never does.

    Args:
        report: an annotator's part of a report.
        weights, threshold: what the policy asks; a kappa equal to the threshold passes.
        feedback_done: whether every misaligned pair has been graded again until aligned.
    """
    return feedback_done and reaches(Kappas.from_dict(report["kappas"]).of(weights).value, threshold)


def why(report: Mapping[str, Any], *, weights: Weights, threshold: float, feedback_done: bool) -> str:
    """One or two sentences: how kappa compares with the threshold, and whether feedback is open. Args as ``passes``."""
    found = Kappas.from_dict(report["kappas"])
    value = found.of(weights).value
    if value is None:
        said = no_kappa(report, found)
    else:
        shown, asked = told_apart(value, float(threshold))
        said = f"{weights.capitalize()} kappa {shown} {'reaches' if reaches(value, threshold) else 'is below'} {asked}."
    return said if feedback_done else f"{said} Some pairs of the feedback are still to be graded again."


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
