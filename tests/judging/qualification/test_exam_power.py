"""Who passes an exam that cannot grade: distinguished levels, and the chances to pass under a rule."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, pairwise
from math import ceil, sqrt
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.models import Project
from judging.guidelines.selectors import pass_rule_of
from judging.guidelines.services import scaled_values
from judging.models import Pair, Policy
from judging.qualification.rules.passing import (
    NOISE,
    PUBLISHED,
    Grader,
    PassRule,
    Truths,
    expected_shares,
    lows,
    noisy,
    passes,
    power,
    rule_met,
    strategies,
    truths_drawn,
    truths_of,
)
from judging.qualification.rules.reports import later_exam_report
from judging.qualification.rules.truth import LEAST_T, cuts, levels_distinguished
from judging.qualification.selectors import exams as power_selectors
from judging.qualification.selectors.exams import ExamPower, exam_power
from judging.quality.rules.agreement import Weights, kappas, table_of
from judging.work.rules import TVR_RANKING
from tests.conftest import Messages
from tests.factories import BatchFactory
from tests.judging.exams import failed, later_exam

LEVELS = len(TVR_RANKING.grades)
QUADRATIC = Weights.QUADRATIC
KAPPA_ALONE = PassRule(QUADRATIC, 0.4)
DEFAULT = PassRule(QUADRATIC, 0.4, bias=0.6, levels=3)  # of a new project
PUBLISHED_PAIRS = truths_drawn(PUBLISHED, pairs=100, draws=64, seed=20240709)
GRADE = st.integers(0, 4)
HALVES = st.sampled_from([Decimal(half) / 2 for half in range(9)])


def even(pairs: int) -> tuple[Truths, ...]:
    """Equally many pairs of each level, as a later exam draws them where it can."""
    return (Truths((pairs // 5,) * 5, 2.0 * pairs),)


def count_levels(grades: Sequence[int], truth: Sequence[int], n_grades: int = LEVELS) -> int:
    return int(levels_distinguished(table_of(grades, truth, n_grades)[None])[0])


@pytest.mark.parametrize(
    ("grades", "truth", "levels"),
    [
        ([], [], 0),
        ([2, 2, 2], [0, 2, 4], 1),  # a constant
        ([0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], 5),  # no spread at all
        ([0, 0, 3, 3, 3, 3], [0, 0, 1, 2, 3, 4], 2),  # 0 from the rest
        ([1, 1, 2, 2, 3, 3, 4, 4, 4, 4], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], 4),  # one too high: 3 and 4 alike
        ([4, 4, 2, 2, 0, 0], [0, 0, 2, 2, 4, 4], 1),  # the other way round
        ([0, 1], [0, 4], 1),  # one pair each: nothing is beyond chance
        ([0, 0, 4, 4], [1, 1, 3, 3], 2),  # levels that no pair has are in no step
    ],
)
def test_number_of_distinguishable_levels(grades: list[int], truth: list[int], levels: int) -> None:
    assert count_levels(grades, truth) == levels


@pytest.mark.parametrize(
    ("grades", "truth", "n_grades", "levels"),
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], 2, 2),
        ([1, 1, 1, 1], [0, 0, 1, 1], 2, 1),
        ([1, 1, 0, 0], [0, 0, 1, 1], 2, 1),
        ([*range(10)] * 2, [*range(10)] * 2, 10, 10),
        ([grade // 2 for grade in range(10)] * 2, [*range(10)] * 2, 10, 5),
        ([0, 0, 9, 9], [0, 0, 9, 9], 10, 2),
    ],
)
def test_number_of_distinguishable_levels_of_other_scales(
    grades: list[int], truth: list[int], n_grades: int, levels: int
) -> None:
    assert count_levels(grades, truth, n_grades) == levels


@pytest.mark.parametrize("n_grades", [2, 5, 10])
def test_every_cut_once_and_the_finest_first(n_grades: int) -> None:
    partitions = cuts(n_grades)
    assert len({tuple(steps) for steps in partitions}) == len(partitions) == 2 ** (n_grades - 1)
    assert [len(steps) for steps in partitions] == sorted(map(len, partitions), reverse=True)
    for steps in partitions:
        assert [level for low, high in steps for level in range(low, high)] == [*range(n_grades)]


def test_the_t_of_two_steps_by_hand() -> None:
    """Level 0 was given 0, 0, 1, 1 and level 1 was given 1, 2, 2, x.

    Means 0.5 and 1.75 with x = 2: sums of squares 1 and 0.75, pooled variance 1.75 / 6, so t = 1.25 / sqrt(0.2917 / 2)
    = 3.27. With x = 1 the mean is 1.5, the sum of squares 1, and t = 1 / sqrt(0.3333 / 2) = 2.45.
    """
    truth = [0] * 4 + [1] * 4
    assert 1.25 / sqrt(1.75 / 6 * (1 / 4 + 1 / 4)) > LEAST_T > 1 / sqrt(2 / 6 * (1 / 4 + 1 / 4))
    assert count_levels([0, 0, 1, 1, 1, 2, 2, 2], truth) == 2
    assert count_levels([0, 0, 1, 1, 1, 2, 2, 1], truth) == 1


def count_levels_slowly(grades: Sequence[int], truth: Sequence[int]) -> int:
    """By the definition, step by step."""
    best = 0
    for size in range(1, LEVELS + 1):
        for cutoffs in combinations(range(1, LEVELS), size - 1):
            steps = [
                [grade for grade, true in zip(grades, truth, strict=True) if low <= true < high]
                for low, high in pairwise((0, *cutoffs, LEVELS))
            ]
            if all(steps) and all(beyond_chance(below, above) for below, above in pairwise(steps)):
                best = size
    return best


def beyond_chance(below: list[int], above: list[int]) -> bool:
    """Student's t, from the means and the pooled variance."""
    freedom = len(below) + len(above) - 2
    rise = Fraction(sum(above), len(above)) - Fraction(sum(below), len(below))
    if freedom < 1 or rise <= 0:
        return False
    pooled = sum((grade - Fraction(sum(step), len(step))) ** 2 for step in (below, above) for grade in step) / freedom
    variance = pooled * (Fraction(1, len(below)) + Fraction(1, len(above)))
    return variance == 0 or float(rise) / sqrt(variance) >= LEAST_T


