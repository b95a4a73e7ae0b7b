"""Oddities are told with where they are first seen."""

from moment_retrieval.formats import parse_ground_truth, parse_run
from moment_retrieval.metrics.report import all_warnings

RUN = b"""[{"query_id": 1, "predictions": [["a", 0, 1, 1]]},
{"query_id": 2, "predictions":
[["b", 0, 1, 1], ["a", 0, 1, 1], ["a", 3, 3, 1], ["b", 0, 1, 0], ["b", 0, 1, 0], ["a", 2, 1, 1]]}]
"""
TRUTH = b"""[{"query_id": 1, "relevant_moment": [{"video_name": "a", "timestamp": [1, 1], "relevance": 1}]},
{"query_id": 2, "relevant_moment": [{"video_name": "a", "timestamp": [1, 2], "relevance": 0}]},
{"query_id": 3, "relevant_moment": []}]
"""


def test_every_oddity_has_its_sentence_and_nothing_odd_gives_none() -> None:
    assert all_warnings(parse_run(RUN, strict=False), parse_ground_truth(TRUTH), depth=5) == (
        "repeated predictions, which find their moment claimed: 2, first in line 2, query 2, prediction 4",
        "predictions without length, which overlap nothing: 1, first in line 2, query 2, prediction 3",
        "predictions that end before they start, which overlap nothing: 1, first in line 2, query 2, prediction 6",
        "queries with more than 5 predictions, of which the rest do not count: 1, first in line 2, query 2, "
        "prediction 6",
        "judged moments without length, which nothing finds: 1, first in line 1, query 1, moment 1",
        "queries without a relevant moment, where nothing can be found: 2, first 2",
    )
    run = parse_run(b'[{"query_id": 1, "predictions": [["a.mp4", 0, 1, 1]]}]')
    first, *_ = all_warnings(run, parse_ground_truth(TRUTH))
    assert first == "none of the run's videos is in the ground truth: are they called alike?"
    run = parse_run(b'[{"query_id": 1, "predictions": [["a", 0, 1, 1], ["a", 0, 1.5, 1], ["b", 0, 1, 1]]}]')
    odd, truth = parse_run(RUN, strict=False), parse_ground_truth(TRUTH)
    assert not any("without length" in one for one in all_warnings(odd, truth, has_times=False)[:-2])  # of videos
    truth = parse_ground_truth(TRUTH.split(b",\n")[0].replace(b"[1, 1]", b"[1, 2]") + b"]")
    assert all_warnings(run, truth, depth=40) == ()
    run = parse_run(
        b'[{"query_id": 1, "predictions": [["a", 0, 10.005, 1], ["a", 9, 11.5, 1], ["a", 12, 13.2, 1]]},\n'
        b' {"query_id": 2, "predictions": [["b", -0.5, 99, 1]]}]'
    )
    assert all_warnings(run, parse_ground_truth(TRUTH), durations_s={"a": 10.0})[:2] == (
        "predictions that begin before their video does, by up to 0.5 s: 1, first in line 2, query 2, prediction 1",
        "predictions that end after their video, by up to 3.2 s: 2, first in line 1, query 1, prediction 2",
    )
