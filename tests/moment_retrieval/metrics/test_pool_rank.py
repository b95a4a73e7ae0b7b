"""Rank n@m of MVMR: by hand, and equal to the published evaluation."""

import json
from typing import Any

import numpy as np
import pytest

from moment_retrieval import formats
from moment_retrieval.errors import EmptyFile, InvalidRecord
from moment_retrieval.formats.mvmr import PoolTruth, query_name
from moment_retrieval.metrics.pool_rank import NMS, RankMeasure, candidates, rank_in_pool
from moment_retrieval.records import ScoredMoment
from moment_retrieval.tables import JudgedTable, RunTable
from tests.moment_retrieval.shared_data import DATA, PARITY, needs_shared

MVMR = PARITY / "crocs_mmn"


def truth_of(*pools: list[str]) -> PoolTruth:
    """A query for each pool, about (a, 0-10) and (b, 5-9)."""
    video = {"duration": 20, "timestamps": [[0, 10]] * len(pools), "sentences": ["s"] * len(pools)}
    video |= {"pos_moments": [[["b", "t", [5, 9]]]] * len(pools), "retrieval_pool": list(pools)}
    empty = {"duration": 20, "timestamps": [], "sentences": [], "pos_moments": [], "retrieval_pool": []}
    truth = formats.parse_ground_truth(json.dumps({"a": video, "b": empty, "c": empty}).encode())
    assert isinstance(truth, PoolTruth)
    return truth


def test_rank_by_hand() -> None:
    in_no_pool, near_a_better_one = ScoredMoment("c", 0, 10, 0.9), ScoredMoment("a", 11, 20, 0.7)
    moments = [in_no_pool, ScoredMoment("a", 12, 20, 0.8), ScoredMoment("b", 5, 9, 0.5), near_a_better_one]
    run = RunTable.from_moments({"a#0": moments})  # the third is the second positive
    scores = rank_in_pool(run, truth_of(["a", "b"], ["a"]), ns=[1, 2, 50], ms=[0.5])
    assert scores.mean == {RankMeasure(1, 0.5): 0.0, RankMeasure(2, 0.5): 1.0, RankMeasure(50, 0.5): 1.0}
    assert (scores.query_ids, scores.facts["left out"]) == (("a#0",), "1 (shorter pool)")
    assert len(candidates(run, truth_of(["a", "b"]), NMS).weights) == 2
    without_nms = rank_in_pool(run, truth_of(["a", "b"]), ns=[2], ms=[0.5], nms=None)
    assert without_nms.mean == {RankMeasure(2, 0.5): 0.0}
    nothing = RunTable.from_moments({})
    scores = rank_in_pool(nothing, truth_of(["a", "b"]), ns=[1], ms=[0.5])
    assert (scores.mean, scores.missing) == ({RankMeasure(1, 0.5): 0.0}, ("a#0",))
    with pytest.raises(InvalidRecord, match="needs ground truth with the pool of each query"):
        rank_in_pool(nothing, JudgedTable.from_moments({"1": []}))  # type: ignore[arg-type]
    with pytest.raises(EmptyFile):
        rank_in_pool(nothing, PoolTruth.from_moments({}))


def cosine(one: Any, other: Any) -> Any:
    unit = one / np.linalg.norm(one, axis=0, keepdims=True)
    return np.tensordot(other / np.linalg.norm(other), unit, axes=1)


def planted_run(videos: dict[str, Any], config: dict[str, Any]) -> RunTable:
    """Candidates of the planted features, as the model of MVMR scores them: all cells of every map of the pool."""
    maps, clips = np.load(MVMR / "rank_features.npz"), config["num_clips"]
    names = list(videos)
    begin, end = np.triu_indices(clips)
    queries = {}
    for number, (name, video) in enumerate(videos.items()):
        for query, pool in enumerate(video["retrieval_pool"]):
            rows = []
            for other in pool:
                index = names.index(other)
                likeness = cosine(maps["map2d"][index], maps[f"sent/{number}"][query]) * 0.5 + 0.5
                overlap = 1 / (1 + np.exp(-10 * cosine(maps["map2d_iou"][index], maps[f"sent_iou/{number}"][query])))
                score = (likeness ** config["pow"] * overlap).astype(np.float32)
                step = np.float32(videos[other]["duration"]) / clips
                cells = zip(begin * step, (end + 1) * step, score[begin, end], strict=True)
                rows += [ScoredMoment(other, float(s), float(e), float(v)) for s, e, v in cells if v]
            queries[query_name(name, query)] = rows
    return RunTable.from_moments(queries)


@needs_shared
def test_equal_to_the_published_evaluation() -> None:
    oracle = json.loads((MVMR / "rank_oracle.json").read_text())
    dataset = json.loads((MVMR / "rank_dataset.json").read_text())
    truth = formats.parse_ground_truth(json.dumps(dataset["videos"]).encode())
    assert isinstance(truth, PoolTruth)
    run = planted_run(dataset["videos"], dataset["config"])
    ns, ms = [1, *range(5, 31, 5)], [0.3, 0.5, 0.7]
    scores = rank_in_pool(run, truth, ns=ns, ms=ms, nms=dataset["config"]["nms"])
    assert len(scores.query_ids) == oracle["num_instances"]
    pools = candidates(run, truth, dataset["config"]["nms"])
    assert [len(pools[name]) for name in scores.query_ids] == [row["n_candidates"] for row in oracle["per_query"]]
    for n in ns:
        for m in ms:
            assert scores.mean[RankMeasure(n, m)] == pytest.approx(oracle["official"][f"R@{n},IoU@{m}"], abs=1e-6)
    for row in oracle["per_query"]:
        values = scores.per_query[query_name(row["video"], row["query"])]
        for m in ms:
            first = row["first_hit"][str(m)]
            assert [values[RankMeasure(n, m)] for n in ns] == [float(first is not None and first <= n) for n in ns]


@needs_shared
@pytest.mark.parametrize(
    ("name", "videos", "queries", "n_scored"),
    [pytest.param("charades", 1_334, 3_720, 3_716, marks=pytest.mark.slow), ("tacos", 25, 4_001, 2_055)],
)
def test_the_published_ground_truth_is_read(name: str, videos: int, queries: int, n_scored: int) -> None:
    truth = formats.read_ground_truth(DATA / "mvmr" / f"{name}_test_mvmr.json")
    assert isinstance(truth, PoolTruth)
    assert (len(truth.durations_s), len(truth)) == (videos, queries)
    scores = rank_in_pool(RunTable.from_moments({}), truth, ns=[1], ms=[0.5])
    assert (len(scores.query_ids), scores.facts["left out"]) == (n_scored, f"{queries - n_scored} (shorter pool)")
    durations_s = np.array([truth.durations_s[video] for video in truth.spans.names])
    assert (truth.spans.end_s <= durations_s[truth.spans.video] + 1).mean() > 0.99
