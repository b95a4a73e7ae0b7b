"""RELEASED equals the published scorer: every stored value, and bit for bit."""

from typing import Any

import pytest

from moment_retrieval.errors import ScoringError, UnknownQuery
from moment_retrieval.metrics.ndcg_iou import Convention, Measure
from moment_retrieval.metrics.report import Report, evaluate
from tests.moment_retrieval.shared_data import SCORER, judged, needs_shared, oracle, spans

pytestmark = needs_shared

EDGE_CASES = oracle("edge_cases.json") if SCORER.is_dir() else []
RUN_NAMES = ["ReLoCLNet_N40", "XML_N20", "CONQUER_N40", "mutated_ReLoCLNet_N40"]


def released(case: dict[str, Any], ks: list[int], mus: list[float]) -> Report:
    """The case scored in the RELEASED convention."""
    return evaluate(spans(case["pred"]), judged(case["gt"]), ks=ks, mus=mus, convention=Convention.RELEASED)


def measured(values: dict[str, dict[str, float]]) -> dict[Measure, float]:
    """The oracle's values {k: {mu: value}} by measure."""
    return {Measure(int(k), float(mu)): value for k, by_mu in values.items() for mu, value in by_mu.items()}


def per_query(values: dict[str, dict[str, dict[str, float]]]) -> dict[str, dict[Measure, float]]:
    """The oracle's values {query: {k: {mu: value}}} by query and measure."""
    return {query_id: measured(by_k) for query_id, by_k in values.items()}


@pytest.mark.parametrize(
    "case", [case for case in EDGE_CASES if case["official_error"] is None], ids=lambda c: c["name"]
)
def test_edge_case_equals_the_published_scorer(case: dict[str, Any]) -> None:
    report = released(case, case["ks"], case["mus"])
    assert report.mean == measured(case["official"])
    assert report.per_query == per_query(case["official_per_query"])


@pytest.mark.parametrize("case", [case for case in EDGE_CASES if case["official_error"]], ids=lambda c: c["name"])
@pytest.mark.parametrize("convention", Convention)
def test_what_the_published_scorer_refuses_raises_a_named_error(case: dict[str, Any], convention: Convention) -> None:
    with pytest.raises(UnknownQuery, match="1 of the run's 2 queries are not in the ground truth: 9") as raised:
        evaluate(spans(case["pred"]), judged(case["gt"]), convention=convention)
    assert isinstance(raised.value, ScoringError)


def test_fuzz_equals_the_published_scorer() -> None:
    cases = oracle("fuzz.json")
    assert len(cases) == 300
    for case in cases:
        published = measured(case["official"])
        ks, mus = {measure.k for measure in published}, {measure.mu for measure in published}
        assert released(case, sorted(ks), sorted(mus)).mean == published


@pytest.mark.parametrize("name", RUN_NAMES)
def test_real_run_equals_the_published_scorer(name: str) -> None:
    published = oracle("expected.json")[name]
    run, ground_truth = oracle(f"pred_{name}.json")["queries"], oracle("ground_truth.json")["queries"]
    report = released({"pred": run, "gt": ground_truth}, [10, 20, 40], [0.3, 0.5, 0.7])
    measures = [Measure(k, mu) for k, mu in published["per_query_columns"]]
    assert len(report.per_query) == published["n_queries_averaged"]
    assert report.mean == measured(published["mean"])
    assert report.per_query == {
        query_id: dict(zip(measures, values, strict=True)) for query_id, values in published["per_query"].items()
    }


def test_paper_counts_the_queries_a_run_misses_as_zero() -> None:
    run, ground_truth = oracle("pred_CONQUER_N40.json")["queries"], oracle("ground_truth.json")["queries"]
    report = evaluate(spans(run), judged(ground_truth))
    assert len(report.per_query) == 500
    assert set(report.missing) == {"83632", "20825", "11617"}
    assert all(value == 0.0 for query_id in report.missing for value in report.per_query[query_id].values())
