"""Tables of moments: from records and from arrays, what they refuse, as bytes, cut, and graded by similarity."""

from typing import Any

import numpy as np
import pytest

from moment_retrieval.errors import DuplicateQuery, InvalidRecord
from moment_retrieval.formats import parse_ground_truth, parse_run
from moment_retrieval.metrics.ndcg_iou import Measure
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.records import JudgedMoment, QueryMoments, ScoredMoment, Span
from moment_retrieval.serialization import answers_to, cut, run_bytes, run_of, truth_bytes, truth_of
from moment_retrieval.tables import JudgedTable, RunTable, graded, similarity_labelled

NAMES = ["elsewhere", "a", "b"]
JUDGED = {"1": [JudgedMoment("a", 0, 10, 4), JudgedMoment("b", 5, 9, 1)], "2": [JudgedMoment("b", 0, 4, 2)]}
VIDEOS = np.array([[2, 1], [2, -1]])
START = np.array([[5.0, 0.0], [1.0, 0.0]])
END = np.array([[9.0, 9.0], [4.0, 0.0]])


def of_arrays(**changed: Any) -> RunTable:
    arrays = {"videos": VIDEOS, "start_s": START, "end_s": END, "names": NAMES, **changed}
    return RunTable.from_arrays([1, 2], arrays.pop("videos"), arrays.pop("start_s"), arrays.pop("end_s"), **arrays)


def test_a_table_is_a_mapping_of_records() -> None:
    table = of_arrays(weights=[[0.5, 0.25], [1.0, 0.0]])
    assert dict(table) == {
        "1": (ScoredMoment("b", 5, 9, 0.5), ScoredMoment("a", 0, 9, 0.25)),
        "2": (ScoredMoment("b", 1, 4, 1.0),),
    }
    assert table == RunTable.from_moments(dict(table))
    assert dict(JudgedTable.from_moments(JUDGED)) == {query_id: tuple(rows) for query_id, rows in JUDGED.items()}


def test_arrays_records_rows_and_none_at_all_score_alike() -> None:
    records = {"1": [Span("b", 5, 9), Span("a", 0, 9)], "2": [Span("b", 1, 4)]}
    rows = {"1": np.array([[2, 5, 9, 0.5], [1, 0, 9, 0.2]]), "2": np.array([[2, 1, 4, 0.1]])}
    judged_rows = {"1": np.array([[1, 0, 10, 4], [2, 5, 9, 1]]), "2": np.array([[2, 0, 4, 2]])}
    correct = evaluate(records, JUDGED).per_query
    assert correct["1"][Measure(10, 0.7)] == pytest.approx((1 + 15 / np.log2(3)) / (15 + 1 / np.log2(3)))
    assert evaluate(of_arrays(), JUDGED).per_query == correct
    assert evaluate(rows, judged_rows).per_query == correct
    table = RunTable.from_arrays([1], np.empty((1, 0), np.int64), np.empty((1, 0)), np.empty((1, 0)))
    assert dict(table) == {"1": ()}
    assert set(evaluate(table, {"1": []}).mean.values()) == {0.0}
    assert set(evaluate({"1": np.empty((0, 3))}, JUDGED).mean.values()) == {0.0}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"end_s": [[9.0, np.nan], [4.0, 0.0]]}, "^query 1: prediction 2: times must be finite, in seconds, got nan"),
        ({"start_s": [[9.0, 1.0], [np.inf, 0.0]]}, "^query 2: prediction 1: times must be finite, in seconds, got inf"),
        ({"names": ["a", "b"]}, "no name for the video with the number"),
        ({"names": {1: "a"}}, "no name for the video with the number 2"),
        ({"videos": [[0.5, 1.0], [1.0, 1.0]]}, "videos must be whole numbers, got float64"),
        ({"end_s": [[9.0], [4.0]]}, r"expected arrays of 2 queries by moments, got the shapes"),
    ],
)
def test_arrays_that_are_no_moments_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRecord, match=message):
        of_arrays(**changed)


