"""NDCG@K,IoU>=mu on random input: what must hold for every run, and an exact second implementation."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moment_retrieval.metrics.ndcg_iou import Convention, Gain, Measure, ndcg_iou
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.records import JudgedMoment, Span

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
conventions = st.sampled_from(Convention)
gains = st.sampled_from(Gain)


def exact(number: float) -> Fraction:
    """The decimal number that was meant, not its neighbour in binary."""
    return Fraction(str(number))


def exact_iou(one: Span, other: Span) -> Fraction:
    """IoU in rational arithmetic."""
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


@given(runs, judgments, ks, mus, conventions, gains)
def test_scores_lie_between_zero_and_one(
    run: list[Span], judged: list[JudgedMoment], k: int, mu: float, convention: Convention, gain: Gain
) -> None:
    assert 0.0 <= ndcg_iou(run, judged, k=k, mu=mu, convention=convention, gain=gain) <= 1.0


@given(judgments.filter(lambda rows: any(row.relevance for row in rows)), ks, gains)
def test_the_judged_moments_in_ideal_order_score_one(judged: list[JudgedMoment], k: int, gain: Gain) -> None:
    run = sorted(judged, key=lambda row: -row.relevance)
    assert ndcg_iou(run, judged, k=k, mu=1.0, gain=gain) == 1.0
    assert ndcg_iou(run, judged, k=k, mu=0.7, convention=Convention.RELEASED, gain=gain) == 1.0


@given(runs, judgments, ks, mus, conventions)
def test_input_is_not_changed(
    run: list[Span], judged: list[JudgedMoment], k: int, mu: float, convention: Convention
) -> None:
    run_before, judged_before = list(run), list(judged)
    evaluate({"1": run}, {"1": judged}, ks=[k], mus=[mu], convention=convention)
    assert (run, judged) == (run_before, judged_before)


@given(runs, runs, judgments, ks, mus, conventions)
def test_what_follows_rank_k_does_not_matter(
    run: list[Span], tail: list[Span], judged: list[JudgedMoment], k: int, mu: float, convention: Convention
) -> None:
    full = (run + [Span("elsewhere", 0, 1)] * k)[:k]
    assert ndcg_iou(full + tail, judged, k=k, mu=mu, convention=convention) == ndcg_iou(
        full, judged, k=k, mu=mu, convention=convention
    )


@given(runs, st.integers(1, 5), judgments, ks, mus, conventions)
def test_an_irrelevant_tail_does_not_matter_at_any_cutoff(
    run: list[Span], length: int, judged: list[JudgedMoment], k: int, mu: float, convention: Convention
) -> None:
    longer = [*run, *[Span("elsewhere", 0, 1)] * length]
    assert ndcg_iou(longer, judged, k=k, mu=mu, convention=convention) == ndcg_iou(
        run, judged, k=k, mu=mu, convention=convention
    )


@given(runs, judgments, ks, mus, conventions)
def test_names_do_not_matter(
    run: list[Span], judged: list[JudgedMoment], k: int, mu: float, convention: Convention
) -> None:
    name = {"a": "z", "b": "b of another show", "c": "0"}
    run_renamed = [Span(name[span.video], span.start_s, span.end_s) for span in run]
    judged_renamed = [JudgedMoment(name[row.video], row.start_s, row.end_s, row.relevance) for row in judged]
    plain = evaluate({"1": run}, {"1": judged}, ks=[k], mus=[mu], convention=convention)
    renamed = evaluate({"query": run_renamed}, {"query": judged_renamed}, ks=[k], mus=[mu], convention=convention)
    assert plain.mean == renamed.mean


@given(runs, judgments, st.lists(ks, min_size=1, max_size=4), st.lists(mus, min_size=1, max_size=3), conventions, gains)
def test_all_at_once_equals_one_by_one(
    run: list[Span], judged: list[JudgedMoment], ks: list[int], mus: list[float], convention: Convention, gain: Gain
) -> None:
    report = evaluate({"1": run}, {"1": judged}, ks=ks, mus=mus, convention=convention, gain=gain)
    assert report.per_query["1"] == {
        Measure(k, mu): ndcg_iou(run, judged, k=k, mu=mu, convention=convention, gain=gain) for k in ks for mu in mus
    }
