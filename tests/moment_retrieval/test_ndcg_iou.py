"""NDCG@K,IoU>=mu by hand, on cases small enough to do on paper."""

import math

import pytest

from moment_retrieval.errors import EmptyFile, InvalidCutoff, InvalidRecord
from moment_retrieval.metrics.iou import span_iou
from moment_retrieval.metrics.ndcg_iou import Convention, Gain, Measure, ndcg_iou
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.records import JudgedMoment, Span

FIGURE_JUDGED = [
    JudgedMoment("a", 0, 35, 4),  # g1: 0.35 of p1 and p2
    JudgedMoment("c", 0, 10, 2),  # g2: not found
    JudgedMoment("a", 60, 100, 2),  # g3: 0.40 of p1 and p2
    JudgedMoment("b", 0, 10, 2),  # g4: 0.50 of p3
]
FIGURE_RUN = [Span("a", 0, 100), Span("a", 0, 100), Span("b", 0, 5)]


@pytest.mark.parametrize(
    ("one", "other", "expected_iou"),
    [
        ((0, 10), (5, 15), 1 / 3),
        ((0, 10), (0, 10), 1.0),
        ((0, 10), (2, 4), 0.2),
        ((0, 10), (10, 20), 0.0),  # they touch
        ((5, 5), (0, 10), 0.0),  # no length
        ((5, 5), (5, 5), 0.0),
        ((10, 0), (0, 10), 0.0),  # inverted
    ],
)
def test_iou_by_hand(one: tuple[float, float], other: tuple[float, float], expected_iou: float) -> None:
    assert span_iou(Span("a", *one), Span("a", *other)) == expected_iou
    assert span_iou(Span("a", *other), Span("a", *one)) == expected_iou


@pytest.mark.parametrize(
    ("gain", "by_hand", "printed"),
    [
        (Gain.EXPONENTIAL, (3 + 15 / math.log2(3) + 3 / 2) / (15 + 3 / math.log2(3) + 3 / 2), 0.7592),
        (Gain.LINEAR, (2 + 4 / math.log2(3) + 2 / 2) / (4 + 2 / math.log2(3) + 2 / 2), 0.8821),
    ],
)
@pytest.mark.parametrize("convention", Convention)
def test_the_figure_of_the_paper(convention: Convention, gain: Gain, by_hand: float, printed: float) -> None:
    score = ndcg_iou(FIGURE_RUN, FIGURE_JUDGED, k=3, mu=0.3, convention=convention, gain=gain)
    assert score == pytest.approx(by_hand, abs=1e-15)
    assert round(score, 4) == printed


def test_one_moment_found_at_rank_two() -> None:
    run = [Span("b", 0, 10), Span("a", 0, 10)]
    assert ndcg_iou(run, [JudgedMoment("a", 0, 10, 3)], k=10, mu=0.5) == pytest.approx(1 / math.log2(3))
    assert ndcg_iou(run, [JudgedMoment("a", 0, 10, 3)], k=1, mu=0.5) == 0.0


def test_a_row_of_relevance_zero_is_claimed() -> None:
    judged = [JudgedMoment("a", 0, 10, 0), JudgedMoment("a", 0, 8, 4)]
    run = [Span("a", 0, 10), Span("a", 0, 10)]
    assert ndcg_iou(run[:1], judged, k=2, mu=0.5) == 0.0
    assert ndcg_iou(run, judged, k=2, mu=0.5) == pytest.approx(1 / math.log2(3))


@pytest.mark.parametrize(
    ("mu", "judged", "retrieved"),
    [
        (0.3, (3.0, 13.0), (3.0, 6.0)),
        (0.5, (3.0, 13.0), (3.0, 8.0)),
        (0.7, (3.0, 13.0), (3.0, 10.0)),
        (0.3, (1.1, 4.1), (1.1, 2.0)),
        (0.7, (0.2, 3.2), (0.2, 2.3)),  # 0.6999999999999998 in binary
        (1.0, (0.1, 0.3), (0.1, 0.3)),
    ],
)
def test_an_iou_of_exactly_mu_counts_in_the_paper_only(
    mu: float, judged: tuple[float, float], retrieved: tuple[float, float]
) -> None:
    run, rows = [Span("a", *retrieved)], [JudgedMoment("a", *judged, 4)]
    assert ndcg_iou(run, rows, k=1, mu=mu, convention=Convention.PAPER) == 1.0
    assert ndcg_iou(run, rows, k=1, mu=mu, convention=Convention.RELEASED) == 0.0