@settings(max_examples=60)
@given(st.lists(st.tuples(GRADE, GRADE), max_size=40), st.booleans())
def test_levels_equal_those_of_an_independent_count(pairs: list[tuple[int, int]], close: bool) -> None:
    truth = [true for _, true in pairs]
    grades = [min(4, max(0, true + grade % 2)) if close else grade for grade, true in pairs]
    assert count_levels(grades, truth) == count_levels_slowly(grades, truth)


RULES = st.builds(
    PassRule,
    st.sampled_from(list(Weights)),
    st.sampled_from([-1.0, 0.0, 0.2, 0.4, 0.6, 1.0]),
    bias=st.sampled_from([0.0, 0.2, 0.5, 1.0, 4.0]),
    levels=st.integers(1, 5),
)


@settings(max_examples=150)
@given(st.lists(st.tuples(GRADE, HALVES), min_size=1, max_size=30), st.booleans(), RULES)
def test_the_simulation_decides_as_the_pass_rule_does(
    pairs: list[tuple[int, Decimal]], close: bool, rule: PassRule
) -> None:
    first = {index: (int(true) if close else grade) for index, (grade, true) in enumerate(pairs)}
    truth = {index: true for index, (_, true) in enumerate(pairs)}
    truths = truths_of(truth.values(), LEVELS)
    table = table_of(list(first.values()), [ceil(true) for true in truth.values()], LEVELS)
    met = rule_met(table[None], np.array([truths.total]), rule)
    assert bool(met[0]) == passes(later_exam_report(first, truth, None, TVR_RANKING, seed=1), rule)


@pytest.mark.parametrize("far_off", [1, 10, 40])
@pytest.mark.parametrize("weights", list(Weights))
def test_the_lower_bound_is_that_of_the_report(far_off: int, weights: Weights) -> None:
    """100 pairs, some of them one away; 200 resamples here, 1,000 there."""
    truth = [level for level in range(5) for _ in range(20)]
    grades = [min(4, true + (index % 100 < far_off)) for index, true in enumerate(truth)]
    rule = PassRule(weights, 0.0, kappa_low=0.0)
    bounds = lows(table_of(grades, truth, LEVELS)[None], rule, np.random.default_rng(1))
    report = kappas(grades, truth, n_grades=LEVELS, seed=1)[weights]
    assert bounds[0] == pytest.approx(report["interval"]["low"], abs=0.03)


