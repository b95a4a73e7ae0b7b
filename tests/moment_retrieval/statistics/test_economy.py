"""Leaving judgments out: what remains, by hand; what it does to rankings."""

import numpy as np
import pytest

from moment_retrieval.records import JudgedMoment, QueryMoments, ScoredMoment
from moment_retrieval.statistics.economy import Pair, cuts, effect, study
from moment_retrieval.tables import JudgedTable, RunTable

GRADES = {1: (4, 4), 2: (3, 2), 3: (0, 4, 4, 3), 4: (0, 4, 0, 4), 5: (1, 1)}  # of pairs, as rounds give them; 4 dropped
DUPLICATE = "8"  # shares the judgments of query 7


def moment(pair_id: int) -> tuple[str, float, float]:
    return f"v{pair_id}", 0.0, 10.0


def pairs_ranked(*ranked: int, batches: dict[int, int] | None = None) -> list[Pair]:
    batches = batches or {}
    return [
        Pair(n, "7", *moment(n), rank=rank, batch=batches.get(n, 1), grades=GRADES[n])
        for rank, n in enumerate(ranked, start=1)
    ]


@pytest.fixture
def pairs() -> list[Pair]:
    return pairs_ranked(1, 2, 3, 4, 5, batches={5: 2})


@pytest.fixture
def judged() -> JudgedTable:
    relevance = {1: 4, 2: 3, 3: 4, 5: 1}
    rows = [JudgedMoment(*moment(n), value, pair_id=n, similarity=1 - n / 10) for n, value in relevance.items()]
    return JudgedTable.from_queries([QueryMoments(query, "", tuple(rows)) for query in ("7", DUPLICATE)])


def relevance_by_video(table: JudgedTable, query: str = "7") -> dict[str, float]:
    return {row.video: row.relevance for row in table[query]}


def test_every_method_to_judge_less_by_hand(judged: JudgedTable, pairs: list[Pair]) -> None:
    reductions = {reduction.name: reduction for reduction in cuts(judged, pairs)}
    assert list(reductions) == ["half", "depth", "first-batch", "two-averaged", "two-agreed"]
    for thinned in reductions["half"].truths:
        assert [len(relevance_by_video(thinned, query)) for query in ("7", DUPLICATE)] == [2, 2]
        assert relevance_by_video(thinned).items() <= relevance_by_video(judged).items()
    assert len({tuple(sorted(relevance_by_video(thinned))) for thinned in reductions["half"].truths}) > 1
    (shallow,), (first,) = reductions["depth"].truths, reductions["first-batch"].truths
    assert relevance_by_video(shallow) == {"v1": 4, "v2": 3}
    assert relevance_by_video(first) == {"v1": 4, "v2": 3, "v3": 4}
    (averaged,), (agreed,) = reductions["two-averaged"].truths, reductions["two-agreed"].truths
    assert relevance_by_video(averaged) == {"v1": 4, "v2": 3, "v3": 2, "v4": 2, "v5": 1}
    assert relevance_by_video(agreed) == relevance_by_video(agreed, DUPLICATE) == {"v1": 4, "v2": 3, "v5": 1}
    assert relevance_by_video(averaged) == relevance_by_video(averaged, DUPLICATE)
    assert {name: reduction.judgments for name, reduction in reductions.items()} == {
        "half": 10,  # of both twins, whose halves differ
        "depth": 4,
        "first-batch": 12,
        "two-averaged": 10,
        "two-agreed": 10,
    }
    reductions = {reduction.name: reduction for reduction in cuts(judged)}
    assert [(name, reduction.judgments) for name, reduction in reductions.items()] == [("half", None), ("depth", None)]
    assert relevance_by_video(reductions["depth"].truths[0]) == {"v1": 4, "v2": 3}


