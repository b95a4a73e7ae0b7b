"""NDCG@K,IoU>=mu by hand, on random input, and against an exact second implementation."""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moment_retrieval.errors import EmptyFile, InvalidCutoff, InvalidRecord
from moment_retrieval.metrics.iou import span_iou
from moment_retrieval.metrics.ndcg_iou import Convention, Empty, Gain, Measure, ndcg_iou
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.records import JudgedMoment, Span

FIGURE_JUDGED = [JudgedMoment("a", 0, 35, 4), JudgedMoment("c", 0, 10, 2), JudgedMoment("a", 60, 100, 2)]
FIGURE_JUDGED += [JudgedMoment("b", 0, 10, 2)]  # found at .35, not, at .40 and at .50
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


def test_nothing_is_the_right_answer_where_nothing_is_relevant_if_so_chosen() -> None:
    """Of 1 nothing is relevant and 2 is answered; of the three whose answer is nothing, 3 holds a relevant moment."""
    nothing, one = [JudgedMoment("a", 0, 9, 0)], [JudgedMoment("a", 0, 9, 1)]
    judged = {"1": nothing, "2": nothing, "3": one, "4": []}
    run = {"1": [], "2": [Span("a", 0, 9)], "3": []}
    for empty, scores in ((Empty.ZERO, [0, 0, 0, 0]), (Empty.ONE, [1, 0, 0, 1])):
        assert evaluate(run, judged, empty=empty).values[:, 0].tolist() == scores
    released = evaluate(run, judged, convention=Convention.RELEASED, empty=Empty.ONE)
    assert released.values[:, 0].tolist() == [1, 0, 0]  # over the queries of the run


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


@pytest.mark.parametrize(
    ("mu", "judged", "retrieved", "paper", "released"),
    [
        (0.3, (3.0, 13.0), (3.0, 6.0), 1, 0),
        (0.5, (3.0, 13.0), (3.0, 8.0), 1, 0),
        (0.7, (3.0, 13.0), (3.0, 10.0), 1, 0),
        (0.3, (1.1, 4.1), (1.1, 2.0), 1, 0),
        (0.7, (0.2, 3.2), (0.2, 2.3), 1, 0),  # 0.6999999999999998 in binary
        (1.0, (0.1, 0.3), (0.1, 0.3), 1, 0),
        (0.3, (0.1, 1.1), (0.1, 0.4), 1, 1),  # 0.30000000000000004, as the published scorer
        (0.3, (3.0, 13.0), (3.0, 5.99), 0, 0),  # a hundredth of a second below
    ],
)
def test_an_iou_of_exactly_mu_counts_in_the_paper_only(
    mu: float, judged: tuple[float, float], retrieved: tuple[float, float], paper: float, released: float
) -> None:
    run, rows = [Span("a", *retrieved)], [JudgedMoment("a", *judged, 4)]
    assert ndcg_iou(run, rows, k=1, mu=mu, convention=Convention.PAPER) == paper
    assert ndcg_iou(run, rows, k=1, mu=mu, convention=Convention.RELEASED) == released


def test_equal_overlaps_empty_runs_and_odd_values() -> None:
    span, low, high = Span("a", 0.0, 1.0), JudgedMoment("a", 0.1, 0.4, 1), JudgedMoment("a", 0.3, 0.6, 4)
    assert span_iou(span, low) > span_iou(span, high)  # both 0.3 on paper
    assert ndcg_iou([span], [low, high], k=1, mu=0.2) == 1.0
    assert ndcg_iou([span], [high, low], k=1, mu=0.2) == 1.0
    assert ndcg_iou([span], [high, low], k=1, mu=0.2, convention=Convention.RELEASED) == pytest.approx(1 / 15)
    judged = {"1": [JudgedMoment("a", 0, 1, 4)]}
    assert set(evaluate({}, judged).mean.values()) == {0.0}
    with pytest.raises(EmptyFile):
        evaluate({}, judged, convention=Convention.RELEASED)
    with pytest.raises(EmptyFile):
        evaluate({}, {})
    with pytest.raises(InvalidRecord, match="times must be finite"):
        Span("a", 0, math.nan)
    for grade in (9.5, math.nan):
        with pytest.raises(InvalidRecord, match="relevance must be from 0 to 9"):
            JudgedMoment("a", 0, 1, grade)


