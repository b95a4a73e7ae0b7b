"""The ranking of a GPU, on whatever device torch has; slow, for it loads torch."""

import numpy as np
import pytest
from numpy.typing import NDArray

from annotation.pools.rules import Ranker, top_moments
from annotation.similarity import sentences

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


class OnProcessor(sentences.GpuRanker):
    device = "cpu"


def unit(chance: np.random.Generator, rows: int) -> NDArray[np.float32]:
    vectors = chance.integers(-2, 3, (rows, 6)).astype(np.float32) + np.float32(0.1)  # coarse: many ties
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


@pytest.fixture(params=["cpu", "cuda"])
def ranker(request: pytest.FixtureRequest) -> type[Ranker]:
    import torch

    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU here")
    return OnProcessor if request.param == "cpu" else sentences.GpuRanker


@pytest.mark.parametrize("cells", [1, 5000, 2**28])
def test_ranks_as_the_processor_does(ranker: type[Ranker], cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "CELLS", cells)
    chance = np.random.default_rng(5)
    queries, captions = unit(chance, 700), unit(chance, 3000)
    first = np.sort(np.concatenate([[0], 1 + chance.choice(2999, 2500, replace=False)])).astype(np.intp)
    ours, theirs = (list(top_moments(queries, captions, first, ranker=who)) for who in (Ranker, ranker))
    assert len(theirs) == 700
    for (order, similarity), (other, same) in zip(ours, theirs, strict=True):
        assert order.tolist() == other.tolist()
        assert similarity.tolist() == same.tolist()


def test_the_ranker_of_this_machine() -> None:
    import torch

    assert (sentences.ranker_here() is sentences.GpuRanker) == torch.cuda.is_available()
