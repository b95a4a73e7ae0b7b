"""Numbers of figures, by hand and against the standard library."""

from datetime import date

import pytest

from judging.figures.rules import (
    GradesOfDay,
    Relevances,
    Unit,
    agreement_of,
    agreement_over_time,
    relevances_by,
    tables_of,
    unit_for,
)
from judging.quality.rules.agreement import krippendorff_alpha
from judging.work.rules import TVR_RANKING, Rules

DAY = date(2026, 3, 4)  # a Wednesday


def test_groups_by_hand() -> None:
    relevances = relevances_by([(2, 4, 1), (1, 0, 3), (2, 2, 1)], TVR_RANKING)
    assert relevances == {1: Relevances((3, 0, 0, 0, 0)), 2: Relevances((0, 0, 1, 0, 1))}
    assert list(relevances) == [1, 2]
    assert (relevances[2].n, relevances[2].mean, relevances[2].deviation) == (2, 3.0, 1.0)
    nothing = Relevances.none(TVR_RANKING)
    assert (nothing.n, nothing.mean, nothing.deviation) == (0, None, None)


@pytest.mark.parametrize(
    ("last", "unit"),
    [
        (date(2026, 3, 4), Unit.DAY),
        (date(2026, 4, 7), Unit.DAY),  # 35 days
        (date(2026, 4, 8), Unit.WEEK),
        (date(2027, 4, 27), Unit.WEEK),  # 420 days
        (date(2027, 4, 28), Unit.MONTH),
    ],
)
def test_the_longer_it_takes_the_coarser_it_is_drawn(last: date, unit: Unit) -> None:
    assert unit_for(DAY, last) is unit


def test_periods_begin_on_mondays_and_on_the_first() -> None:
    assert Unit.WEEK.first_of(DAY) == date(2026, 3, 2)
    assert Unit.MONTH.first_of(DAY) == date(2026, 3, 1)
    ends = [date(2026, 12, 2), date(2026, 12, 8), date(2027, 1, 1)]
    assert [unit.next_of(date(2026, 12, 1)) for unit in Unit] == ends


def test_agreement_of_a_period_by_hand() -> None:
    """Grades 2 and 2, 2 and 3, twice 0 and 4: half of the four pairs are near."""
    agreement = agreement_of(
        DAY, [GradesOfDay(DAY, (2, 2), 1), GradesOfDay(DAY, (2, 3), 1), GradesOfDay(DAY, (0, 4), 2)], TVR_RANKING
    )
    assert (agreement.n, agreement.consensus) == (4, 0.5)
    assert agreement.alpha == pytest.approx(krippendorff_alpha([(2, 2), (2, 3), (0, 4), (0, 4)], 5))
    assert agreement_of(DAY, [], TVR_RANKING) == (DAY, 0, None, None)


def test_agreement_of_three_judges_by_hand() -> None:
    """Of yes and no: thrice all agree, once they do not."""
    yes_or_no = Rules(top_grade=1, judges=3, max_spread=0, max_rounds=2)
    agreement = agreement_of(
        DAY, [GradesOfDay(DAY, (1, 1, 1), 1), GradesOfDay(DAY, (0, 0, 0), 2), GradesOfDay(DAY, (0, 0, 1), 1)], yes_or_no
    )
    assert (agreement.n, agreement.consensus) == (4, 0.75)
    assert agreement.alpha == pytest.approx(krippendorff_alpha([(1, 1, 1), (0, 0, 0), (0, 0, 0), (0, 0, 1)], 2))


def test_time_has_no_gaps() -> None:
    later = date(2026, 3, 7)
    rows = [GradesOfDay(DAY, (1, 1), 2), GradesOfDay(later, (0, 4), 1), GradesOfDay(later, (2, 3), 1)]
    unit, periods = agreement_over_time(rows, TVR_RANKING)
    assert unit is Unit.DAY
    days = [(period.start.day, period.n, period.consensus) for period in periods]
    assert days == [(4, 2, 1.0), (5, 0, None), (6, 0, None), (7, 2, 0.5)]
    assert agreement_over_time([], TVR_RANKING) == (Unit.DAY, [])


def test_the_lower_number_comes_first_whatever_the_accounts() -> None:
    tables = tables_of([(10, 20, 4, 1, 3), (10, 30, 2, 2, 1)], {10: 7, 20: 3, 30: 9}, 5)
    assert set(tables) == {(3, 7), (7, 9)}
    assert (tables[3, 7][1, 4], tables[3, 7].sum(), tables[7, 9][2, 2]) == (3, 3, 1)
