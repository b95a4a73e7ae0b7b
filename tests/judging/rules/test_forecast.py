from dataclasses import replace
from decimal import Decimal

import pytest

from judging.rules.forecast import TVR_RANKING, Assumptions, Forecast


def test_tvr_ranking_took_about_1200_hours() -> None:
    """By hand: 3,281 + 1,544 = 4,825 batches, 96,500 pairs, of which 18.056 % with four grades make 17,424; 2 * 96,500
    + 2 * 17,424 = 227,848 judgments (227,808 in fact: the last batches were short) of 19 s are 4,329,112 s: 1,202.5 h.
    """
    found = Forecast(replace(TVR_RANKING, exam_pairs=0))
    assert found.batches == pytest.approx(4825)
    assert found.pairs == pytest.approx(96_500)
    assert found.judging.judgments == pytest.approx(227_848, abs=1)
    assert found.total.hours == Decimal("1202.53")
    assert found.cost == Decimal("16835.45")


def test_the_exam_is_graded_by_everybody() -> None:
    """23 * 100 grades of 19 s: 43,700 s are 12.14 h."""
    assert Forecast(TVR_RANKING).exam.hours == Decimal("12.14")
    assert Forecast(TVR_RANKING).total.hours == Decimal("1214.67")


def test_a_small_project_by_hand() -> None:
    """10 queries, 12 batches, 48 pairs, 12 of them escalated: 96 + 24 = 120 judgments. A quarter of what is shown is
    gold: 40 more. 2 people sit an exam of 10: 20 more. 180 judgments of 20 s are 1 h."""
    given = Assumptions(
        queries=10,
        pairs=4,
        second=0.2,
        escalated=0.25,
        seconds=20,
        gold=0.25,
        annotators=2,
        exam_pairs=10,
        rate=Decimal("15.01"),
        currency="EUR",
    )
    found = Forecast(given)
    assert (found.judging.judgments, found.gold.judgments, found.exam.judgments) == pytest.approx((120, 40, 20))
    assert (found.total.hours, found.cost) == (1, Decimal("15.01"))
    assert (found.each.judgments, found.each.hours, found.cost_each) == (90, Decimal("0.50"), Decimal("7.51"))


def test_nothing_to_judge_takes_no_time() -> None:
    found = Forecast(replace(TVR_RANKING, queries=0, exam_pairs=0))
    assert (found.total.judgments, found.total.hours, found.cost) == (0, 0, 0)
