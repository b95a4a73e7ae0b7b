from datetime import UTC, datetime, timedelta

import pytest

from judging.work.rules import LONGEST_MS, active_ms, with_change

SHOWN = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = 60 * 60


@pytest.mark.parametrize(
    ("measured", "seconds_since", "expected_ms"),
    [
        (8_000, 10, 8_000),
        (0, 10, 0),
        (10_001, 10, 10_000),  # no pair waited for longer
        (10**30, 10, 10_000),
        (None, 10, 10_000),  # nothing measured
        (None, 0, 0),
        (None, -5, 0),  # clocks of two machines
        (3_000, -5, 0),
        (-7, 10, 0),
        (None, 5 * HOUR, LONGEST_MS),
        (5 * HOUR * 1000, 6 * HOUR, LONGEST_MS),
        (None, 0.0014, 1),
    ],
)
def test_active_time(measured: int | None, seconds_since: float, expected_ms: int) -> None:
    assert active_ms(measured, since=SHOWN, now=SHOWN + timedelta(seconds=seconds_since)) == expected_ms


@pytest.mark.parametrize(
    ("before", "added", "expected_ms"), [(5, 7, 12), (None, 7, 7), (LONGEST_MS, 1, LONGEST_MS), (0, 0, 0)]
)
def test_a_change_adds_its_time(before: int | None, added: int, expected_ms: int) -> None:
    assert with_change(before, added) == expected_ms
