"""moment-retrieval relevance: a matrix from captions, which score reads."""

import json
from pathlib import Path

import numpy as np
import pytest

from annotation.similarity import registry
from moment_retrieval.cli import USAGE_ERROR, main
from moment_retrieval.tables import Floats, Ints

CAPTIONS = "video,caption\na,A man cuts bread.\nb,A man opens the door.\na,He slices bread.\n"


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    path = tmp_path / "captions.csv"
    path.write_text(CAPTIONS)
    return path


def written(captions: Path, *arguments: str) -> tuple[Floats, Ints]:
    target = captions.parent / "relevance.npz"
    assert main(["relevance", str(captions), "--to", str(target), *arguments]) == 0
    with np.load(target) as arrays:
        return arrays["relevance"], arrays["owners"]


def test_words_as_the_paper_and_as_released(captions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a: A, man, cuts, bread., He, slices; as released "A" is no stop word, "the" is one."""
    relevance, owners = written(captions, "--proxy", "bow", "--own", "proxy")
    assert owners.tolist() == [0, 1, 0]
    assert relevance.tolist() == [[4 / 6, 2 / 8, 3 / 6], [2 / 6, 1, 0]]
    assert "2 videos, 3 captions" in capsys.readouterr().out
    own, _ = written(captions, "--proxy", "bow")
    assert (own[0, 0], own[1, 1], own[0, 2]) == (1, 1, 1) and own[0, 1] == relevance[0, 1]


def test_score_reads_it(captions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(captions, "--proxy", "bow")
    similarity = captions.parent / "similarity.npy"
    np.save(similarity, np.array([[0.9, 0.1, 0.8], [0.2, 0.7, 0.1]]))
    capsys.readouterr()
    truth = str(captions.parent / "relevance.npz")
    assert main(["score", str(similarity), "--ground-truth", truth, "--metric", "matrix", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["scores"]
    assert scores["nDCG-t2v"] == 1.0


def test_json_lines_are_the_same(captions: Path) -> None:
    from_csv, _ = written(captions, "--proxy", "bow")
    rows = [line.split(",") for line in CAPTIONS.splitlines()[1:]]
    captions.write_text("".join(json.dumps({"video": video, "caption": text}) + "\n" for video, text in rows))
    np.testing.assert_array_equal(written(captions, "--proxy", "bow")[0], from_csv)


@pytest.mark.parametrize("proxy", ["pos", "synset", "meteor"])
def test_the_other_proxies_need_wordnet(captions: Path, proxy: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["relevance", str(captions), "--proxy", proxy, "--to", str(captions.parent / "x.npz")]
    assert main(arguments) == USAGE_ERROR
    assert "--nltk-data names the folder" in capsys.readouterr().err
    assert main([*arguments, "--nltk-data", str(captions.parent)]) == USAGE_ERROR
    assert "WordNet is not installed in" in capsys.readouterr().err


@pytest.mark.parametrize("proxy", ["pos", "synset", "meteor"])
@pytest.mark.usefixtures("wordnet")
def test_with_wordnet(captions: Path, proxy: str) -> None:
    data = str(registry.nltk_data())
    relevance, _ = written(captions, "--proxy", proxy, "--own", "proxy", "--nltk-data", data)
    assert relevance.shape == (2, 3) and relevance[0, 0] > relevance[1, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "expected JSON lines, or CSV"),
        ("video,caption\n", "there is no caption"),
        ('{"video": 1}\n', "line 1: video must be a string"),
    ],
)
def test_files_that_cannot_be_used(captions: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    captions.write_text(text)
    assert main(["relevance", str(captions), "--proxy", "bow", "--to", str(captions.parent / "x.npz")]) == USAGE_ERROR
    assert message in capsys.readouterr().err
