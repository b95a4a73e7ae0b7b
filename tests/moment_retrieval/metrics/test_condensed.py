"""Condensed lists: NDCG@K,IoU>=mu without the predictions about which nothing is known."""

import math

import pytest
from hypothesis import given

from moment_retrieval.metrics.ndcg_iou import Convention, Empty, Measure
from moment_retrieval.metrics.plain import plain
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.records import JudgedMoment, Span
from moment_retrieval.tables import JudgedTable, RunTable
from tests.moment_retrieval.test_naive_scorer import judged_rows, judgments, spans

JUDGED = {"1": [JudgedMoment("a", 0, 10, 4), JudgedMoment("a", 20, 30, 0), JudgedMoment("b", 0, 10, 2)]}


def test_by_hand() -> None:
    """Rank 1 is of a video where nothing is judged, rank 3 overlaps a judged moment by 0.4 alone."""
    run = {"1": [Span("c", 0, 10), Span("a", 20, 30), Span("a", 0, 4), Span("b", 0, 10)]}
    ideal = 15 + 3 / math.log2(3)
    report = evaluate(run, JUDGED, ks=[10], mus=[0.3, 0.5], condensed=True)
    assert report.mean[Measure(10, 0.3)] == pytest.approx((15 / math.log2(3) + 3 / math.log2(4)) / ideal)
    assert report.mean[Measure(10, 0.5)] == pytest.approx((3 / math.log2(3)) / ideal)
    whole = evaluate(run, JUDGED, ks=[10], mus=[0.5])
    assert whole.mean[Measure(10, 0.5)] == pytest.approx((3 / math.log2(5)) / ideal)


@given(judgments)
def test_a_run_of_judged_moments_alone_scores_as_it_does(rows: dict[str, list[tuple[str, float, float, int]]]) -> None:
    judged = {query: judged_rows(of_query) for query, of_query in rows.items()}
    run = {query: spans(of_query) for query, of_query in rows.items()}
    exact = {
        query: [span for span, one in zip(run[query], judged[query], strict=True) if one.end_s > one.start_s]
        for query in run
    }
    forward = {
        query: [Span(span.video, min(span.start_s, span.end_s), max(span.start_s, span.end_s)) for span in of_query]
        for query, of_query in exact.items()
    }
    for convention in Convention:
        whole = evaluate(forward, judged, convention=convention)
        condensed = evaluate(forward, judged, convention=convention, condensed=True)
        assert (condensed.values == whole.values).all()


def test_as_trec_eval_counts_judged_documents_only() -> None:
    """With exact spans a moment is a document, and ir_measures knows the measure as nDCG(judged_only=True)."""
    run = {"1": [Span("c", 0, 10), Span("b", 0, 10), Span("c", 5, 9), Span("a", 0, 10), Span("a", 20, 30)]}
    ours = evaluate(run, JUDGED, ks=[3], mus=[1.0], condensed=True).values[0, 0]
    tables = RunTable.from_moments(run), JudgedTable.from_moments(JUDGED)
    (theirs,) = plain(*tables, measures=["nDCG(judged_only=True, gains={0:0,2:3,4:15})@3"]).values[0]
    assert ours == pytest.approx(theirs, abs=1e-9)


def test_an_emptied_list_is_no_empty_answer() -> None:
    judged = {"1": [JudgedMoment("a", 0, 10, 0)], "2": [JudgedMoment("a", 0, 10, 0)]}
    report = evaluate({"1": [Span("c", 0, 1)], "2": []}, judged, ks=[10], mus=[0.5], empty=Empty.ONE, condensed=True)
    assert report.values[:, 0].tolist() == [0.0, 1.0]
