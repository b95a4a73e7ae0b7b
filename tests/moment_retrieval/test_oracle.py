"""RELEASED equals the published scorer, every stored value, bit for bit; the authors' nine runs load."""

from typing import Any

import pytest

from moment_retrieval import formats
from moment_retrieval.errors import CorpusNeeded, ScoringError, UnknownQuery
from moment_retrieval.metrics.ndcg_iou import Convention, Measure
from moment_retrieval.metrics.report import Report, evaluate
from moment_retrieval.records import read_corpus
from moment_retrieval.tables import queries_of
from tests.moment_retrieval.shared_data import CORPUS, RUNS, SCORER, judged, needs_shared, oracle, spans

pytestmark = needs_shared

EDGE_CASES = oracle("edge_cases.json") if SCORER.is_dir() else []
RUN_NAMES = ["ReLoCLNet_N40", "XML_N20", "CONQUER_N40", "mutated_ReLoCLNet_N40"]


def released(case: dict[str, Any], ks: list[int], mus: list[float]) -> Report:
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


def test_fuzz_equals_the_published_scorer_and_paper_counts_missed_queries_as_zero() -> None:
    cases = oracle("fuzz.json")
    assert len(cases) == 300
    for case in cases:
        published = measured(case["official"])
        ks, mus = {measure.k for measure in published}, {measure.mu for measure in published}
        assert released(case, sorted(ks), sorted(mus)).mean == published
    run, ground_truth = oracle("pred_CONQUER_N40.json")["queries"], oracle("ground_truth.json")["queries"]
    report = evaluate(spans(run), judged(ground_truth))
    assert len(report.per_query) == 500
    assert set(report.missing) == {"83632", "20825", "11617"}
    assert all(value == 0.0 for query_id in report.missing for value in report.per_query[query_id].values())


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


PATHS = sorted(RUNS.glob("*.val.json.gz"))


def test_the_nine_author_runs_load_but_not_without_the_corpus() -> None:
    corpus = read_corpus(CORPUS)
    assert len(PATHS) == 9
    for path in PATHS:
        run = formats.read_run(path, formats.FileFormat.TVR_RANKING, corpus=corpus, strict=False)
        queries = queries_of(run)
        assert len(queries) == (497 if path.name.startswith("conquer") else 500), path
        assert {len(query.moments) for query in queries} == {40}
        assert {moment.video for query in queries for moment in query.moments} <= set(corpus.durations_s)
    assert dict(formats.read_run(path, corpus=corpus, strict=False)) == dict(run)
    position = r"xml_n1\.val\.json\.gz: line 1: entry 1: query 54251: prediction 1: video 20787"
    with pytest.raises(CorpusNeeded, match=position):
        formats.read_run(RUNS / "xml_n1.val.json.gz")


@pytest.mark.parametrize("name", ["XML_N20", "ReLoCLNet_N40", "CONQUER_N40"])
def test_the_rows_are_those_the_oracle_was_made_from(name: str) -> None:
    model, size = name.split("_")
    path = RUNS / f"{model.lower()}_{size.lower()}.val.json.gz"
    videos, rows = oracle("ground_truth.json")["videos"], oracle(f"pred_{name}.json")["queries"]
    for query_id, moments in formats.read_run(path, corpus=read_corpus(CORPUS), strict=False).items():
        correct = [(videos[video], start, end) for video, start, end in rows[query_id]]
        assert [(moment.video, moment.start_s, moment.end_s) for moment in moments] == correct
