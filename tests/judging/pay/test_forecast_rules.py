from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from judging.pay.rules import (
    JUDGE_NOISE,
    TVR_RANKING,
    Assumptions,
    Forecast,
    disagreement,
    escalated_share,
)
from judging.qualification.rules.passing import PUBLISHED
from judging.work.rules import TVR_RANKING as PAPER_RULES
from judging.work.rules import Rules


def test_tvr_ranking_took_about_1200_hours() -> None:
    """By hand: 3,281 + 1,544 = 4,825 batches of 96,483 pairs, 17,421 of them with four grades: 192,966 + 34,842 =
    227,808 judgments, as published; of 19 s each they are 4,328,352 s: 1,202.32 h, at 14 SGD 16,832.48.
    """
    forecast = Forecast(replace(TVR_RANKING, exam_pairs=0))
    assert forecast.batches == pytest.approx(4825)
    assert forecast.pairs == pytest.approx(96_483)
    assert forecast.judging.judgments == pytest.approx(227_808)
    assert forecast.total.hours == Decimal("1202.32")
    assert forecast.cost == Decimal("16832.48")


def test_the_exam_is_graded_by_everybody() -> None:
    """23 * 100 grades of 19 s: 43,700 s are 12.14 h."""
    assert Forecast(TVR_RANKING).exam.hours == Decimal("12.14")
    assert Forecast(TVR_RANKING).total.hours == Decimal("1214.46")


def test_a_small_project_by_hand() -> None:
    """10 queries, 12 batches, 48 pairs, 12 of them escalated: 96 + 24 = 120 judgments. A quarter of what is shown is
    gold: 40 more. 2 people sit an exam of 10: 20 more. 180 judgments of 20 s are 1 h."""
    shares = {"second": 0.2, "escalated": 0.25, "gold": 0.25}
    people = {"annotators": 2, "exam_pairs": 10, "rate": Decimal("15.01"), "currency": "EUR"}
    forecast = Forecast(Assumptions(queries=10, pairs=4, seconds=20, **shares, **people))
    parts = (forecast.judging.judgments, forecast.gold.judgments, forecast.exam.judgments)
    assert parts == pytest.approx((120, 40, 20))
    assert (forecast.total.hours, forecast.cost) == (1, Decimal("15.01"))
    assert (forecast.each.judgments, forecast.each.hours, forecast.cost_each) == (90, Decimal("0.50"), Decimal("7.51"))


def test_three_judges_by_hand() -> None:
    """10 queries of one batch of 10 pairs, a fifth of them escalated: 300 + 60 judgments."""
    forecast = Forecast(Assumptions(queries=10, pairs=10, judges=3, second=0, escalated=0.2, gold=0, exam_pairs=0))
    assert forecast.judging.judgments == pytest.approx(360)


def test_nothing_to_judge_takes_no_time() -> None:
    forecast = Forecast(replace(TVR_RANKING, queries=0, exam_pairs=0))
    assert (forecast.total.judgments, forecast.total.hours, forecast.cost) == (0, 0, 0)


def test_second_rounds_by_the_papers_rules_are_the_papers() -> None:
    assert escalated_share(PAPER_RULES) == TVR_RANKING.escalated
    assert disagreement(PAPER_RULES) == pytest.approx(TVR_RANKING.escalated, abs=1e-4)


@pytest.mark.parametrize("rules", [Rules(4, 3, 1, 2), Rules(9, 2, 0, 2), Rules(9, 3, 2, 2), Rules(1, 3, 0, 2)])
def test_second_rounds_by_other_rules_are_those_of_simulated_judges(rules: Rules) -> None:
    """Judges of a continuous truth, drawn one by one."""
    rng, n_pairs, n_levels = np.random.default_rng(1), 200_000, len(PUBLISHED)
    levels = rng.choice(n_levels, size=n_pairs, p=np.array(PUBLISHED) / sum(PUBLISHED))
    truths = levels + rng.random(n_pairs)  # from 0 to 5
    impressions = truths[:, None] + JUDGE_NOISE * rng.standard_normal((n_pairs, rules.judges))
    grades = np.floor(impressions * len(rules.grades) / n_levels).clip(0, rules.top_grade)
    share = (np.ptp(grades, axis=1) > rules.max_spread).mean()
    assert escalated_share(rules) == pytest.approx(share, abs=0.005)


def test_more_judges_finer_scales_and_smaller_spreads_cost_more() -> None:
    shares = [escalated_share(Rules(*rules, 2)) for rules in ((4, 2, 1), (4, 3, 1), (9, 2, 1), (9, 2, 0), (9, 3, 0))]
    assert shares == sorted(set(shares))
    assert shares[-1] < 1
