"""Figures of an annotator's judgments: by hand on a few, and against plain Python on many."""

import random
from itertools import groupby
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score  # type: ignore[import-untyped]

from judging.quality.rules.quality import (
    NOT_KNOWN,
    NOT_SETTLED,
    agreed_with_partner,
    alerts,
    annotator_figures,
    gold_among,
    gold_due,
    judgments_of,
    longest_run,
    longest_streak,
    partners,
    project_figures,
    weeks,
)
from judging.work.rules import TVR_RANKING, Rules

LIMITS = {"from": 4, "kappa": 0.3, "bias": 0.75, "gold": 0.25, "fast_streak": 3, "run": 4}
FAST_S = 2.0
Row = tuple[int, int, int, int, int, int, int]  # annotator, pair, round, grade, relevance, day, ms


def figures(rows: list[Row], annotator: int) -> dict[str, object]:
    columns = judgments_of(rows)
    mine = columns["annotator"] == annotator
    return annotator_figures(
        columns[mine], TVR_RANKING, agreed=agreed_with_partner(columns, TVR_RANKING)[mine], fast_s=FAST_S, seed=1
    )


def test_by_hand() -> None:
    rows: list[Row] = [
        (1, 10, 1, 4, 4, 0, 1500),
        (2, 10, 1, 3, 4, 0, 9000),
        (1, 11, 1, 0, NOT_SETTLED, 0, 1000),
        (2, 11, 1, 4, NOT_SETTLED, 0, NOT_KNOWN),
        (1, 12, 1, 2, 1, 7, 4000),
        (2, 12, 1, 1, 1, 7, 500),
        (1, 13, 1, 2, NOT_SETTLED, 7, 5000),
    ]
    result = figures(rows, 1)
    assert result["judgments"] == 4
    assert result["consensus"] == pytest.approx(2 / 3)  # pair 13 has no second grade yet
    assert result["bias"] == pytest.approx(0.5)
    assert result["distribution"] == [1, 0, 2, 0, 1]
    assert result["seconds"] == {"known": 4, "median": 2.75, "mean": 2.875}
    assert (result["longest_run"], result["fast_streak"]) == (2, 2)
    assert [week["week"] for week in result["weeks"]] == ["1969-12-29", "1970-01-05"]  # type: ignore[attr-defined]


def test_nothing_is_made_up_where_there_is_nothing() -> None:
    result = figures([(1, 10, 1, 3, NOT_SETTLED, 0, NOT_KNOWN)], 1)
    assert result["consensus"] is None and result["bias"] is None
    assert result["seconds"] == {"known": 0, "median": None, "mean": None}
    kappas = result["against_relevance"]
    assert kappas["n"] == 0 and kappas["quadratic"] == {"value": None, "interval": None}  # type: ignore[index]
    assert project_figures(judgments_of([]), TVR_RANKING) == {
        "judgments": 0,
        "pairs": 0,
        "alpha": None,
        "fleiss": None,
        "distribution": [0] * 5,
    }


