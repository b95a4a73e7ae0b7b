"""The consensus rule: every case there is, against a reference written from the paper's words."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.work.rules import Outcome, State, settle

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
    assert settle([first, second]) == TWO[first][second]


@pytest.mark.parametrize("four", FOUR)
def test_four_grades_by_hand(four: tuple[int, ...]) -> None:
    assert settle(four) == FOUR[four]


def test_all_625_fours_agree_with_the_reference() -> None:
    for four in product(range(5), repeat=4):
        assert settle(four) == reference(four), four


@pytest.mark.parametrize("few", [[], [2], [0, 4, 2]])
def test_none_one_or_three_grades_wait(few: list[int]) -> None:
    assert settle(few) == Outcome(State.WAITING)


@given(st.lists(grades, max_size=3), st.one_of(st.integers(max_value=-1), st.integers(min_value=5)))
def test_a_grade_outside_0_to_4_is_an_error(pair_grades: list[int], bad: int) -> None:
    with pytest.raises(ValueError, match="from 0 to 4"):
        settle([*pair_grades, bad])


@given(st.lists(grades, min_size=5))
def test_more_than_four_grades_are_an_error(pair_grades: list[int]) -> None:
    with pytest.raises(ValueError, match="at most four"):
        settle(pair_grades)