def test_fewer_than_ten_pairs_have_no_lower_bound() -> None:
    rule = PassRule(QUADRATIC, 0.4, kappa_low=0.0)
    assert lows(table_of([0, 1, 2, 3, 4], range(5), LEVELS)[None], rule, np.random.default_rng(1)) == [-np.inf]
    assert power(even(5), rule, attempts=2)[Grader.HONEST].within == 0
    assert power(even(100), PassRule(QUADRATIC, 0.0), attempts=1)[Grader.CONSTANT].once == 1


def test_two_pairs_by_hand() -> None:
    """Truths 0 and 4, unweighted kappa of 1 asked: both must be right, one time in 25 at random."""
    rule = PassRule(Weights.UNWEIGHTED, 1.0)
    once = power((Truths((1, 0, 0, 0, 1), 4.0),), rule, attempts=2)[Grader.RANDOM]
    assert once.once == pytest.approx(1 / 25, abs=4 * sqrt(1 / 25 * 24 / 25 / 4000))
    assert once.within == pytest.approx(1 - (1 - once.once) ** 2)


# docs/leads.md: chances in percent to pass one attempt and within two, of who ought to fail and of the honest one.
LOW, BIAS = PassRule(QUADRATIC, 0.4, kappa_low=0.2), PassRule(QUADRATIC, 0.4, bias=0.6)
TWO_LEVELS, FOUR_LEVELS = replace(BIAS, levels=2), replace(BIAS, levels=4)
DOCUMENTED = [
    (even(100), KAPPA_ALONE, [(0, 0), (0, 0), (100, 100), (100, 100), (100, 100)]),
    (even(100), BIAS, [(0, 0), (0, 0), (100, 100), (0, 0), (100, 100)]),
    (even(100), DEFAULT, [(0, 0), (0, 0), (0.2, 0.5), (0, 0), (100, 100)]),
    (even(100), FOUR_LEVELS, [(0, 0), (0, 0), (0, 0), (0, 0), (29, 50)]),
    (PUBLISHED_PAIRS, KAPPA_ALONE, [(0, 0), (0, 0), (45, 70), (100, 100), (100, 100)]),
    (PUBLISHED_PAIRS, DEFAULT, [(0, 0), (0, 0), (0.1, 0.2), (0, 0), (95, 100)]),
    (even(50), DEFAULT, [(0, 0), (0, 0), (0.4, 0.8), (0, 0), (76, 94)]),
    (even(20), KAPPA_ALONE, [(3.6, 7.2), (0, 0), (100, 100), (100, 100), (100, 100)]),
    (even(20), LOW, [(0.5, 0.9), (0, 0), (100, 100), (100, 100), (98, 100)]),
    (even(20), TWO_LEVELS, [(0.7, 1.4), (0, 0), (100, 100), (0, 0), (96, 100)]),
    (even(20), DEFAULT, [(0, 0), (0, 0), (1.0, 2.0), (0, 0), (11, 21)]),
    (even(5), KAPPA_ALONE, [(21, 38), (0, 0), (100, 100), (100, 100), (96, 100)]),
]


@pytest.mark.parametrize(("exam_truths", "rule", "percent"), DOCUMENTED)
def test_the_documented_trade_off(
    exam_truths: tuple[Truths, ...], rule: PassRule, percent: list[tuple[float, float]]
) -> None:
    """Within what 8,000 people leave to chance, and the rounding of the table."""
    chances = power(exam_truths, rule, attempts=2)
    for grader, (once, within) in zip(Grader, percent, strict=True):
        assert 100 * chances[grader].once == pytest.approx(once, rel=0.05, abs=0.6), grader
        assert 100 * chances[grader].within == pytest.approx(within, rel=0.05, abs=0.9), grader


def test_the_honest_grader_is_like_the_papers() -> None:
    """11.83 % misaligned at first, and a mean kappa of 0.49 (linear), on the published relevance."""
    shares = np.array(PUBLISHED) / sum(PUBLISHED)
    table = noisy(NOISE, LEVELS) * shares
    far_off = sum(table[grade, true] for grade in range(5) for true in range(5) if abs(grade - true) > 1)
    assert far_off == pytest.approx(0.1183, abs=0.002)
    gap = np.abs(np.subtract.outer(range(5), range(5)))
    kappa = 1 - (table * gap).sum() / (np.outer(table.sum(1), table.sum(0)) * gap).sum()
    assert kappa == pytest.approx(0.49, abs=0.005)


