"""Agreement beyond chance: by hand, against other implementations on random grades, and what is undefined."""

import json
import random
import warnings
from collections import Counter
from collections.abc import Sequence

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from judging.quality.rules.agreement import (
    FEWEST_PAIRS,
    SAMPLES,
    Interval,
    Weights,
    counts_of,
    fleiss_kappa,
    kappa,
    kappas,
    kappas_of,
    krippendorff_alpha,
    mean_pairwise_kappa,
    partner_kappas,
    percentiles,
    resampled,
    table_of,
)

FIVE = 5
GRADE = st.integers(0, 4)
TWO = st.lists(st.tuples(GRADE, GRADE), max_size=40)
# Ten subjects, fourteen grades each: Fleiss 1971 in the form of many textbooks; kappa 0.210.
FLEISS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
# Four observers, twelve units, values 1 to 5 and gaps: Krippendorff 2011, section C.
OBSERVERS = ["12332141 2...", "12332241 25.3", ".3332342 251.", "12332441 251."]
UNITS = [
    [int(value) - 1 for value in unit if value != "."]
    for unit in zip(*(row.replace(" ", "") for row in OBSERVERS), strict=True)
]


def grades_of(table: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Two annotators' grades that a table of counts sums up."""
    cells = [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]
    return [i for i, _ in cells], [j for _, j in cells]


def noisy(n: int, *, seed: int) -> tuple[list[int], list[int]]:
    """Two annotators who mostly agree."""
    chance = random.Random(seed)
    truth = [chance.randrange(5) for _ in range(n)]
    return truth, [min(4, max(0, grade + chance.choice((-1, 0, 0, 0, 1, 2)))) for grade in truth]


@pytest.mark.parametrize(
    ("table", "expected_values"),
    [
        ([[20, 5], [10, 15]], (0.4, 0.4, 0.4)),  # agreement 0.7, by chance 0.5
        # disagreement 4/10, 5/10 and 7/10; by chance 0.66, 0.86 and 1.26 with margins 4-3-3 and 4-4-2
        ([[3, 1, 0], [0, 2, 1], [1, 1, 1]], (1 - 0.4 / 0.66, 1 - 0.5 / 0.86, 1 - 0.7 / 1.26)),
        ([[1, 0], [0, 1]], (1.0, 1.0, 1.0)),
        ([[0, 1], [1, 0]], (-1.0, -1.0, -1.0)),
    ],
)
def test_cohens_kappa_by_hand(table: list[list[int]], expected_values: tuple[float, float, float]) -> None:
    assert [kappa(*grades_of(table), weights) for weights in Weights] == pytest.approx(list(expected_values), abs=1e-12)


@pytest.mark.parametrize("weights", Weights)
@pytest.mark.parametrize(
    ("a", "b", "expected_values"),
    [
        ([], [], None),
        ([2, 2, 2], [2, 2, 2], None),
        ([3], [3], None),
        ([1, 1, 1], [4, 4, 4], 0.0),
        ([0], [4], 0.0),
        ([2, 2, 2, 2], [0, 2, 3, 4], 0.0),
    ],
)
def test_kappa_is_undefined_only_where_chance_expects_no_disagreement(
    a: list[int], b: list[int], weights: Weights, expected_values: float | None
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = kappa(a, b, weights)
    assert result is None if expected_values is None else result == pytest.approx(expected_values, abs=1e-12)


def kappa_interval(
    a: list[int], b: list[int], weights: Weights, *, samples: int = SAMPLES, seed: int
) -> Interval | None:
    return percentiles(resampled(table_of(a, b, FIVE), samples=samples, seed=seed), weights)


@pytest.mark.parametrize(("a", "b"), [([1, 2], [1]), ([1, 1], [1, -1])])
def test_kappa_refuses_what_are_no_grades_of_the_same_items(a: list[int], b: list[int]) -> None:
    with pytest.raises(ValueError, match="expected grades"):
        kappa(a, b, Weights.LINEAR)
    with pytest.raises(ValueError, match="expected grades"):
        kappa_interval(a, b, Weights.LINEAR, seed=1)


@pytest.mark.parametrize(("n_grades", "beyond"), [(2, 2), (5, 5), (10, 10)])
def test_a_table_refuses_a_grade_beyond_its_scale(n_grades: int, beyond: int) -> None:
    assert table_of([beyond - 1], [0], n_grades).shape == (n_grades, n_grades)
    with pytest.raises(ValueError, match=f"expected grades from 0 to {n_grades - 1}, got {beyond}"):
        table_of([beyond], [0], n_grades)


@settings(deadline=None, max_examples=60)
@given(TWO, st.sampled_from(Weights))
def test_kappa_from_counts_equals_that_of_scikit_learn(pairs: list[tuple[int, int]], weights: Weights) -> None:
    """Also where it is undefined: the table has no kappa then."""
    a, b = [one for one, _ in pairs], [other for _, other in pairs]
    expected_kappa = kappa(a, b, weights)
    assert kappas_of(table_of(a, b, FIVE)[None], weights) == pytest.approx(
        [] if expected_kappa is None else [expected_kappa], abs=1e-12
    )


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=10, max_size=40), st.sampled_from(Weights))
def test_kappas_of_yes_and_no_equal_those_of_scikit_learn(pairs: list[tuple[int, int]], weights: Weights) -> None:
    a, b = [one for one, _ in pairs], [other for _, other in pairs]
    table = table_of(a, b, 2)
    assert table.tolist() == [[pairs.count((i, j)) for j in (0, 1)] for i in (0, 1)]
    value = kappas(a, b, n_grades=2, seed=1)[weights]["value"]
    if len({*a, *b}) < 2:
        assert value is None
    else:
        name = None if weights is Weights.UNWEIGHTED else weights.value
        assert value == pytest.approx(cohen_kappa_score(a, b, labels=[0, 1], weights=name), abs=1e-12)
        assert kappas_of(table[None], weights) == pytest.approx([value], abs=1e-12)