def test_released_lets_an_iou_pass_that_only_rounding_lifts_above_mu() -> None:
    run, rows = [Span("a", 0.1, 0.4)], [JudgedMoment("a", 0.1, 1.1, 4)]  # 0.30000000000000004, as the published scorer
    assert ndcg_iou(run, rows, k=1, mu=0.3, convention=Convention.RELEASED) == 1.0


def test_an_iou_a_hundredth_of_a_second_below_mu_does_not_count() -> None:
    run, rows = [Span("a", 3.0, 5.99)], [JudgedMoment("a", 3.0, 13.0, 4)]
    assert ndcg_iou(run, rows, k=1, mu=0.3) == 0.0


def test_of_equal_overlaps_the_more_relevant_is_claimed_whatever_the_rounding() -> None:
    span, low, high = Span("a", 0.0, 1.0), JudgedMoment("a", 0.1, 0.4, 1), JudgedMoment("a", 0.3, 0.6, 4)
    assert span_iou(span, low) > span_iou(span, high)  # both 0.3 on paper
    assert ndcg_iou([span], [low, high], k=1, mu=0.2) == 1.0
    assert ndcg_iou([span], [high, low], k=1, mu=0.2) == 1.0
    assert ndcg_iou([span], [high, low], k=1, mu=0.2, convention=Convention.RELEASED) == pytest.approx(1 / 15)


@pytest.mark.parametrize("convention", Convention)
def test_nothing_to_earn_or_nothing_retrieved_scores_zero(convention: Convention) -> None:
    assert ndcg_iou([], [JudgedMoment("a", 0, 1, 4)], k=5, mu=0.5, convention=convention) == 0.0
    assert ndcg_iou([Span("a", 0, 1)], [], k=5, mu=0.5, convention=convention) == 0.0
    assert ndcg_iou([Span("a", 0, 1)], [JudgedMoment("a", 0, 1, 0)], k=5, mu=0.5, convention=convention) == 0.0


@pytest.mark.parametrize(("k", "mu"), [(0, 0.5), (-1, 0.5), (True, 0.5), (5, 0.0), (5, 1.01), (5, math.nan)])
def test_a_cutoff_out_of_range_is_refused(k: int, mu: float) -> None:
    with pytest.raises(InvalidCutoff):
        ndcg_iou([], [], k=k, mu=mu)


def test_a_report_needs_a_cutoff_and_a_threshold() -> None:
    with pytest.raises(InvalidCutoff, match="no cutoff k or no IoU threshold mu"):
        evaluate({}, {"1": []}, ks=[])


def test_values_that_are_no_times_or_grades_are_refused() -> None:
    with pytest.raises(InvalidRecord, match="times must be finite"):
        Span("a", 0, math.nan)
    with pytest.raises(InvalidRecord, match="relevance must be from 0 to 4"):
        JudgedMoment("a", 0, 1, 5)
    with pytest.raises(InvalidRecord, match="relevance must be from 0 to 4"):
        JudgedMoment("a", 0, 1, math.nan)


def test_the_conventions_average_over_different_queries() -> None:
    judged = {"1": [JudgedMoment("a", 0, 1, 4)], "2": [JudgedMoment("b", 0, 1, 4)]}
    run = {"1": [Span("a", 0, 1)]}
    paper = evaluate(run, judged, ks=[1], mus=[0.5])
    released = evaluate(run, judged, ks=[1], mus=[0.5], convention=Convention.RELEASED)
    measure = Measure(1, 0.5)
    assert (paper.mean[measure], len(paper.per_query), paper.missing) == (0.5, 2, ("2",))
    assert (released.mean[measure], len(released.per_query), released.missing) == (1.0, 1, ("2",))


def test_an_empty_run_scores_zero_on_paper_and_has_no_mean_as_released() -> None:
    judged = {"1": [JudgedMoment("a", 0, 1, 4)]}
    assert set(evaluate({}, judged).mean.values()) == {0.0}
    with pytest.raises(EmptyFile):
        evaluate({}, judged, convention=Convention.RELEASED)
    with pytest.raises(EmptyFile):
        evaluate({}, {})


@pytest.mark.parametrize("convention", Convention)
def test_a_cutoff_beyond_every_list_costs_nothing(convention: Convention) -> None:
    report = evaluate({"1": FIGURE_RUN}, {"1": FIGURE_JUDGED}, ks=[4, 10**12], mus=[0.3], convention=convention)
    assert report.mean[Measure(10**12, 0.3)] == report.mean[Measure(4, 0.3)] > 0.7


def test_a_measure_prints_as_the_field_writes_it() -> None:
    assert str(Measure(20, 0.5)) == "NDCG@20,IoU>=0.5"