@pytest.mark.parametrize(
    ("table", "row", "message"),
    [
        (RunTable, [1.0, 2.0], r"query 1: expected video, start, end, weight, got the shape \(1, 2\)"),
        (RunTable, [np.nan, 1.0, 2.0], "videos must be whole numbers"),
        (JudgedTable, [1, 1.0, 2.0, 10.0], "query 1: moment 1: relevance must be from 0 to 9, got 10.0"),
    ],
)
def test_rows_that_are_no_moments_are_refused(table: Any, row: list[float], message: str) -> None:
    with pytest.raises(InvalidRecord, match=message):
        table.from_moments({"1": np.array([row])})
    with pytest.raises(DuplicateQuery, match="query 7 appears more than once"):
        RunTable.from_arrays([7, 7], VIDEOS, START, END)


RUN = (
    b'[{"query_id": 1, "query": "\xc3\xa4", "predictions": [["a", 0, 1, 0.5], ["b", 2, 3, 0.25]]},'
    b' {"query_id": 2, "query": "x", "predictions": []},'
    b' {"query_id": 3, "query": "y", "predictions": [["a", 4, 5, 1]]}]'
)
TRUTH = (
    b'[{"query_id": 1, "query": "q", "relevant_moment": [{"pair_id": 7, "video_name": "a", "timestamp": [0, 1],'
    b' "duration": 9.5, "caption": "c", "similarity": 0.5, "relevance": 3}]}]'
)


def same(one: RunTable | JudgedTable, other: RunTable | JudgedTable) -> bool:
    return dict(one) == dict(other) and one.texts == other.texts and list(one) == list(other)


def test_tables_come_back_as_they_were_and_are_cut() -> None:
    run, judged = parse_run(RUN), parse_ground_truth(TRUTH)
    assert same(run_of(run_bytes(run)), run)
    assert len(run_of(run_bytes(RunTable.from_moments({})))) == 0
    again = truth_of(truth_bytes(judged))
    assert same(again, judged) and again.notes == judged.notes
    short = cut(parse_run(RUN), depth=1)
    videos = {query: [moment.video for moment in rows] for query, rows in short.items()}
    assert videos == {"1": ["a"], "2": [], "3": ["a"]}
    run = parse_run(RUN)
    some = answers_to(run, ["3", "2", "9"])
    assert {query: some[query] for query in some} == {query: run[query] for query in ("2", "3")}
    assert some.texts == ("x", "y")
    assert answers_to(run, ["1", "2", "3"]) is run


@pytest.mark.parametrize(
    ("similarities", "grades", "expected_grades"),
    [
        ([0.9, 0.5, 0.7], [0, 4, 2], [4, 0, 2]),  # the most similar gets the highest
        ([0.9, 0.9, 0.7], [4, 2, 0], [2, 2, 0]),  # equally similar: the lowest of what is due to them
        ([None, 0.1, 0.2], [4, 3, 1], [1, 3, 4]),  # unknown comes last
        ([None, None], [4, 0], [0, 0]),
        ([], [], []),
    ],
)
def test_grades_by_similarity(similarities: list[float | None], grades: list[int], expected_grades: list[int]) -> None:
    assert graded(similarities, np.array(grades, np.float64)).tolist() == expected_grades


def test_grades_by_similarity_are_given_over_all_queries_and_nothing_else_changes() -> None:
    def moment(video: str, relevance: int, similarity: float) -> JudgedMoment:
        return JudgedMoment(video, 0.0, 3.0, relevance, similarity=similarity)

    first, second = (moment("a", 0, 0.8), moment("b", 1, 0.6)), (moment("c", 4, 0.4),)
    judged = JudgedTable.from_queries([QueryMoments("1", "", first), QueryMoments("2", "", second)])
    table = similarity_labelled(judged)
    assert [m.relevance for m in (*table["1"], *table["2"])] == [4, 1, 0]
    assert [(m.video, m.similarity) for m in table["1"]] == [("a", 0.8), ("b", 0.6)]
    assert judged["2"][0].relevance == 4
    judged = JudgedTable.from_moments({"1": [JudgedMoment("a", 0.0, 1.0, 3), JudgedMoment("b", 0.0, 1.0, 1)]})
    assert similarity_labelled(judged).weights.tolist() == [1, 1]
