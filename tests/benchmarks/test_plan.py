"""Grades replayed from a judgment file, and the outcomes expected."""

from pathlib import Path

import pytest

from benchmarks.plan import WHOLE_FILE, Grade, PlannedPair, plan_of, planned, read_rows, totals_planned
from benchmarks.replay import judgment_file
from tests.benchmarks.real_file import needs_real_file


def grades(*values: int) -> list[Grade]:
    """Given by workers 1, 2, 3, 4 in turn."""
    return [Grade(worker, value) for worker, value in enumerate(values, 1)]


@pytest.mark.parametrize(
    ("grade_values", "first", "second", "outcome"),
    [
        ((3, 4), [3, 4], [], ("settled", 4)),
        ((0, 4), [0, 4], [], ("escalated", None)),
        ((2, 0, 4, 1), [0, 4], [1, 2], ("settled", 2)),
        ((3, 3, 2, 1), [1, 3], [2, 3], ("settled", 3)),
        ((0, 0, 2, 2), [0, 2], [0, 2], ("dropped", None)),
        ((2, 1, 1, 2), [1, 2], [], ("settled", 2)),  # all within 1: the middle two
        ((1, 1, 1, 2), [1, 1], [], ("settled", 1)),
    ],
)
def test_rounds_and_outcome(
    grade_values: tuple[int, ...], first: list[int], second: list[int], outcome: tuple[str, int | None]
) -> None:
    pair = planned(7, grades(*grade_values))
    assert ([row.grade for row in pair.first], [row.grade for row in pair.second]) == (first, second)
    assert pair.outcome == outcome


@pytest.mark.parametrize("count", [1, 3, 5])
def test_neither_two_nor_four(count: int) -> None:
    with pytest.raises(ValueError, match=f"pair 7 has {count} grades"):
        planned(7, grades(*[2] * count))


def test_file_to_plan_and_a_part_of_it(tmp_path: Path) -> None:
    file = tmp_path / "raw.csv"
    file.write_text("pair_id,worker,relevance\n21,4,1\n3,6,0\n3,4,4\n21,6,1\n")
    third, last = PlannedPair(3, (Grade(6, 0), Grade(4, 4))), PlannedPair(21, (Grade(4, 1), Grade(6, 1)))
    assert plan_of(read_rows(file)) == [third, last]
    assert plan_of(read_rows(file), first=4, limit=2) == [last]
    assert plan_of(read_rows(file), limit=1) == [third]


@needs_real_file
def test_whole_file_gives_the_published_totals() -> None:
    plan = plan_of(read_rows(judgment_file()))
    assert totals_planned(plan) == WHOLE_FILE
    assert [pair.pair_id for pair in plan if pair.outcome.state == "escalated"] == [166445, 166459]