@pytest.mark.parametrize("n_grades", [2, 3, 5, 10])
def test_strategies_are_of_their_scale(n_grades: int) -> None:
    all_strategies = strategies(n_grades)
    assert (Grader.TWO_LEVEL in all_strategies) == (n_grades > 2)
    assert len(all_strategies[Grader.CONSTANT]) == n_grades
    for chances in (chances for of_grader in all_strategies.values() for chances in of_grader):
        assert chances.shape == (n_grades, n_grades)
        assert chances.sum(axis=0) == pytest.approx(np.ones(n_grades))


def test_the_noise_grows_with_the_scale() -> None:
    """It is the same share of each scale."""
    (of_two,), (of_five,) = strategies(2)[Grader.HONEST], strategies(5)[Grader.HONEST]
    assert of_two == pytest.approx(noisy(NOISE / 4, 2))
    assert of_five == pytest.approx(noisy(NOISE, 5))


def test_nobody_who_ought_to_fail_passes_an_exam_of_yes_and_no() -> None:
    chances = power((Truths((50, 50), 50.0),), DEFAULT, attempts=2)
    assert set(chances) == set(Grader) - {Grader.TWO_LEVEL}
    assert ExamPower(chances, "drawn", 100).too_easy == []
    assert chances[Grader.HONEST].within == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("top_grade", range(1, 10))
def test_nobody_who_ought_to_fail_passes_by_the_policy_that_a_scale_begins_with(top_grade: int) -> None:
    """A bias that grew with the scale let through who grades one too high always."""
    rule = pass_rule_of(
        Policy(project=Project(top_grade=top_grade), **scaled_values(Policy(), from_top=4, to_top=top_grade))
    )
    attempt_truths = truths_drawn(expected_shares(top_grade + 1), pairs=100, draws=3, seed=1)
    chances = power(attempt_truths, rule, attempts=2)
    assert ExamPower(chances, "drawn", 100).too_easy == []
    assert chances[Grader.HONEST].within > 0.95


def test_what_is_expected_where_nothing_is_known() -> None:
    assert list(expected_shares(5)) == list(PUBLISHED)
    assert expected_shares(2) == [5929 + 19245 + 30056 / 2, 30056 / 2 + 24439 + 14773]


def test_chances_repeat_themselves() -> None:
    first = power(even(20), DEFAULT, attempts=2)
    power.cache_clear()
    assert power(even(20), DEFAULT, attempts=2) == first


@pytest.mark.django_db
class TestPower:
    RULE = PassRule(Weights.QUADRATIC, 0.4)

    def test_a_later_exam_is_simulated_on_the_pairs_it_draws(self, messages: Messages) -> None:
        project = later_exam([tuple(range(LEVELS))] * 4, queries=4).project
        result = exam_power(project, kind="stored", queries=4, depth=5, rule=self.RULE, attempts=2)
        assert result is not None
        assert (result.truth, result.pairs, result.shown) == ("drawn", 20, 0)
        assert result.chances == power((Truths((4, 4, 4, 4, 4), 40.0),) * 8, self.RULE, attempts=2)
        assert result.too_easy == [Grader.RANDOM, Grader.TWO_LEVEL, Grader.SHIFTED]
        failed(project, messages)
        result = exam_power(project, kind="stored", queries=4, depth=5, rule=self.RULE, attempts=2)
        assert result is not None and result.shown == 20
        assert exam_power(project, kind="stored", queries=5, depth=5, rule=self.RULE, attempts=2) is None

    def test_a_first_cohort_is_simulated_on_published_relevance_or_on_that_of_the_settled_pairs(self) -> None:
        batch = BatchFactory(pairs=20)
        batch.pairs.update(state="settled", relevance=0)
        Pair.objects.filter(pk__in=list(batch.pairs.values_list("pk", flat=True)[:10])).update(relevance=4)
        for fewest, truth in ((21, "published"), (20, "settled")):
            with patch.object(power_selectors, "FEWEST_SETTLED", fewest):
                result = exam_power(batch.project, kind="cohort", queries=10, depth=10, rule=self.RULE, attempts=2)
            assert result is not None and (result.truth, result.pairs) == (truth, 100)
        shares = truths_drawn((10, 0, 0, 0, 10), pairs=100, draws=power_selectors.IMAGINED, seed=power_selectors.SEED)
        assert result is not None and result.chances == power(shares, self.RULE, attempts=2)
