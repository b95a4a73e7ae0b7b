"""nDCG by semantic similarity and recall of the own item: by hand, and equal to stored values."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from moment_retrieval.errors import EmptyFile, InvalidRecord
from moment_retrieval.metrics.matrix import instance_ranks, matrix_scores, rank_means, semantic_ndcg
from moment_retrieval.metrics.ndcg_iou import Gain
from tests.moment_retrieval.shared_data import PARITY, needs_shared

SVR = PARITY / "svr"
DIRECTIONS = {"v2t": "nDCG-v2t", "t2v": "nDCG-t2v", "avg": "nDCG", "v2t_nanmean": "nDCG-v2t", "t2v_nanmean": "nDCG-t2v"}
NAMES = {"R1": "R@1", "R5": "R@5", "R10": "R@10", "R50": "R@50", "geometric_mean_R1-R5-R10": "GeoMean"}


def oracle() -> Any:
    return json.loads((SVR / "metrics_oracle.json").read_text())


def test_ndcg_and_ranks_by_hand() -> None:
    similarity, relevance = np.array([[0.1, 0.9, 0.5]]), np.array([[1.0, 0.0, 0.5]])
    v2t, t2v = semantic_ndcg(similarity, relevance, gain=Gain.LINEAR)
    assert v2t.tolist() == [pytest.approx((0.5 / math.log2(3)) / (1 + 0.5 / math.log2(3)))]  # cutoff 2
    assert t2v[[0, 2]].tolist() == [1.0, 1.0]
    scores = matrix_scores(similarity, relevance, gain=Gain.LINEAR)
    assert (scores.mean["nDCG-t2v"], scores.facts["skipped"]) == (1.0, "0 videos, 1 captions")
    exponential, _ = semantic_ndcg(similarity, relevance)
    half = math.sqrt(2) - 1
    assert exponential.tolist() == [pytest.approx((half / math.log2(3)) / (1 + half / math.log2(3)))]
    similarity = np.array([[0.9, 0.5, 0.5], [0.2, 0.5, 0.1]])
    v2t, t2v = instance_ranks(similarity, [0, 1, 0])
    assert t2v.tolist() == [0, 0.5, 0]  # the second caption is as near to both videos
    assert v2t.tolist() == [0, 0]
    masked, _ = instance_ranks(similarity, [-1, 1, 0])
    assert masked.tolist() == [0.5, 0]


def test_ranks_of_many_captions_a_video_take_no_matrix_of_captions_by_captions() -> None:
    similarity = np.tile(np.linspace(0, 1, 60_000, dtype=np.float64), (2, 1))  # by captions: 29 GB
    v2t, t2v = instance_ranks(similarity, np.arange(60_000) % 2)
    assert v2t.tolist() == [1, 0] and set(t2v.tolist()) == {0.5}


TWO_BY_THREE = np.zeros((2, 3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: instance_ranks(TWO_BY_THREE, [0, 0, 0]), InvalidRecord, "video 1 has no caption"),
        (lambda: instance_ranks(TWO_BY_THREE, [0, 1, 2]), InvalidRecord, "a caption is of video 2, there are 2"),
        (lambda: instance_ranks(TWO_BY_THREE, [0, 1]), InvalidRecord, "the video of each of 3 captions"),
        (lambda: semantic_ndcg(TWO_BY_THREE[:, :2], TWO_BY_THREE), InvalidRecord, r"got \(2, 2\) and \(2, 3\)"),
        (lambda: semantic_ndcg(np.array([[0], [np.nan]]), TWO_BY_THREE[:, :1]), InvalidRecord, "row 2, column 1: s"),
        (lambda: semantic_ndcg(TWO_BY_THREE, TWO_BY_THREE), EmptyFile, "nothing is relevant"),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def matrices(name: str) -> tuple[Any, Any, float]:
    """Similarity, relevance and threshold of one of the stored cases."""
    parts = name.split("/")
    similarity = np.load(SVR / "similarities60.npz")[parts[-2] if parts[0].startswith("rect") else parts[0]]
    relevance = np.load(SVR / "relevance60.npz")[parts[-1] if parts[0].startswith("rect") else parts[1]]
    if parts[0].startswith("rect"):
        rows, columns = map(int, parts[0].removeprefix("rect").split("x"))
        return similarity[:rows, :columns], relevance[:rows, :columns], 0.0
    if "unit_diag" in parts:
        relevance = relevance.copy()
        np.fill_diagonal(relevance, 1.0)
    threshold = float(parts[-1].removeprefix("threshold_")) if parts[-1].startswith("threshold_") else 0.0
    return similarity, relevance, threshold


@needs_shared
@pytest.mark.parametrize("gain", Gain)
def test_ndcg_equals_the_reference_values(gain: Gain) -> None:
    cases = oracle()["ndcg"]
    assert len(cases) == 32
    for name, reference in cases.items():
        similarity, relevance, threshold = matrices(name)
        scores = matrix_scores(similarity, np.where(relevance < threshold, 0.0, relevance), gain=gain)
        for key, value in reference.get("official_linear" if gain is Gain.LINEAR else "paper_exp", {}).items():
            assert scores.mean[DIRECTIONS[key]] == pytest.approx(value, abs=1e-12), name
        assert scores.facts["skipped"].startswith(f"{reference.get('rows_without_relevant', 0)} videos")


@needs_shared
@pytest.mark.parametrize("name", ["random", "embedding", "multi_5caps_12videos", "tied_round1"])
def test_ranks_equal_the_reference_values(name: str) -> None:
    similarity = np.load(SVR / "similarities60.npz")["random" if name == "random" else "embedding"]
    owners = None
    if name.startswith("multi"):
        similarity, owners = similarity[:12], np.arange(60) // 5
    if name.startswith("tied"):
        similarity = similarity.round(1)
    for direction, ranks in zip(("v2t", "t2v"), instance_ranks(similarity, owners), strict=True):
        mean = rank_means(ranks, direction)
        for key, value in oracle()["ivr"][name][direction].items():
            scale = 1 if key in ("MedR", "MeanR") else 100
            assert scale * mean[f"{NAMES.get(key, key)}-{direction}"] == pytest.approx(value, abs=1e-9), (name, key)