@pytest.mark.parametrize(("k", "mu"), [(0, 0.5), (-1, 0.5), (True, 0.5), (5, 0.0), (5, 1.01), (5, math.nan)])
def test_a_cutoff_out_of_range_is_refused(k: int, mu: float) -> None:
    with pytest.raises(InvalidCutoff):
        ndcg_iou([], [], k=k, mu=mu)
    with pytest.raises(InvalidCutoff, match="no cutoff k or no IoU threshold mu"):
        evaluate({}, {"1": []}, ks=[])


@pytest.mark.parametrize("convention", Convention)
def test_a_cutoff_beyond_every_list_costs_nothing(convention: Convention) -> None:
    report = evaluate({"1": FIGURE_RUN}, {"1": FIGURE_JUDGED}, ks=[4, 10**12], mus=[0.3], convention=convention)
    assert report.mean[Measure(10**12, 0.3)] == report.mean[Measure(4, 0.3)] > 0.7


hundredths = st.integers(0, 600).map(lambda number: number / 100)
tenths = st.integers(0, 30).map(lambda number: number / 10)  # coarse: overlaps of exactly mu, and ties, are common
videos = st.sampled_from("abc")
relevances = st.integers(0, 4)


@st.composite
def judged_rows(draw: st.DrawFn) -> JudgedMoment:
    start, end = sorted(
        draw(st.one_of(*(st.lists(t, min_size=2, max_size=2, unique=True) for t in (hundredths, tenths))))
    )
    return JudgedMoment(draw(videos), start, end, draw(relevances))


retrieved = st.builds(Span, videos, st.one_of(hundredths, tenths), st.one_of(hundredths, tenths))  # some are inverted
runs = st.lists(retrieved, max_size=12)
judgments = st.lists(judged_rows(), max_size=12)
ks = st.integers(1, 15)
mus = st.sampled_from([0.1, 0.3, 0.5, 0.7, 1.0])
gains = st.sampled_from(Gain)
cutoffs = st.fixed_dictionaries({"k": ks, "mu": mus, "convention": st.sampled_from(Convention)})
Options = dict[str, Any]


def exact(number: float) -> Fraction:
    """The decimal number that was meant, not its neighbour in binary."""
    return Fraction(str(number))


def exact_iou(one: Span, other: Span) -> Fraction:
    shared = max(Fraction(0), min(exact(one.end_s), exact(other.end_s)) - max(exact(one.start_s), exact(other.start_s)))
    union = exact(one.end_s) - exact(one.start_s) + exact(other.end_s) - exact(other.start_s) - shared
    return shared / union if union > 0 else Fraction(0)


def exact_earned(run: list[Span], judged: list[JudgedMoment], mu: float) -> list[float]:
    """The PAPER convention as its sentence says it, in rational arithmetic."""
    unclaimed = sorted(judged, key=lambda row: -row.relevance)
    earned: list[float] = []
    for span in run:
        overlapping = [(exact_iou(span, row), -index) for index, row in enumerate(unclaimed) if row.video == span.video]
        iou, index = max(overlapping, default=(Fraction(0), 0))
        earned.append(unclaimed.pop(-index).relevance if iou > 0 and iou >= exact(mu) else 0)
    return earned


def dcg(relevances: list[float]) -> float:
    return math.fsum((2**relevance - 1) / math.log2(rank + 2) for rank, relevance in enumerate(relevances))


@given(runs, judgments, ks, mus)
def test_paper_equals_exact_arithmetic(run: list[Span], judged: list[JudgedMoment], k: int, mu: float) -> None:
    ideal = dcg(sorted((row.relevance for row in judged), reverse=True)[:k])
    correct = dcg(exact_earned(run, judged, mu)[:k]) / ideal if ideal else 0.0
    assert ndcg_iou(run, judged, k=k, mu=mu) == pytest.approx(correct, abs=1e-12)


@given(runs, judgments, st.lists(ks, min_size=1, max_size=4), st.lists(mus, min_size=1, max_size=3), cutoffs, gains)
def test_all_at_once_equals_one_by_one(
    run: list[Span], judged: list[JudgedMoment], ks: list[int], mus: list[float], how: Options, gain: Gain
) -> None:
    options = {"convention": how["convention"], "gain": gain}
    values = evaluate({"1": run}, {"1": judged}, ks=ks, mus=mus, **options).per_query["1"]
    assert values == {Measure(k, mu): ndcg_iou(run, judged, k=k, mu=mu, **options) for k in ks for mu in mus}
