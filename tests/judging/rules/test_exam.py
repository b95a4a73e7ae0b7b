"""The exam: truth, reports, who passes and why."""

import json
import random
from decimal import Decimal
from statistics import fmean, median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from judging.rules.agreement import Kappa, Kappas, Weights
from judging.rules.exam import (
    cohort_report,
    is_aligned,
    passes,
    rounded_up,
    stored_report,
    truth_of,
    truth_without,
    why,
)

HALF = Decimal("0.5")
GRADE = st.integers(0, 4)


def cohort_of(size: int, *, pairs: int, seed: int) -> dict[int, dict[int, int]]:
    """Noisy annotators, each with a bias of their own, who now and then grade without looking."""
    chance = random.Random(seed)
    truth = [chance.choice((0, 1, 1, 2, 2, 2, 3, 3, 4)) for _ in range(pairs)]
    grades: dict[int, dict[int, int]] = {}
    for annotator in range(1, size + 1):
        bias = chance.gauss(0, 0.15)
        seen = [level if chance.random() > 0.25 else chance.randrange(5) for level in truth]
        grades[annotator] = {
            pair: min(4, max(0, round(level + bias + chance.gauss(0, 0.48)))) for pair, level in enumerate(seen)
        }
    return grades


@pytest.mark.parametrize(
    ("grades", "truth", "grade"),
    [
        ([3], "3", 3),
        ([0, 1], "0.5", 1),
        ([4, 0, 1], "1", 1),
        ([2, 4, 3, 1], "2.5", 3),
        ([0, 0, 4, 4], "2", 2),
        ([0, 0, 0, 4, 4], "0", 0),
        ([3, 4], "3.5", 4),
    ],
)
def test_truth_is_the_median_and_rounds_up(grades: list[int], truth: str, grade: int) -> None:
    assert truth_of(grades) == Decimal(truth)
    assert rounded_up(truth_of(grades)) == grade


@given(st.lists(GRADE, min_size=1))
def test_truth_equals_the_median_of_the_library(grades: list[int]) -> None:
    assert truth_of(grades) == Decimal(str(median(grades)))


def test_nothing_graded_has_no_truth() -> None:
    with pytest.raises(ValueError, match="no truth"):
        truth_of([])


@pytest.mark.parametrize(
    ("grade", "truth", "aligned"),
    [
        (2, 3, True),
        (2, 4, False),
        (1, 1, True),
        (0, HALF, True),
        (1, HALF, True),
        (2, HALF, False),
        (0, 1 + HALF, False),
    ],
)
def test_aligned_within_one(grade: int, truth: Decimal | int, aligned: bool) -> None:
    assert is_aligned(grade, truth) == aligned


def test_ones_own_grade_is_left_out() -> None:
    grades = {7: 4, 3: 1, 5: 2, 9: 0}
    assert [truth_without(grades, annotator) for annotator in grades] == [1, 2, 1, 2]
    assert truth_without({7: 4}, 7) is None


# Three annotators, four pairs; medians 0, 1, 3, 2.
FIRST = {
    7: {"a": 0, "b": 1, "c": 3, "d": 2},
    3: {"a": 0, "b": 1, "c": 4, "d": 4},
    5: {"a": 2, "b": 0, "c": 3, "d": 2},
}
FINAL = {7: FIRST[7], 3: {"d": 3}, 5: {"a": 1}}


def test_cohort_by_hand() -> None:
    report = cohort_report(FIRST, seed=1)
    annotators = report["annotators"]
    assert [annotators[number]["n"] for number in ("7", "3", "5")] == [4, 4, 4]
    assert [annotators[number]["misaligned"] for number in ("7", "3", "5")] == [0.0, 0.25, 0.25]
    assert [annotators[number]["mean_bias"] for number in ("7", "3", "5")] == [0.0, 0.75, 0.25]
    assert annotators["3"]["distribution"] == [1, 1, 0, 0, 2]
    assert report["cohort"]["misaligned"] == pytest.approx(0.5 / 3)
    assert (report["cohort"]["n"], report["cohort"]["pairs"]) == (3, 4)


