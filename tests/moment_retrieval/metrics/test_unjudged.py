"""How much of a run has no relevance, by hand and against a plain count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moment_retrieval.metrics.iou import span_iou
from moment_retrieval.metrics.leaderboard import unjudged_rates
from moment_retrieval.metrics.ndcg_iou import Convention, Measure
from moment_retrieval.records import JudgedMoment, Span
from moment_retrieval.tables import JudgedTable, RunTable

spans = st.builds(lambda v, s, n: (v, s, s + n), st.sampled_from("ab"), st.integers(0, 8), st.integers(0, 6))
runs = st.dictionaries(st.sampled_from(["1", "2", "3"]), st.lists(spans, max_size=6), max_size=3)


def rate(run: dict[str, list[Span]], judged: dict[str, list[JudgedMoment]], k: int, mu: float, least: float) -> float:
    """Prediction by prediction."""
    looked = [
        any(one.video == other.video and span_iou(one, other) >= least for other in judged[query])
        for query, ranked in run.items()
        for one in ranked[:k]
    ]
    return 1 - sum(looked) / len(looked) if looked else float("nan")


@given(runs, st.fixed_dictionaries({name: st.lists(spans, max_size=5) for name in "123"}))
def test_it_is_the_plain_count(
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


def test_a_moment_counts_as_judged_for_every_prediction_that_reaches_it() -> None:
    run = RunTable.from_moments({"1": [Span("a", 0, 10), Span("a", 0, 9), Span("a", 50, 60), Span("b", 0, 10)]})
    judged = JudgedTable.from_moments({"1": [JudgedMoment("a", 0, 10, 0)], "2": [JudgedMoment("a", 0, 1, 4)]})
    assert unjudged_rates(run, judged, [Measure(2, 0.5), Measure(10, 0.5)]).tolist() == [0.0, 0.5]


def test_nothing_retrieved_has_no_rate() -> None:
    judged = JudgedTable.from_moments({"1": [JudgedMoment("a", 0, 10, 0)]})
    assert np.isnan(unjudged_rates(RunTable.from_moments({"1": []}), judged, [Measure(2, 0.5)])).all()