def many(seed: int) -> list[Row]:
    chance = random.Random(seed)
    rows: list[Row] = []
    for pair in range(60):
        truth = chance.randrange(5)
        for annotator in chance.sample(range(6), chance.choice([1, 2, 2, 4])):
            grade = min(4, max(0, round(truth + chance.gauss(0, 1))))
            rows.append((annotator, pair, 1, grade, truth, pair // 9, chance.randrange(500, 9000)))
    chance.shuffle(rows)
    return rows


def test_partners_are_those_of_plain_python() -> None:
    rows = many(3)
    result = partners(judgments_of(rows), TVR_RANKING)
    grades = {(annotator, pair): grade for annotator, pair, _, grade, *_ in rows}
    for one, partner_rows in result.items():
        for partner in partner_rows:
            other = partner["annotator"]
            shared = [pair for person, pair in grades if person == one and (other, pair) in grades]
            a, b = [grades[one, pair] for pair in shared], [grades[other, pair] for pair in shared]
            assert partner["pairs"] == len(shared)
            assert partner["consensus"] == pytest.approx(mean(abs(x - y) <= 1 for x, y in zip(a, b, strict=True)))
            if len({*a, *b}) > 1:
                for weights in ("linear", "quadratic"):
                    expected_kappa = cohen_kappa_score(a, b, labels=range(5), weights=weights)
                    assert partner[weights] == pytest.approx(expected_kappa)
        assert [partner["pairs"] for partner in partner_rows] == sorted(
            (p["pairs"] for p in partner_rows), reverse=True
        )


def test_weeks_hold_every_judgment_once() -> None:
    mine = judgments_of([row for row in many(4) if row[0] == 2])
    week_rows = weeks(mine)
    assert sum(week["judgments"] for week in week_rows) == len(mine)
    assert [week["week"] for week in week_rows] == sorted(week["week"] for week in week_rows)


@given(st.lists(st.integers(0, 4), max_size=40))
def test_longest_run_is_that_of_groupby(grades: list[int]) -> None:
    expected_run = max((len(list(group)) for _, group in groupby(grades)), default=0)
    assert longest_run(np.array(grades, dtype=np.int64)) == expected_run


@given(st.lists(st.booleans(), max_size=40))
def test_longest_streak_is_that_of_groupby(marked: list[bool]) -> None:
    expected_streak = max((len(list(group)) for is_marked, group in groupby(marked) if is_marked), default=0)
    assert longest_streak(np.array(marked, dtype=np.bool_)) == expected_streak


def fine(**other: object) -> dict[str, object]:
    kappas = {"quadratic": {"value": 0.6}}
    gold = {"judgments": 20, "misaligned": 0.1}
    report = {
        "judgments": 50,
        "against_relevance": kappas,
        "bias": 0.1,
        "gold": gold,
        "fast_streak": 1,
        "longest_run": 3,
    }
    report |= {"with_partners": {"quadratic": 0.5}}
    return {**report, **other}


@pytest.mark.parametrize(
    ("other", "kinds"),
    [
        ({}, []),
        ({"against_relevance": {"quadratic": {"value": 0.29}}}, ["kappa"]),
        ({"against_relevance": {"quadratic": {"value": None}}}, []),
        ({"with_partners": {"quadratic": -0.15}}, ["kappa"]),
        ({"with_partners": {"quadratic": None}}, []),
        ({"bias": -0.8}, ["bias"]),
        ({"bias": 0.75}, []),
        ({"gold": {"judgments": 20, "misaligned": 0.3}}, ["gold"]),
        ({"gold": {"judgments": 9, "misaligned": 1.0}}, []),
        ({"gold": {"judgments": 0, "misaligned": None}}, []),
        ({"fast_streak": 3}, ["fast"]),
        ({"longest_run": 4}, ["run"]),
        ({"longest_run": 4, "bias": 2.0, "judgments": 3}, []),
    ],
)
def test_alerts(other: dict[str, object], kinds: list[str]) -> None:
    assert [past.kind for past in alerts(fine(**other), LIMITS)] == kinds


@pytest.mark.parametrize(
    ("pairs_shown", "gold", "percent", "due"),
    [(0, 0, 5, 0), (19, 0, 5, 0), (20, 0, 5, 1), (200, 4, 5, 6), (200, 10, 5, 0), (200, 11, 5, 0), (500, 0, 0, 0)],
)
def test_due(pairs_shown: int, gold: int, percent: int, due: int) -> None:
    assert gold_due(n_shown=pairs_shown, gold=gold, percent=percent) == due


@given(st.lists(st.integers(1, 20), max_size=60), st.integers(0, 50))
def test_the_share_is_met_within_one_pair_and_never_exceeded(rounds: list[int], percent: int) -> None:
    total = gold = 0
    for others in rounds:
        due = gold_due(n_shown=total + others, gold=gold, percent=percent)
        mixed = gold_among(others, due=due)
        assert mixed <= others
        total, gold = total + others + mixed, gold + mixed
        assert gold * 100 <= total * percent


def test_three_judges_of_yes_and_no() -> None:
    """Of three pairs all agree on one, one is disputed, and one lacks its third grade; gaps count for Fleiss' kappa."""
    yes_or_no = Rules(top_grade=1, judges=3, max_spread=0, max_rounds=2)
    grades = {10: (1, 1, 1), 11: (0, 0, 1), 12: (0, 0)}
    rows = [
        (annotator, pair, 1, grade, NOT_SETTLED, 0, 1000)
        for pair, pair_grades in grades.items()
        for annotator, grade in enumerate(pair_grades)
    ]
    judgments = judgments_of(rows)
    agreed = agreed_with_partner(judgments, yes_or_no)
    assert agreed.tolist() == [True] * 3 + [False] * 3 + [True] * 2
    result = project_figures(judgments, yes_or_no)
    assert result["distribution"] == [4, 4]
    assert result["fleiss"] == pytest.approx((2 / 3 - 5 / 9) / (1 - 5 / 9))  # as on paper in test_agreement
    assert [partner["consensus"] for partner in partners(judgments, yes_or_no)[2]] == [0.5, 0.5]