def test_kappa_by_hand_leaves_ones_own_grade_out() -> None:
    """To 7 the others give 1, 0.5, 3.5 and 3: rounded up 1, 1, 4, 3, of which one agrees; by chance (1 + 1 + 1) / 16.

    Chance: 7 gave 0, 1, 2, 3 once each; the truth holds 1 twice, 3 and 4 once; so (2 + 1) / 16.
    """
    found = Kappas.from_dict(cohort_report(FIRST, seed=1)["annotators"]["7"]["kappas"])
    assert found.n == 4
    assert found.unweighted.value == pytest.approx((1 / 4 - 3 / 16) / (1 - 3 / 16))


def test_kappa_after_feedback_stands_apart_against_the_same_truth() -> None:
    """To 3 the others give 1, 0.5, 3, 2: rounded up 1, 1, 3, 2. The second grades of 3 are 0, 1, 4, 3."""
    before = cohort_report(FIRST, seed=1)["annotators"]["3"]
    after = cohort_report(FIRST, FINAL, seed=1)["annotators"]["3"]
    assert before["after_feedback"] is None
    assert after["kappas"] == before["kappas"]
    assert after["misaligned"] == before["misaligned"]
    known = cohen_kappa_score([1, 1, 3, 2], [0, 1, 4, 3], labels=range(5), weights="quadratic")
    assert after["after_feedback"]["quadratic"]["value"] == pytest.approx(known)
    assert after["after_feedback"]["quadratic"]["value"] > after["kappas"]["quadratic"]["value"]


def test_pairs_that_nobody_else_graded_have_no_kappa() -> None:
    report = cohort_report({7: {"a": 1, "b": 3}, 3: {"a": 1}}, seed=1)
    assert report["annotators"]["7"]["n"] == 2
    assert report["annotators"]["7"]["kappas"]["n"] == 1
    assert report["annotators"]["7"]["kappas"]["linear"] == {"value": None, "interval": None}
    assert report["cohort"]["kappas"]["linear"] == {"value": None, "defined": 0, "undefined": 2}


def test_who_graded_nothing_is_in_no_mean() -> None:
    report = cohort_report({**FIRST, 9: {}}, seed=1)
    assert report["annotators"]["9"]["misaligned"] is None
    assert report["annotators"]["9"]["distribution"] == [0, 0, 0, 0, 0]
    assert report["cohort"] == cohort_report(FIRST, seed=1)["cohort"]


def test_nobody_sat() -> None:
    cohort = cohort_report({}, seed=1)["cohort"]
    assert (cohort["n"], cohort["misaligned"], cohort["alpha"]) == (0, None, None)


def test_all_the_same_grades_are_undefined_and_never_one() -> None:
    report = cohort_report({number: dict.fromkeys(range(20), 2) for number in (1, 2, 3)}, seed=1)
    for weights in Weights:
        assert report["annotators"]["1"]["kappas"][weights] == {"value": None, "interval": None}
        assert report["cohort"]["kappas"][weights] == {"value": None, "defined": 0, "undefined": 3}
        assert report["cohort"]["pairwise"][weights] == {"value": None, "defined": 0, "undefined": 3}
    assert report["cohort"]["alpha"] is None
    assert report["cohort"]["misaligned"] == 0.0


def test_report_is_json_and_repeats_itself() -> None:
    grades = cohort_of(3, pairs=20, seed=1)
    report = cohort_report(grades, grades, seed=5)
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert cohort_report(grades, grades, seed=5) == report
    assert cohort_report(grades, grades, seed=6) != report