def test_kappa_from_many_tables_at_once_equals_that_of_scikit_learn() -> None:
    tables = resampled(table_of(*noisy(100, seed=3), FIVE), samples=50, seed=4)
    for weights in Weights:
        name = None if weights is Weights.UNWEIGHTED else weights.value
        expected_kappas = [cohen_kappa_score(*grades_of(table), labels=range(5), weights=name) for table in tables]
        assert kappas_of(tables, weights) == pytest.approx(expected_kappas, abs=1e-12)


def test_resamples_hold_as_many_pairs_and_only_pairs_that_there_are() -> None:
    table = table_of(*noisy(100, seed=3), FIVE)
    tables = resampled(table, samples=2000, seed=4)
    assert (tables.sum(axis=(1, 2)) == 100).all()
    assert not tables[:, table == 0].any()
    assert tables.mean(axis=0) == pytest.approx(table, abs=0.5)


def test_interval_is_that_of_pairs_drawn_one_by_one() -> None:
    a, b = noisy(60, seed=5)
    indexes = np.random.default_rng(6).integers(0, 60, (5000, 60))
    tables = np.array(
        [table_of(one, other, FIVE) for one, other in zip(np.take(a, indexes), np.take(b, indexes), strict=True)]
    )
    interval = kappa_interval(a, b, Weights.LINEAR, samples=5000, seed=7)
    assert interval is not None
    assert interval[:2] == pytest.approx(
        tuple(np.quantile(kappas_of(tables, Weights.LINEAR), [0.025, 0.975])), abs=0.01
    )


def test_resamples_without_kappa_are_left_out_and_counted() -> None:
    """One pair in twenty differs from the rest: a resample misses it with a chance of 0.95**20, 36 %."""
    a, b = [2] * 19 + [3], [2] * 19 + [3]
    interval = kappa_interval(a, b, Weights.LINEAR, seed=1)
    assert interval is not None
    assert (interval.low, interval.high) == (1.0, 1.0)
    assert 300 < interval.undefined < 420


@pytest.mark.parametrize(("a", "b"), [([], []), ([2] * 30, [2] * 30), (noisy(FEWEST_PAIRS - 1, seed=1))])
def test_no_interval_without_enough_to_draw_from(a: list[int], b: list[int]) -> None:
    assert kappa_interval(a, b, Weights.LINEAR, seed=1) is None


@pytest.mark.parametrize(
    ("defined", "expected_values"), [(4, None), (5, (1.0, 1.0, 5)), (10, (1.0, 1.0, 0)), (0, None)]
)
def test_no_interval_where_most_resamples_have_no_kappa(
    defined: int, expected_values: tuple[float, float, int] | None
) -> None:
    tables = [table_of([2, 3], [2, 3], FIVE)] * defined + [table_of([2, 2], [2, 2], FIVE)] * (10 - defined)
    assert percentiles(np.array(tables), Weights.LINEAR) == expected_values


