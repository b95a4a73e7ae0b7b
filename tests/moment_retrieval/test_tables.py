"""Tables of moments: from records and from arrays, and what they refuse."""

from typing import Any

import numpy as np
import pytest

from moment_retrieval.errors import DuplicateQuery, InvalidRecord
from moment_retrieval.metrics.ndcg_iou import Measure
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.records import JudgedMoment, ScoredMoment, Span
from moment_retrieval.tables import JudgedTable, RunTable

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


def test_arrays_records_and_rows_score_alike() -> None:
    records = {"1": [Span("b", 5, 9), Span("a", 0, 9)], "2": [Span("b", 1, 4)]}
    rows = {"1": np.array([[2, 5, 9, 0.5], [1, 0, 9, 0.2]]), "2": np.array([[2, 1, 4, 0.1]])}
    judged_rows = {"1": np.array([[1, 0, 10, 4], [2, 5, 9, 1]]), "2": np.array([[2, 0, 4, 2]])}
    correct = evaluate(records, JUDGED).per_query
    assert correct["1"][Measure(10, 0.7)] == pytest.approx((1 + 15 / np.log2(3)) / (15 + 1 / np.log2(3)))
    assert evaluate(of_arrays(), JUDGED).per_query == correct
    assert evaluate(rows, judged_rows).per_query == correct


def test_no_rows_at_all() -> None:
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


def test_rows_that_are_no_moments_are_refused() -> None:
    with pytest.raises(InvalidRecord, match=r"query 1: expected video, start, end, weight, got the shape \(1, 2\)"):
        RunTable.from_moments({"1": np.array([[1.0, 2.0]])})
    with pytest.raises(InvalidRecord, match="videos must be whole numbers"):
        RunTable.from_moments({"1": np.array([[np.nan, 1.0, 2.0]])})
    with pytest.raises(InvalidRecord, match="query 1: moment 1: relevance must be from 0 to 4, got 5.0"):
        JudgedTable.from_moments({"1": np.array([[1, 1.0, 2.0, 5.0]])})


def test_a_query_named_twice_is_refused() -> None:
    with pytest.raises(DuplicateQuery, match="query 7 appears more than once"):
        RunTable.from_arrays([7, 7], VIDEOS, START, END)