def test_a_simulated_cohort_of_23_is_like_that_of_the_paper() -> None:
    """The paper reports 11.83 % misaligned and a mean kappa of 0.49; the means are counted here a second time."""
    grades = cohort_of(23, pairs=100, seed=1)
    report = cohort_report(grades, grades, seed=2)
    shares, values = [], []
    for annotator, own in grades.items():
        truth = [median(other[pair] for other in grades.values()) for pair in own]
        shares.append(sum(abs(own[pair] - truth[pair]) > 1 for pair in own) / 100)
        others = [median(other[pair] for one, other in grades.items() if one != annotator) for pair in own]
        values.append(cohen_kappa_score([-int(-level // 1) for level in others], list(own.values())))
    cohort = report["cohort"]
    assert cohort["misaligned"] == pytest.approx(fmean(shares))
    assert cohort["kappas"]["unweighted"] == {"value": pytest.approx(fmean(values)), "defined": 23, "undefined": 0}
    assert cohort["misaligned"] == pytest.approx(0.1183, abs=0.02)
    assert cohort["kappas"]["unweighted"]["value"] == pytest.approx(0.49, abs=0.03)
    assert cohort["after_feedback"] == cohort["kappas"]
    assert cohort["pairwise"]["unweighted"]["defined"] == 253
    assert cohort["pairwise"]["unweighted"]["value"] == pytest.approx(
        fmean(part["pairwise"]["unweighted"]["value"] for part in report["annotators"].values())
    )
    assert cohort["pairwise"]["unweighted"]["value"] < cohort["kappas"]["unweighted"]["value"]
    for part in report["annotators"].values():
        low, high = (part["kappas"]["unweighted"]["interval"][end] for end in ("low", "high"))
        assert low < part["kappas"]["unweighted"]["value"] < high


def test_a_later_sitting_is_held_against_stored_truth() -> None:
    truth = {"a": Decimal("0.5"), "b": Decimal(3), "c": Decimal(1), "x": Decimal(4)}
    report = stored_report({"a": 1, "b": 1, "c": 2}, truth, {"b": 3}, seed=1)
    assert (report["n"], report["pairwise"], report["distribution"]) == (3, None, [0, 2, 1, 0, 0])
    assert report["misaligned"] == pytest.approx(1 / 3)
    assert report["mean_bias"] == pytest.approx((0.5 - 2 + 1) / 3)
    for part, graded in (("kappas", [1, 1, 2]), ("after_feedback", [1, 3, 2])):
        found = Kappas.from_dict(report[part])
        known = cohen_kappa_score([1, 3, 1], graded, labels=range(5), weights="linear")
        assert (found.n, found.linear.value) == (3, pytest.approx(known))
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def reported(value: float | None, *, n: int = 100, compared: int = 100) -> dict[str, Any]:
    """A report whose quadratic kappa is ``value``; the others would pass."""
    fine = Kappa(0.9, None)
    return {"n": n, "kappas": Kappas(compared, fine, fine, Kappa(value, None)).to_dict()}


OPEN = " Some pairs of the feedback are still to be graded again."


@pytest.mark.parametrize(
    ("report", "threshold", "done", "passed", "sentence"),
    [
        (reported(0.47), 0.4, True, True, "Quadratic kappa 0.47 reaches 0.40."),
        (reported(0.47), 0.4, False, False, "Quadratic kappa 0.47 reaches 0.40." + OPEN),
        (reported(0.37), 0.4, True, False, "Quadratic kappa 0.37 is below 0.40."),
        (reported(0.37), 0.4, False, False, "Quadratic kappa 0.37 is below 0.40." + OPEN),
        (reported(0.4), 0.4, True, True, "Quadratic kappa 0.40 reaches 0.40."),
        (reported(0.4), Decimal("0.4"), True, True, "Quadratic kappa 0.40 reaches 0.40."),
        (reported(1 - 0.3 / 0.5), 0.4, True, True, "Quadratic kappa 0.40 reaches 0.40."),
        (reported(0.3999999999999999), 0.4, True, True, "Quadratic kappa 0.40 reaches 0.40."),
        (reported(0.3981), 0.4, True, False, "Quadratic kappa 0.398 is below 0.400."),
        (reported(0.422), 0.425, True, False, "Quadratic kappa 0.422 is below 0.425."),
        (reported(-0.2), 0.4, True, False, "Quadratic kappa -0.20 is below 0.40."),
        (reported(None), 0.4, True, False, "Kappa cannot be computed: all grades are the same."),
        (reported(None), -1.0, True, False, "Kappa cannot be computed: all grades are the same."),
        (reported(None, compared=0), 0.4, True, False, "Kappa cannot be computed: nobody else graded these pairs."),
        (reported(None, n=0, compared=0), 0.4, True, False, "Kappa cannot be computed: nothing was graded."),
    ],
)
def test_who_passes_and_why(report: dict[str, Any], threshold: float, done: bool, passed: bool, sentence: str) -> None:
    rule: dict[str, Any] = {"weights": Weights.QUADRATIC, "threshold": threshold, "feedback_done": done}
    assert passes(report, **rule) == passed
    assert why(report, **rule) == sentence


def test_the_policy_chooses_the_weights() -> None:
    report = reported(0.1)
    assert passes(report, weights=Weights.LINEAR, threshold=0.4, feedback_done=True)
    assert why(report, weights=Weights.LINEAR, threshold=0.4, feedback_done=True) == "Linear kappa 0.90 reaches 0.40."
