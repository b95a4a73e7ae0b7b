from datetime import date

import pytest

from judging.pay.rules import month_before, month_of


@pytest.mark.parametrize(
    ("day", "first", "last"),
    [
        ("2026-03-15", "2026-03-01", "2026-03-31"),
        ("2026-12-31", "2026-12-01", "2026-12-31"),
        ("2026-02-01", "2026-02-01", "2026-02-28"),
        ("2028-02-29", "2028-02-01", "2028-02-29"),
    ],
)
def test_month(day: str, first: str, last: str) -> None:
    assert month_of(date.fromisoformat(day)) == (date.fromisoformat(first), date.fromisoformat(last))


@pytest.mark.parametrize(("day", "last"), [("2026-01-01", "2025-12-31"), ("2026-03-31", "2026-02-28")])
def test_month_before(day: str, last: str) -> None:
    assert month_before(date.fromisoformat(day)) == month_of(date.fromisoformat(last))
