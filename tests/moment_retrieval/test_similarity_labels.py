"""Grades derived from similarity."""

import numpy as np
import pytest

from moment_retrieval.records import JudgedMoment, QueryMoments
from moment_retrieval.tables import JudgedTable, graded, similarity_labelled


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
def test_grades_go_by_similarity(
    similarities: list[float | None], grades: list[int], expected_grades: list[int]
) -> None:
    assert graded(similarities, np.array(grades, np.float64)).tolist() == expected_grades


def moment(video: str, relevance: int, similarity: float) -> JudgedMoment:
    return JudgedMoment(video, 0.0, 3.0, relevance, similarity=similarity)


def test_over_all_queries_and_nothing_else_changes() -> None:
    first, second = (moment("a", 0, 0.8), moment("b", 1, 0.6)), (moment("c", 4, 0.4),)
    judged = JudgedTable.from_queries([QueryMoments("1", "", first), QueryMoments("2", "", second)])
    table = similarity_labelled(judged)
    assert [m.relevance for m in (*table["1"], *table["2"])] == [4, 1, 0]
    assert [(m.video, m.similarity) for m in table["1"]] == [("a", 0.8), ("b", 0.6)]
    assert judged["2"][0].relevance == 4


def test_without_similarities_all_get_the_lowest() -> None:
    judged = JudgedTable.from_moments({"1": [JudgedMoment("a", 0.0, 1.0, 3), JudgedMoment("b", 0.0, 1.0, 1)]})
    assert similarity_labelled(judged).weights.tolist() == [1, 1]
