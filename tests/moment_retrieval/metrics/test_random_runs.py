"""Recall, suppression, average precision and the share without relevance equal plain loops on random runs."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moment_retrieval.metrics.highlights import MUS, highlights
from moment_retrieval.metrics.iou import span_iou, suppressed
from moment_retrieval.metrics.leaderboard import unjudged_rates
from moment_retrieval.metrics.ndcg_iou import Convention, Measure
from moment_retrieval.metrics.recall import Task, recall
from moment_retrieval.records import JudgedMoment, ScoredMoment, Span
from moment_retrieval.tables import JudgedTable, RunTable

times = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted)
videos = st.sampled_from("ab")
scored = st.builds(lambda video, span, score: ScoredMoment(video, *span, score), videos, times, st.integers(0, 9))
judged = st.builds(lambda video, span, grade: JudgedMoment(video, *span, grade), videos, times, st.integers(0, 1))
runs = st.lists(scored, max_size=14)
truths = st.lists(judged, max_size=4)


def hull(one: Span, other: Span, number: type[np.floating] = np.float32) -> float:
    """Intersection over hull, computed in numbers of this type."""
    a, b, c, d = (number(time) for time in (one.start_s, one.end_s, other.start_s, other.end_s))
    length = max(b, d) - min(a, c)
    return float(max(number(0), min(b, d) - max(a, c)) / length) if length else 0.0


def is_retrieved(run: Sequence[Span], truth: Sequence[JudgedMoment], task: Task, k: int, mu: float) -> bool:
    right = [row for row in truth if row.relevance > 0]
    if task is Task.SVMR:
        run = [span for span in run if any(span.video == row.video for row in right)]
    pairs = ((span, row) for span in run[:k] for row in right if span.video == row.video)
    return any(task is Task.VR or hull(span, row) >= np.float32(mu) for span, row in pairs)


@given(runs, truths, st.sampled_from(Task))
def test_recall_equals_plain_loops(run: list[ScoredMoment], truth: list[JudgedMoment], task: Task) -> None:
    scores = recall(RunTable.from_moments({"1": run}), JudgedTable.from_moments({"1": truth, "2": truth}), task=task)
    for k, mu in scores.measures:
        assert scores.per_query["1"][k, mu] == is_retrieved(run, truth, task, k, mu)
        assert scores.per_query["2"][k, mu] == 0


@given(runs, st.sampled_from([0.3, 0.5, 1.0]))
@example([ScoredMoment("a", 0, 3, 0), ScoredMoment("a", 0, 10, 0)], 0.3)
def test_suppression_equals_plain_loops(run: list[ScoredMoment], threshold: float) -> None:
    result: list[ScoredMoment] = []
    for moment in sorted(run, key=lambda moment: -moment.score):
        if not any(moment.video == better.video and hull(moment, better, np.float64) > threshold for better in result):
            result.append(moment)
    table = suppressed(RunTable.from_moments({"0": [], "1": run, "2": run}), threshold)
    assert dict(table) == {"0": (), "1": tuple(result), "2": tuple(result)}


def precision(run: Sequence[ScoredMoment], truth: Sequence[JudgedMoment], mu: float) -> float:
    """Interpolated average precision as its definition says."""
    rest = [row for row in truth if row.relevance > 0]
    count, right = len(rest), []
    for moment in sorted(run[:10], key=lambda moment: -moment.score):
        overlaps = [union(moment, row) if row.video == moment.video else 0.0 for row in rest]
        best = max(overlaps, default=0.0)
        right.append(best >= mu)
        if best >= mu:
            rest.pop(max(index for index, overlap in enumerate(overlaps) if overlap == best))  # the last, as published
    shares = [sum(right[:rank]) / rank for rank in range(1, len(right) + 1)]
    return sum(max(shares[position:]) for position, hit in enumerate(right) if hit) / count


def union(one: Span, other: Span) -> float:
    shared = max(0.0, min(one.end_s, other.end_s) - max(one.start_s, other.start_s))
    both = (one.end_s - one.start_s) + (other.end_s - other.start_s) - shared
    return shared / both if both else 0.0


@given(runs, truths.filter(lambda rows: any(row.relevance for row in rows)))
def test_average_precision_equals_plain_loops(run: list[ScoredMoment], truth: list[JudgedMoment]) -> None:
    mean = highlights(RunTable.from_moments({"1": run}), JudgedTable.from_moments({"1": truth})).mean
    for mu in MUS:
        assert mean[f"MR-full-mAP@{mu}"] == pytest.approx(precision(run, truth, mu), abs=1e-12)


spans = st.builds(lambda v, s, n: (v, s, s + n), st.sampled_from("ab"), st.integers(0, 8), st.integers(0, 6))
span_runs = st.dictionaries(st.sampled_from(["1", "2", "3"]), st.lists(spans, max_size=6), max_size=3)


def rate(run: dict[str, list[Span]], judged: dict[str, list[JudgedMoment]], k: int, mu: float, least: float) -> float:
    looked = [
        any(one.video == other.video and span_iou(one, other) >= least for other in judged[query])
        for query, ranked in run.items()
        for one in ranked[:k]
    ]
    return 1 - sum(looked) / len(looked) if looked else float("nan")


@given(span_runs, st.fixed_dictionaries({name: st.lists(spans, max_size=5) for name in "123"}))
def test_unjudged_rates(
    retrieved: dict[str, list[tuple[str, int, int]]], truth: dict[str, list[tuple[str, int, int]]]
) -> None:
    run = {name: [Span(*span) for span in rows] for name, rows in retrieved.items()}
    judged = {name: [JudgedMoment(*span, 0) for span in rows] for name, rows in truth.items()}
    measures = [Measure(k, mu) for k in (1, 3, 9) for mu in (0.3, 0.7)]
    for convention in Convention:
        rates = unjudged_rates(
            RunTable.from_moments(run), JudgedTable.from_moments(judged), measures, convention=convention
        )
        plain_rates = [rate(run, judged, k, mu, convention.least(mu)) for k, mu in measures]
        assert rates == pytest.approx(plain_rates, nan_ok=True)
