"""Which bounds a moment can have."""

import math

import pytest

from judging.work.rules import fault_of_bounds


@pytest.mark.parametrize(
    ("start_s", "end_s", "words"),
    [
        (0.0, 90.0, None),
        (12.5, 12.6, None),
        (-0.1, 5.0, "cannot start before its video"),
        (5.0, 90.1, "The video is only 90 s long."),
        (5.0, 5.0, "ends after it starts"),
        (5.0, 5.05, "ends after it starts"),
        (6.0, 5.0, "ends after it starts"),
        (math.nan, 5.0, "numbers of seconds"),
        (0.0, math.inf, "numbers of seconds"),
    ],
)
def test_faults(start_s: float, end_s: float, words: str | None) -> None:
    fault = fault_of_bounds(start_s, end_s, duration_s=90.0)
    assert fault is None if words is None else words in str(fault)
