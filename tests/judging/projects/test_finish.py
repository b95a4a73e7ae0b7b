"""When a project will be done, by hand."""

from dataclasses import replace
from datetime import date, timedelta

import pytest

from judging.projects.rules import Left, finish, pace

TODAY = date(2026, 3, 20)
NOTHING = Left(
    open_pairs=0, escalated_pairs=0, given=0, queries=0, undecided=0, pairs=20, escalated=0.25, second=0.5, judges=2
)


@pytest.mark.parametrize(
    ("fields", "judgments"),
    [
        ({}, 0),
        ({"open_pairs": 20, "escalated": 0}, 40),
        ({"open_pairs": 20}, 50),  # a quarter of them will ask for two more
        ({"escalated_pairs": 5}, 10),
        ({"open_pairs": 20, "escalated": 0, "given": 15}, 25),
        ({"undecided": 4}, 100),  # half of them get a second batch of 20 pairs, at 2.5 grades each
        ({"queries": 2}, 150),  # a first batch each, a second for one of them
        ({"open_pairs": 20, "judges": 3}, 75),  # a quarter of them will ask for three more
        ({"escalated_pairs": 5, "given": 4, "judges": 3}, 11),
        ({"queries": 2, "second": 0, "pairs": 10, "judges": 3}, 75),
    ],
)
def test_judgments_left(fields: dict[str, float], judgments: float) -> None:
    assert replace(NOTHING, **fields).judgments == judgments


@pytest.mark.parametrize(
    ("per_day", "expected_pace"),
    [
        ({}, 0),
        ({0: 70}, 70),  # since today
        ({0: 10, 1: 20}, 15),
        ({0: 7, 6: 63}, 10),
        ({0: 7, 7: 1000}, 1),  # a week ago is not within the week
        ({30: 1000}, 0),
    ],
)
def test_pace(per_day: dict[int, int], expected_pace: float) -> None:
    assert pace({TODAY - timedelta(days=ago): n for ago, n in per_day.items()}, today=TODAY) == expected_pace


def test_the_day() -> None:
    work = replace(NOTHING, open_pairs=20, escalated=0)
    assert finish(work, per_day=15, today=TODAY).day == TODAY + timedelta(days=3)
    assert finish(work, per_day=0, today=TODAY).day is None
    assert finish(work, per_day=0.001, today=TODAY).day is None  # more than ten years
    forecast = finish(NOTHING, per_day=0, today=TODAY)
    assert (forecast.is_done, forecast.judgments) == (True, 0)