def test_kappas_go_through_json_and_back() -> None:
    result = kappas(*noisy(100, seed=1), n_grades=FIVE, seed=2)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["n"] == 100
    for weights in Weights:
        interval = kappa_interval(*noisy(100, seed=1), weights, seed=2)
        assert interval is not None
        expected_values = {"value": kappa(*noisy(100, seed=1), weights), "interval": interval._asdict()}
        assert result[weights] == expected_values


PARTNERS = {7: {"a": 0, "b": 1, "c": 0, "d": 1}, 3: {"a": 0, "b": 1, "c": 1, "d": 1}, 9: {"a": 0, "z": 4}, 5: {"y": 1}}


def test_pairwise_by_hand() -> None:
    """7 and 3 agree on 3 of 4 with a chance of 1/2; 9 shares one grade with each, without a kappa; 5 shares nothing."""
    assert partner_kappas(PARTNERS, Weights.UNWEIGHTED) == {(7, 3): pytest.approx(0.5), (7, 9): None, (3, 9): None}
    by_annotator, cohort = mean_pairwise_kappa(PARTNERS, Weights.UNWEIGHTED)
    assert by_annotator == {
        7: (pytest.approx(0.5), 1, 1),
        3: (pytest.approx(0.5), 1, 1),
        9: (None, 0, 2),
        5: (None, 0, 0),
    }
    assert cohort == (pytest.approx(0.5), 1, 2)


def test_fleiss_published_example() -> None:
    assert fleiss_kappa(np.array(FLEISS)) == pytest.approx(0.210, abs=5e-4)


def test_fleiss_on_paper_size() -> None:
    """Two items of three grades: agreement 1/3 and 1, by chance 1/2 * 1/2 * 2; (2/3 - 5/9) / (4/9)."""
    counts = counts_of([[0, 0, 1], [1, 1, 1]], FIVE)
    assert fleiss_kappa(counts) == pytest.approx((2 / 3 - 5 / 9) / (1 - 5 / 9))


@pytest.mark.parametrize("ratings", [[], [[2], [3]], [[], []], [[2, 2], [2, 2]]])
def test_fleiss_is_undefined_without_two_grades_or_variation(ratings: list[list[int]]) -> None:
    assert fleiss_kappa(counts_of(ratings, FIVE)) is None


def test_fleiss_refuses_gaps() -> None:
    with pytest.raises(ValueError, match="equally many"):
        fleiss_kappa(counts_of([[1, 2], [1, 2, 3]], FIVE))


def test_alpha_published_example() -> None:
    assert krippendorff_alpha(UNITS, FIVE) == pytest.approx(0.815, abs=5e-4)


def test_alpha_on_paper_size() -> None:
    """Items 0 0 and 0 1: values 0 three times, 1 once; observed 2/4, expected 6/12: 1 - (1/2) / (1/2)."""
    assert krippendorff_alpha([[0, 0], [0, 1]], FIVE) == pytest.approx(0.0)
    assert krippendorff_alpha([[0, 0], [4, 4, 4]], FIVE) == 1.0


@pytest.mark.parametrize(
    "ratings",
    [[], [[]], [[1], [2], []], [[2, 2], [2, 2, 2], [4]], [[3, 3]]],
    ids=["none", "empty", "ones", "same", "3"],
)
def test_alpha_is_undefined_without_two_grades_or_variation(ratings: list[list[int]]) -> None:
    assert krippendorff_alpha(ratings, FIVE) is None


@settings(deadline=None, max_examples=150)
@given(st.lists(st.lists(GRADE, max_size=6), max_size=25))
def test_alpha_equals_the_package_with_gaps(ratings: list[list[int]]) -> None:
    compared = {grade for item in ratings if len(item) > 1 for grade in item}
    alpha = krippendorff_alpha(ratings, FIVE)
    if len(compared) < 2:
        assert alpha is None
        return
    expected_alpha = krippendorff.alpha(
        value_counts=np.array([[Counter(item)[grade] for grade in range(5)] for item in ratings]),
        value_domain=np.arange(5),
        level_of_measurement="ordinal",
    )
    assert alpha == pytest.approx(expected_alpha, abs=1e-12)


def test_alpha_refuses_what_is_no_grade() -> None:
    with pytest.raises(ValueError, match="from 0 to 4"):
        krippendorff_alpha([[1, 5]], FIVE)
