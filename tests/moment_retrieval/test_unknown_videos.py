"""Videos that a run names and nobody has: refused with their place; with ``--lenient`` a warning."""

import json
from pathlib import Path

import pytest

from moment_retrieval.cli import main

TRUTH = [{"query_id": 1, "query": "q", "relevant_moment": [{"video_name": "a", "timestamp": [0, 10], "relevance": 4}]}]


class Files:
    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.truth = self.write("val.json", TRUTH)
        self.corpus = self.write("video_corpus.json", {"a": 20})

    def write(self, name: str, content: object) -> str:
        (self.folder / name).write_text(json.dumps(content))
        return str(self.folder / name)

    def score(self, *options: str, videos: str) -> tuple[int, str]:
        predictions = [[video, 0, 10, 1.0] for video in videos]
        run = self.write("run.json", [{"query_id": 1, "query": "q", "predictions": predictions}])
        status = main(["score", run, "--ground-truth", self.truth, *options])
        printed = self.capsys.readouterr()
        return status, printed.out + printed.err


@pytest.fixture
def files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Files:
    return Files(tmp_path, capsys)


def test_one_that_the_corpus_does_not_have_is_an_error_with_its_line(files: Files) -> None:
    status, text = files.score("--corpus", files.corpus, videos="az")
    assert status == 2
    assert "line 1: entry 1: query 1: prediction 2: the corpus has no video 'z'" in text


def test_lenient_scores_it_with_a_warning(files: Files) -> None:
    status, text = files.score("--corpus", files.corpus, "--lenient", videos="za")
    assert status == 0
    assert "predictions of videos that the corpus does not have: 1, first in line 1, query 1, prediction 1" in text
    alone = files.score("--corpus", files.corpus, videos="a")[1]
    assert "corpus does not have" not in alone


def test_without_a_corpus_none_known_is_an_error_and_one_known_is_enough(files: Files) -> None:
    status, text = files.score(videos="zy")
    assert status == 2
    assert (
        "predictions of videos that the ground truth does not have, 'z' first; are they called alike?: 2, first" in text
    )
    assert "line 1, query 1, prediction 1" in text
    status, text = files.score("--lenient", videos="zy")
    assert (status, "none of the run's videos is in the ground truth" in text) == (0, True)
    assert files.score(videos="za")[0] == 0
