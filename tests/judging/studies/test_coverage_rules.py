"""A coverage study's findings, by hand and against the binomial distribution."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.studies.rules import (
    Estimate,
    Judged,
    bands_of,
    coverage_of,
    estimated,
    grade_range,
    lack_words,
    least_highly,
    wilson,
)


def settled(query: int, rank: int | None, relevance: int) -> Judged:
    return Judged(query, rank, relevance, is_open=False)


def test_bands() -> None:
    assert [band.name for band in bands_of(60, 20)] == ["1–20", "21–40", "41–60", "others"]
    assert [band.name for band in bands_of(25, 20)] == ["1–20", "21–25", "others"]
    assert [band.name for band in bands_of(25, 10)] == ["1–10", "11–20", "21–25", "others"]
    (first, *_, last) = bands_of(45, 20)
    assert [first.holds(rank) for rank in (1, 20, 21, None)] == [True, True, False, False]
    assert [last.holds(rank) for rank in (1, None)] == [False, True]


def test_by_hand() -> None:
    """Two queries. Beyond rank 20 one relevant moment of 2 was found, beyond 40 a highly relevant one; of the others
    one of four is relevant, and they stand for 100."""
    judged = [
        *(settled(1, rank, 4) for rank in (1, 2, 3)),
        *(settled(1, 21, 2), settled(2, 22, 0), settled(2, 60, 3)),
        *(settled(1, None, 0), settled(1, None, 0), settled(2, None, 1), settled(2, None, 0)),
        Judged(2, 30, None, is_open=True),
        Judged(2, 31, None, is_open=False),
    ]
    result = coverage_of(judged, top=60, drawn_from={1: 50, 2: 50}, batch_size=20, n_grades=5)
    assert [(one.band.name, one.moments, one.settled, one.relevant, one.highly) for one in result.total] == [
        ("1–20", 3, 3, 3, 3),
        ("21–40", 4, 2, 1, 0),
        ("41–60", 1, 1, 1, 1),
        ("others", 4, 4, 1, 0),
    ]
    assert [(one.open, one.out) for one in result.total] == [(0, 0), (1, 1), (0, 0), (0, 0)]
    assert [one.relevant for one in result.by_query[2]] == [0, 0, 1, 1]
    assert [(one.rank, one.relevant, one.highly) for one in result.beyond] == [(20, 2, 1), (40, 1, 1), (60, 0, 0)]
    assert [one.estimate and one.estimate.value for one in result.beyond] == [27, 26, 25]
    assert {one.rank: one.within for one in result.beyond} == {
        20: pytest.approx(3 / 30),
        40: pytest.approx(4 / 30),
        60: pytest.approx(5 / 30),
    }
    assert result.beyond[0].per_query(2) == 13.5


def test_no_estimate_before_all_others_are_judged() -> None:
    """Early judgments are no random part of a draw."""
    sample = [settled(1, None, 0), settled(1, None, 1)]
    assert coverage_of(sample, top=20, drawn_from={1: 30}, batch_size=20, n_grades=5).beyond[0].estimate is not None
    sample.append(Judged(1, None, None, is_open=True))
    assert coverage_of(sample, top=20, drawn_from={1: 30}, batch_size=20, n_grades=5).beyond[0].estimate is None
    nothing = coverage_of(
        [Judged(1, 1, None, is_open=True)], top=20, drawn_from={1: 30}, batch_size=20, n_grades=5
    ).beyond[0]
    assert (nothing.estimate, nothing.within, nothing.per_query(1)) == (None, None, None)
    assert estimated(0, 0, of=100) is None


@pytest.mark.parametrize(
    ("best", "others", "words"),
    [
        (60, 60, ""),
        (60, 20, "There are only 80 moments to judge, so 20 others instead of 60."),
        (42, 0, "There are only 42 moments to judge, so 42 best instead of 60 and no others."),
    ],
)
def test_a_plan_with_missing_moments_says_so(best: int, others: int, words: str) -> None:
    assert lack_words(moments=best + others, best=best, of_best=60, others=others, of_others=60) == words


def test_no_hit_is_not_certainty() -> None:
    """Of 60 drawn none is relevant: of 10,000 some hundreds may still be."""
    guess = estimated(0, 60, of=10_000)
    assert guess == Estimate(0.0, 0.0, pytest.approx(602, abs=1))


@given(st.integers(1, 400), st.data())
def test_the_interval_holds_its_share_and_is_symmetric(n: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, n))
    low, high = wilson(hits, n)
    assert 0 <= low <= hits / n <= high <= 1
    assert wilson(n - hits, n) == (pytest.approx(1 - high), pytest.approx(1 - low))


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_the_interval_covers_about_95_of_100_draws(share: float) -> None:
    n = 600
    weights = [comb(n, hits) * share**hits * (1 - share) ** (n - hits) for hits in range(n + 1)]
    covered = sum(weight for hits, weight in enumerate(weights) if wilson(hits, n)[0] <= share <= wilson(hits, n)[1])
    assert covered == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize(("n_grades", "highly"), [(2, 1), (3, 1), (5, 2), (10, 3)])
def test_highly_relevant_is_three_quarters_up_the_scale(n_grades: int, highly: int) -> None:
    """From 1 of 1, 2 of 2, 3 of 4 and 7 of 9 on."""
    judged = [settled(1, rank, relevance) for rank, relevance in enumerate(range(n_grades), start=1)]
    band = coverage_of(judged, top=20, drawn_from={}, batch_size=20, n_grades=n_grades).total[0]
    assert (band.counts, band.relevant, band.highly) == ((1,) * n_grades, n_grades - 1, highly)


@pytest.mark.parametrize(("top_grade", "words"), [(1, "1"), (2, "2"), (4, "3 or 4"), (9, "7 to 9")])
def test_highly_relevant_grades_are_named(top_grade: int, words: str) -> None:
    assert grade_range(least_highly(top_grade), top_grade) == words
