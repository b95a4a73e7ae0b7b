"""Tables as bytes, cut, and restricted to some queries."""

from moment_retrieval.formats import parse_ground_truth, parse_run
from moment_retrieval.serialization import answers_to, cut, run_bytes, run_of, truth_bytes, truth_of
from moment_retrieval.tables import JudgedTable, RunTable

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


def test_a_run_comes_back_as_it_was() -> None:
    run = parse_run(RUN)
    assert same(run_of(run_bytes(run)), run)


def test_judged_moments_come_back_with_their_notes() -> None:
    judged = parse_ground_truth(TRUTH)
    back = truth_of(truth_bytes(judged))
    assert same(back, judged)
    assert back.notes == judged.notes


def test_an_empty_run_comes_back() -> None:
    assert len(run_of(run_bytes(RunTable.from_moments({})))) == 0


def test_what_is_cut_keeps_its_best_and_its_queries() -> None:
    short = cut(parse_run(RUN), depth=1)
    assert {query: [moment.video for moment in rows] for query, rows in short.items()} == {
        "1": ["a"],
        "2": [],
        "3": ["a"],
    }


def test_answers_to_some_queries_in_the_order_of_the_run() -> None:
    run = parse_run(RUN)
    some = answers_to(run, ["3", "2", "9"])
    assert {query: some[query] for query in some} == {query: run[query] for query in ("2", "3")}
    assert some.texts == ("x", "y")
    assert answers_to(run, ["1", "2", "3"]) is run
