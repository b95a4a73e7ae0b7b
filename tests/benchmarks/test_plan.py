"""Grades replayed from a judgment file, and the outcomes expected."""

from pathlib import Path

import pytest

from benchmarks.plan import (
    WHOLE_FILE,
    Grade,
    PlannedPair,
    Totals,
    plan_of,
    planned,
    read_rows,
    totals,
    totals_planned,
)
from benchmarks.replay import judgment_file
from tests.benchmarks.real_file import needs_real_file


def grades(*values: int) -> list[Grade]:
    """Given by workers 1, 2, 3, 4 in turn."""
    return [Grade(worker, value) for worker, value in enumerate(values, 1)]


def rounds(*values: int) -> tuple[list[int], list[int]]:
    pair = planned(7, grades(*values))
    return [row.grade for row in pair.first], [row.grade for row in pair.second]


@pytest.mark.parametrize(
    ("grade_values", "first", "second"),
    [
        ((3, 4), [3, 4], []),
        ((0, 4), [0, 4], []),
        ((2, 0, 4, 1), [0, 4], [1, 2]),
        ((3, 3, 2, 1), [1, 3], [2, 3]),
        ((0, 0, 0, 4), [0, 4], [0, 0]),
        ((2, 1, 1, 2), [1, 2], []),  # all within 1: the middle two
        ((1, 1, 1, 2), [1, 1], []),
        ((1, 2, 2, 2), [2, 2], []),
        ((3, 3, 3, 3), [3, 3], []),
    ],
)
def test_rounds(grade_values: tuple[int, ...], first: list[int], second: list[int]) -> None:
    assert rounds(*grade_values) == (first, second)


def test_grades_keep_their_workers() -> None:
    pair = planned(7, [Grade(9, 4), Grade(5, 0), Grade(5, 2), Grade(3, 3)])
    assert pair == PlannedPair(7, (Grade(5, 0), Grade(9, 4)), (Grade(5, 2), Grade(3, 3)))


@pytest.mark.parametrize("count", [1, 3, 5])
def test_neither_two_nor_four(count: int) -> None:
    with pytest.raises(ValueError, match=f"pair 7 has {count} grades"):
        planned(7, grades(*[2] * count))


@pytest.mark.parametrize(
    ("grade_values", "state", "relevance"),
    [
        ((3, 4), "settled", 4),
        ((0, 4), "escalated", None),
        ((0, 4, 2, 1), "settled", 2),
        ((0, 0, 2, 2), "dropped", None),
        ((1, 1, 1, 2), "settled", 1),
    ],
)
def test_outcome(grade_values: tuple[int, ...], state: str, relevance: int | None) -> None:
    assert planned(7, grades(*grade_values)).outcome == (state, relevance)


def test_file_to_plan(tmp_path: Path) -> None:
    file = tmp_path / "raw.csv"
    file.write_text("pair_id,worker,relevance\n21,4,1\n3,6,0\n3,4,4\n21,6,1\n")
    assert plan_of(read_rows(file)) == [
        PlannedPair(3, (Grade(6, 0), Grade(4, 4))),
        PlannedPair(21, (Grade(4, 1), Grade(6, 1))),
    ]


def test_part_of_the_file() -> None:
    rows = {pair_id: grades(1, 1) for pair_id in (40, 2, 8, 21)}
    assert [pair.pair_id for pair in plan_of(rows, first=8, limit=2)] == [8, 21]


def test_totals_by_hand() -> None:
    rows = [(2, "settled", 4), (2, "settled", 4), (4, "settled", 0), (4, "dropped", None), (2, "escalated", None)]
    assert totals(rows) == Totals(
        judgments=14,
        settled=3,
        settled_after_two=2,
        settled_after_four=1,
        dropped=1,
        escalated=1,
        relevance=(1, 0, 0, 0, 2),
    )


@needs_real_file
def test_whole_file_gives_the_published_totals() -> None:
    plan = plan_of(read_rows(judgment_file()))
    assert totals_planned(plan) == WHOLE_FILE
    assert [pair.pair_id for pair in plan if pair.outcome.state == "escalated"] == [166445, 166459]