def test_the_same_judgments_change_nothing_and_reversed_scores_reverse_the_ranking() -> None:
    full = np.random.default_rng(1).random((4, 30, 9))
    result = effect(full, [full])
    assert result.tau.tolist() == result.low.tolist() == result.high.tolist() == [1.0] * 9
    assert result.change.tolist() == [0.0] * 9
    apart = np.random.default_rng(1).random((4, 500, 1)) + 3 * np.arange(4)[:, None, None]
    assert effect(apart, [-apart]).tau.tolist() == [-1.0]


def run(*numbers: int) -> RunTable:
    return RunTable.from_moments(
        {query: [ScoredMoment(*moment(n), 1.0) for n in numbers] for query in ("7", DUPLICATE)}
    )


def test_a_study_reports_every_run_under_every_cut(judged: JudgedTable, pairs: list[Pair]) -> None:
    progress: list[tuple[int, int]] = []
    runs = {"best": run(1, 3, 2, 5), "worst": run(9, 9), "middle": run(5, 2)}
    result = study(runs, judged, pairs, halves=3, samples=30, on_progress=lambda *counts: progress.append(counts))
    assert progress[-1] == (8, 8)
    assert result["judgments"] == 14
    agreed = next(reduction for reduction in result["cuts"] if reduction["name"] == "two-agreed")
    assert agreed["tau"] == [1.0] * 9
    scores = dict(zip(result["runs"], (row[0] for row in agreed["scores"]), strict=True))
    assert scores["best"] > scores["middle"] > scores["worst"] == 0
    ties = study({name: run(9) for name in "abc"}, judged, halves=2, samples=10)
    assert ties["cuts"][0]["tau"] == [None] * 9
    with pytest.raises(ValueError, match="needs 3 runs, got 2"):
        study({"a": run(1), "b": run(2)}, judged)


def test_judgments_are_those_behind_what_remains(judged: JudgedTable, pairs: list[Pair]) -> None:
    """Of four settled pairs two stay; pair 4, which was dropped, lies deeper than both of the best, or between them."""
    table = judged.taken(judged.query == 0)
    reductions = {reduction.name: reduction for reduction in cuts(table, pairs)}
    assert reductions["depth"].judgments == 2 + 2  # pairs 1 and 2
    spent = [sum(len(GRADES[note.pair_id]) for note in half.notes) + 4 / 2 for half in reductions["half"].truths]
    assert reductions["half"].judgments == round(sum(spent) / len(spent))
    assert {4 + 2, 6 + 2} == set(spent)  # with pair 3, which has four grades, or without
    (depth,) = (reduction for reduction in cuts(table, pairs_ranked(1, 4, 2, 3, 5)) if reduction.name == "depth")
    assert depth.judgments == 2 + 4 + 2


def test_the_first_round_of_three_judges() -> None:
    """Yes or no: all grades of the first round count, and none may differ."""
    grades = {1: (1, 1, 1), 2: (0, 0, 1, 0, 0, 0), 3: (0, 0, 0)}
    pairs = [Pair(n, "7", *moment(n), rank=n, batch=1, grades=of_pair) for n, of_pair in grades.items()]
    rows = tuple(JudgedMoment(*moment(n), int(n == 1), pair_id=n, similarity=1 - n / 10) for n in grades)
    judged = JudgedTable.from_queries([QueryMoments("7", "", rows)])
    reductions = {reduction.name: reduction for reduction in cuts(judged, pairs, judges=3, max_spread=0)}
    assert list(reductions) == ["half", "depth", "three-averaged", "three-agreed"]
    (averaged,), (agreed,) = reductions["three-averaged"].truths, reductions["three-agreed"].truths
    assert relevance_by_video(averaged) == {"v1": 1, "v2": 1, "v3": 0}
    assert relevance_by_video(agreed) == {"v1": 1, "v3": 0}
    assert {reductions[name].judgments for name in ("three-averaged", "three-agreed")} == {9}
    assert reductions["three-agreed"].words == "the first three annotators alone, pairs where they lie apart left out"
    one_round = [pairs[0], pairs[2]]
    assert [reduction.name for reduction in cuts(judged, one_round, judges=3, max_spread=0)] == ["half", "depth"]
