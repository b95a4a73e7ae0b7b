"""The consensus rule: every case of the paper's, against a reference written from its words; all rules by property."""

from fractions import Fraction
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.work.rules import TVR_RANKING, Outcome, Rules, State, settle

S, E, D = State.SETTLED, State.ESCALATED, State.DROPPED
TWO = [
    # second grade: 0           1          2          3          4      first grade
    [(S, 0), (S, 1), (E, None), (E, None), (E, None)],  # 0
    [(S, 1), (S, 1), (S, 2), (E, None), (E, None)],  # 1
    [(E, None), (S, 2), (S, 2), (S, 3), (E, None)],  # 2
    [(E, None), (E, None), (S, 3), (S, 3), (S, 4)],  # 3
    [(E, None), (E, None), (E, None), (S, 4), (S, 4)],  # 4
]
FOUR = {
    (0, 0, 0, 0): (S, 0),
    (0, 0, 1, 4): (S, 1),
    (0, 2, 2, 4): (S, 2),
    (4, 2, 3, 0): (S, 3),
    (1, 1, 1, 4): (S, 1),
    (0, 4, 4, 4): (S, 4),
    (0, 3, 4, 4): (S, 4),
    (0, 0, 2, 2): (D, None),
    (0, 0, 4, 4): (D, None),
    (1, 3, 1, 3): (D, None),
    (4, 1, 0, 3): (D, None),
}
grades = st.integers(0, 4)


def reference(four: tuple[int, ...]) -> tuple[State, int | None]:
    """Strike one highest and one lowest by hand; round the mean up without floats."""
    rest = list(four)
    rest.remove(max(rest))
    rest.remove(min(rest))
    one, other = rest
    return (S, (one + other + 1) // 2) if abs(one - other) <= 1 else (D, None)


@pytest.mark.parametrize(("first", "second"), list(product(range(5), repeat=2)))
def test_two_grades(first: int, second: int) -> None:
    assert settle([first, second], TVR_RANKING) == TWO[first][second]


@pytest.mark.parametrize("four", FOUR)
def test_four_grades_by_hand(four: tuple[int, ...]) -> None:
    assert settle(four, TVR_RANKING) == FOUR[four]


def test_all_625_fours_agree_with_the_reference() -> None:
    for four in product(range(5), repeat=4):
        assert settle(four, TVR_RANKING) == reference(four), four


@pytest.mark.parametrize("few", [[], [2], [0, 4, 2]])
def test_none_one_or_three_grades_wait(few: list[int]) -> None:
    assert settle(few, TVR_RANKING) == Outcome(State.WAITING)


@given(st.lists(grades, max_size=3), st.one_of(st.integers(max_value=-1), st.integers(min_value=5)))
def test_a_grade_outside_0_to_4_is_an_error(pair_grades: list[int], bad: int) -> None:
    with pytest.raises(ValueError, match="from 0 to 4"):
        settle([*pair_grades, bad], TVR_RANKING)


@given(st.lists(grades, min_size=5))
def test_more_than_four_grades_are_an_error(pair_grades: list[int]) -> None:
    with pytest.raises(ValueError, match="at most 4"):
        settle(pair_grades, TVR_RANKING)


@st.composite
def all_rules(draw: st.DrawFn) -> Rules:
    top_grade = draw(st.integers(1, 9))
    return Rules(top_grade, draw(st.integers(2, 3)), draw(st.integers(0, top_grade - 1)), draw(st.integers(1, 2)))


@st.composite
def whole_rounds(draw: st.DrawFn) -> tuple[Rules, list[int]]:
    rules = draw(all_rules())
    size = rules.judges * draw(st.integers(1, rules.max_rounds))
    return rules, draw(st.lists(st.integers(0, rules.top_grade), min_size=size, max_size=size))


@given(whole_rounds(), st.randoms())
def test_the_order_in_which_grades_arrive_decides_nothing(case: tuple[Rules, list[int]], chance: Random) -> None:
    rules, pair_grades = case
    assert settle(chance.sample(pair_grades, len(pair_grades)), rules) == settle(pair_grades, rules)


@given(whole_rounds())
def test_deciding_grades_lie_near_and_their_mean_is_rounded_up(case: tuple[Rules, list[int]]) -> None:
    rules, pair_grades = case
    is_second = len(pair_grades) == 2 * rules.judges
    deciding = list(pair_grades)
    if is_second:
        deciding.remove(max(deciding))
        deciding.remove(min(deciding))
    outcome = settle(pair_grades, rules)
    if max(deciding) - min(deciding) <= rules.max_spread:
        assert outcome.state == S and outcome.relevance is not None
        assert outcome.relevance - 1 < Fraction(sum(deciding), len(deciding)) <= outcome.relevance
    else:
        last = is_second or rules.max_rounds == 1
        assert outcome == Outcome(D if last else E)


ALL_RULES = [
    Rules(top, judges, spread, rounds)
    for top in range(1, 10)
    for spread in range(top)
    for judges in (2, 3)
    for rounds in (1, 2)
]


@pytest.mark.parametrize("rules", ALL_RULES, ids=str)
def test_a_higher_grade_never_lowers_the_relevance(rules: Rules) -> None:
    """Twenty rounds that settle, drawn by seed, by each set of rules: each grade is raised by one."""
    chance, n_raised = Random(str(rules)), 0
    for _ in range(20):
        low = chance.randint(0, rules.top_grade - rules.max_spread)
        near = [chance.randint(low, low + rules.max_spread) for _ in range(rules.most_grades)]
        before = settle(near, rules)
        assert before.state == S and before.relevance is not None
        for index, grade in enumerate(near):
            if grade < rules.top_grade:
                after = settle([*near[:index], grade + 1, *near[index + 1 :]], rules).relevance
                assert after is None or before.relevance <= after <= before.relevance + 1
                n_raised += after is not None
    assert n_raised or (rules.max_spread, rules.max_rounds) == (0, 1)


@given(all_rules(), st.integers(0, 9))
def test_equal_grades_settle_as_what_they_are(rules: Rules, grade: int) -> None:
    grade = min(grade, rules.top_grade)
    for n_rounds in range(1, rules.max_rounds + 1):
        assert settle([grade] * rules.judges * n_rounds, rules) == Outcome(S, grade)


@given(whole_rounds())
def test_a_round_without_its_last_grade_waits(case: tuple[Rules, list[int]]) -> None:
    rules, pair_grades = case
    assert settle(pair_grades[:-1], rules) == Outcome(State.WAITING)
