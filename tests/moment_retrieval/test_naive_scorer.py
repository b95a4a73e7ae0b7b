"""The library equals the plain re-statement of the measure on random runs, odd ones above all."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import scorer
from moment_retrieval.metrics import matching
from moment_retrieval.metrics.ndcg_iou import Convention, Gain, Measure
from moment_retrieval.metrics.report import Report, evaluate
from moment_retrieval.records import JudgedMoment, Span

KS, MUS = (1, 3, 10), (0.3, 0.5, 0.7)
Rows = list[tuple[str, float, float, int]]
times = st.integers(0, 12).map(lambda number: number / 2)  # coarse: equal IoUs, overlaps of exactly mu, no length
rows = st.lists(st.tuples(st.sampled_from("abc"), times, times, st.integers(0, 4)), max_size=8)
query_ids = st.sampled_from(["1", "2", "3", "4", "5"])
judgments = st.dictionaries(query_ids, rows, min_size=1, max_size=5)


def judged_rows(moment_rows: Rows) -> list[JudgedMoment]:
    """Judged moments do not end before they start; they may have no length, and repeat."""
    return [JudgedMoment(video, min(start, end), max(start, end), grade) for video, start, end, grade in moment_rows]


def spans(moment_rows: Rows) -> list[Span]:
    """Retrieved moments may end before they start."""
    return [Span(video, start, end) for video, start, end, _ in moment_rows]


def plain(moments: dict[str, list[Any]]) -> dict[str, list[dict[str, Any]]]:
    """The same as dictionaries."""

    def row(moment: Any) -> dict[str, Any]:
        relevance = getattr(moment, "relevance", None)
        return {"video_name": moment.video, "timestamp": [moment.start_s, moment.end_s], "relevance": relevance}

    return {query_id: [row(moment) for moment in of_query] for query_id, of_query in moments.items()}


def compare(run: dict[str, list[Span]], judged: dict[str, list[JudgedMoment]], how: dict[str, Any]) -> Report:
    """Return the library's report, whose values equal those of the re-statement."""
    report = evaluate(run, judged, ks=KS, mus=MUS, **how)
    paper, linear = how["convention"] is Convention.PAPER, how["gain"] is Gain.LINEAR
    correct = scorer.naive_scores(plain(run), plain(judged), KS, MUS, paper=paper, linear=linear)
    for number, measure in enumerate(report.measures):
        np.testing.assert_allclose(report.values[:, number], correct[measure], rtol=0, atol=1e-12)
        assert report.mean[measure] == pytest.approx(np.mean(correct[measure]), abs=1e-12)
    return report


@given(
    judgments,
    st.dictionaries(query_ids, rows, max_size=5),
    st.fixed_dictionaries({"convention": st.sampled_from(Convention), "gain": st.sampled_from(Gain)}),
)
def test_it_equals_the_re_statement(
    judged_draws: dict[str, Rows], retrieved: dict[str, Rows], how: dict[str, Any]
) -> None:
    judged = {query_id: judged_rows(of_query) for query_id, of_query in judged_draws.items()}
    run = {query_id: spans(of_query) for query_id, of_query in retrieved.items() if query_id in judged}
    if run or how["convention"] is Convention.PAPER:  # else there is nothing to take a mean over
        compare(run, judged, how)


@pytest.mark.parametrize("convention", Convention)
@pytest.mark.parametrize("cells", [1, 60, matching.MAX_CELLS])
def test_how_many_queries_are_looked_at_together_changes_nothing(
    convention: Convention, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = np.random.default_rng(7)

    def draw(count: int) -> Rows:
        pairs = chance.integers(0, 60, (count, 2)) / 4
        columns = (chance.integers(0, 3, count), pairs.min(axis=1), pairs.max(axis=1), chance.integers(0, 5, count))
        return [(str(video), *times) for video, *times in zip(*(column.tolist() for column in columns), strict=True)]

    judged = {str(number): judged_rows(draw(chance.integers(0, 30))) for number in range(40)}
    run = {str(number): spans(draw(chance.integers(0, 40))) for number in range(0, 40, 2)}
    monkeypatch.setattr(matching, "MAX_CELLS", cells)
    report = compare(run, judged, {"convention": convention, "gain": Gain.EXPONENTIAL})
    assert report.mean[Measure(10, 0.3)] > 0.1


def test_the_re_statement_gives_the_figure_of_the_paper() -> None:
    rows = [("a", 0, 35, 4), ("c", 0, 10, 2), ("a", 60, 100, 2), ("b", 0, 10, 2)]
    judged = {"1": [JudgedMoment(*row) for row in rows]}
    run = {"1": [Span("a", 0, 100), Span("a", 0, 100), Span("b", 0, 5)]}
    for linear, printed in ((False, 0.7592), (True, 0.8821)):
        scores = scorer.naive_scores(plain(run), plain(judged), [3], [0.3], linear=linear)
        assert round(scores[3, 0.3][0], 4) == printed
