from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.pay.rules import Day, Rate, Time, amount_of, amounts_of, day_time, hours_of, lines_of, rate_on, total_time

HOUR = 3_600_000
MARCH = date(2026, 3, 1)
DEFAULT = [Rate(date.min, Decimal("14.00"), "SGD")]


def march(day: int) -> date:
    return date(2026, 3, day)


def rate(from_day: int, amount: str, currency: str = "SGD") -> Rate:
    return Rate(march(from_day), Decimal(amount), currency)


def day(number: int, judging: int = HOUR) -> Day:
    return Day(march(number), Time(judging=judging), judgments=1)


@pytest.mark.parametrize(
    ("ms", "hours"),
    [(0, "0.00"), (HOUR, "1.00"), (17_999, "0.00"), (18_000, "0.01"), (54_000, "0.02"), (4_328_352_000, "1202.32")],
)
def test_hours_are_rounded_half_up(ms: int, hours: str) -> None:
    assert hours_of(ms) == Decimal(hours)


@pytest.mark.parametrize(
    ("ms", "an_hour", "amount"),
    [
        (HOUR, "14.00", "14.00"),
        (HOUR // 2, "14.01", "7.01"),  # 7.005: half a cent is a cent
        (HOUR // 2, "14.03", "7.02"),  # 7.015, where rounding half to even says 7.02, too
        (HOUR // 2, "14.05", "7.03"),  # 7.025, where it says 7.02
        (19_000, "14.00", "0.07"),  # one judgment of TVR-Ranking: 7.39 cents
        (1, "14.00", "0.00"),
        (HOUR, "0", "0.00"),
        (17_000, "100", "0.47"),  # of the time, and not of the 0.00 hours shown
    ],
)
def test_amounts_are_rounded_to_cents_half_up(ms: int, an_hour: str, amount: str) -> None:
    assert amount_of(ms, Decimal(an_hour)) == Decimal(amount)


@pytest.mark.parametrize(
    ("own", "on", "expected_rate"),
    [
        ([], 1, "14.00"),
        ([rate(5, "20.00")], 4, "14.00"),
        ([rate(5, "20.00")], 5, "20.00"),
        ([rate(5, "20.00"), rate(9, "30.00")], 8, "20.00"),
        ([rate(9, "30.00"), rate(5, "20.00")], 9, "30.00"),  # whichever was entered first
        ([rate(5, "20.00"), rate(5, "21.00")], 6, "21.00"),  # a slip set right
    ],
)
def test_the_rate_of_a_day(own: list[Rate], on: int, expected_rate: str) -> None:
    assert rate_on(march(on), own, DEFAULT).rate == Decimal(expected_rate)


def test_the_first_rate_of_the_project_holds_for_days_before_it() -> None:
    default = [rate(10, "15.00"), rate(20, "16.00")]
    assert [rate_on(march(d), [], default).rate for d in (1, 10, 19, 20)] == [15, 15, 15, 16]


def test_a_rate_that_changes_makes_two_lines_and_one_that_comes_back_is_one() -> None:
    lines = lines_of([day(1), day(2), day(3)], [rate(3, "20.00")], DEFAULT)
    assert [(line.rate.rate, line.first_day, line.last_day, line.time.total, line.amount) for line in lines] == [
        (14, march(1), march(2), 2 * HOUR, 28),
        (20, march(3), march(3), HOUR, 20),
    ]
    lines = lines_of([day(1), day(2), day(3)], [rate(2, "20.00"), rate(3, "14.00")], DEFAULT)
    days = [(line.rate.rate, line.first_day, line.last_day) for line in lines]
    assert days == [(14, march(1), march(3)), (20, march(2), march(2))]
    lines = lines_of([day(1), day(2)], [rate(2, "14.00", "EUR")], DEFAULT)
    assert amounts_of([*lines, *lines]) == [("EUR", 28), ("SGD", 28)]  # currencies are never added


@pytest.mark.parametrize(
    ("judging", "correction", "counted_correction"),
    [(100, -40, -40), (100, -100, -100), (100, -101, -100), (0, -5, 0), (0, 5, 5)],
)
def test_no_day_counts_below_zero(judging: int, correction: int, counted_correction: int) -> None:
    assert day_time(judging=judging, training=0, correction=correction) == Time(judging, 0, counted_correction)


DAYS = st.lists(
    st.builds(
        Day,
        st.integers(0, 60).map(lambda n: MARCH + timedelta(days=n)),
        st.builds(
            lambda judging, training, correction: day_time(judging=judging, training=training, correction=correction),
            st.integers(0, 10**8),
            st.integers(0, 10**7),
            st.integers(-(10**8), 10**8),
        ),
        st.integers(0, 500),
    ),
    unique_by=lambda worked: worked.day,
)
RATES = st.lists(
    st.builds(
        Rate,
        st.integers(-5, 65).map(lambda n: MARCH + timedelta(days=n)),
        st.decimals(0, 50, places=2),
        st.sampled_from(["SGD", "EUR"]),
    ),
    max_size=4,
)


@given(days=DAYS, own=RATES, cuts=st.sets(st.integers(0, 60), max_size=5))
def test_the_parts_of_a_period_add_up_to_it(days: list[Day], own: list[Rate], cuts: set[int]) -> None:
    edges = [MARCH + timedelta(days=offset) for offset in sorted(cuts)]
    parts = [
        [d for d in days if (low is None or d.day >= low) and (high is None or d.day < high)]
        for low, high in zip([None, *edges], [*edges, None], strict=True)
    ]
    assert sum(total_time(part).total for part in parts) == total_time(days).total
    assert sum(line.time.total for line in lines_of(days, own, DEFAULT)) == total_time(days).total
    split = [line for part in parts for line in lines_of(part, own, DEFAULT)]
    whole = lines_of(days, own, DEFAULT)
    for key in {(line.rate.rate, line.rate.currency) for line in whole}:
        in_parts, at_once = (
            sum(line.time.total for line in lines if (line.rate.rate, line.rate.currency) == key)
            for lines in (split, whole)
        )
        assert in_parts == at_once
