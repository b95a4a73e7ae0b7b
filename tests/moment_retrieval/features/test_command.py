"""The library's command makes features of a folder and checks what there is, without Django."""

import json
from pathlib import Path

import numpy as np
import pytest

from moment_retrieval.cli import main
from moment_retrieval.features import FeatureWriter, open_features
from tests.moment_retrieval.features.test_extractors import film
from tests.moment_retrieval.features.test_tuning import roberta

__all__ = ["roberta"]  # a fixture


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "corpus.json").write_text(json.dumps({"one": 3.0, "two": [2.0, 1]}))
    return tmp_path / "corpus.json"


def test_videos_of_a_folder_get_features(tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "videos").mkdir()
    film(tmp_path / "videos" / "one.mp4", 3.0)
    target = tmp_path / "video.h5"
    command = ["features", "extract", "video", "--corpus", str(corpus), "--to", str(target)]
    assert main([*command, "--folder", str(tmp_path / "videos")]) == 2
    output = capsys.readouterr()
    assert "video.h5: 1 of 2, 512 numbers in a row, by pixels 1" in output.out
    assert "error: two: the video file does not exist" in output.err
    assert open_features(target).names == ["one"]
    assert main(["features", "check", "--video", str(target), "--corpus", str(corpus)]) == 2
    assert "error: video: no features: 1 (two)" in capsys.readouterr().err


def test_queries_and_speech_get_features(tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "val.json").write_text(json.dumps([{"query_id": 3, "query": "hello", "relevant_moment": []}]))
    spoken = [{"vid_name": "one", "sub": [{"text": "Hi", "start": 1.6, "end": 2.0}]}, {"vid_name": "x", "sub": []}]
    (tmp_path / "subs.jsonl").write_text("\n".join(map(json.dumps, spoken)))
    query, subtitle = tmp_path / "query.h5", tmp_path / "subtitle.h5"
    queries = ["--queries", str(tmp_path / "val.json")]
    assert main(["features", "extract", "query", "--to", str(query), *queries]) == 0
    options = ["--corpus", str(corpus), "--subtitles", str(tmp_path / "subs.jsonl")]
    assert main(["features", "extract", "subtitle", "--to", str(subtitle), *options]) == 0
    assert open_features(query).rows("3").shape == (3, 384)
    assert [bool(row.any()) for row in open_features(subtitle).rows("one")] == [False, True]
    capsys.readouterr()
    files = ["--query", str(query), "--subtitle", str(subtitle), "--corpus", str(corpus)]
    assert main(["features", "check", *files, *queries]) == 0
    assert capsys.readouterr().out == "Everything is in order.\n"
    assert main(["features", "check", *files, *queries, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["check"], "say what to check"),
        (["extract", "query", "--to", "x.h5"], "need --queries"),
        (["check", "--video", "nothing.h5"], "no such file"),
        (["extract", "query", "--to", "x.h5", "--queries", "FILE", "--extractor", "builtin-pixels"], "makes no query"),
    ],
)
def test_arguments_that_cannot_be_used_are_reported(
    tmp_path: Path, arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "q.json").write_text('[{"query_id": 1, "query": "a"}]')
    assert main(["features", *(str(tmp_path / "q.json") if word == "FILE" else word for word in arguments)]) == 2
    assert problem in capsys.readouterr().err


def test_the_check_says_how_a_file_was_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "corpus.json").write_text(json.dumps({"one": 3.0}))
    (tmp_path / "videos").mkdir()
    film(tmp_path / "videos" / "one.mp4", 3.0)
    target = str(tmp_path / "video.h5")
    command = ["features", "extract", "video", "--corpus", str(tmp_path / "corpus.json"), "--to", target]
    assert main([*command, "--folder", str(tmp_path / "videos")]) == 0
    capsys.readouterr()
    assert main(["features", "check", "--video", target]) == 0
    output = capsys.readouterr()
    assert output.out == "Everything is in order.\n"
    assert output.err == (
        "video: extractor: builtin-pixels; model: pixels 1; seconds of a clip: 1.5; frames a second: 4;"
        " pooling: sums over the frames of a clip; normalisation: none; numbers in a row: 512\n"
    )


def test_files_are_joined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(tmp_path / name) for name in ("a.h5", "b.h5", "c.h5")]
    for path, width, names in zip(paths[:2], (2, 3), (("one", "two"), ("one",)), strict=True):
        with FeatureWriter(path, width=width) as writer:
            for name in names:
                writer.add(name, np.ones((2 * width, width), np.float32))
    assert main(["features", "join", *paths[:2], "--to", paths[2]]) == 2
    output = capsys.readouterr()
    assert output.out == (
        f"{paths[2]}: 1 joined, 5 numbers in a row\ncut to the shorter by more than a clip: 1 (one)\n"
    )
    assert "error: two: no features of 'two' in b.h5" in output.err
    assert main(["features", "join", paths[0], "--to", paths[2]]) == 2
    assert "two files of features or more" in capsys.readouterr().err


def test_a_text_model_is_tuned_and_makes_features_of_its_second_to_last_layer(
    tmp_path: Path, roberta: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.json").write_text(json.dumps([{"query_id": 3, "query": "a man opens the door"}]))
    (tmp_path / "tvr.jsonl").write_text('{"desc_id": 1, "desc": "she smiles at him"}')
    spoken = [{"vid_name": name, "sub": [{"text": f"the {name}", "start": 0, "end": 1}]} for name in ("man", "door")]
    (tmp_path / "subs.jsonl").write_text("\n".join(map(json.dumps, spoken)))
    (tmp_path / "corpus.json").write_text(json.dumps({"man": 3.0}))
    command = ["features", "tune", "--model", str(roberta), "--to", str(tmp_path / "tuned"), "--epochs", "1"]
    assert main(command) == 2
    assert "tuning needs texts" in capsys.readouterr().err
    texts = ["--queries", str(tmp_path / "train.json"), str(tmp_path / "tvr.jsonl")]
    texts += ["--subtitles", str(tmp_path / "subs.jsonl"), "--corpus", str(tmp_path / "corpus.json")]
    assert main([*command, *texts]) == 0
    output = capsys.readouterr()
    assert "tuned on 3 texts; loss of each epoch: " in output.out and "1 of 1 steps, loss" in output.err
    making = ["features", "extract", "query", "--queries", str(tmp_path / "train.json"), "--layer", "-2"]
    making += ["--extractor", "text-model", "--model", str(tmp_path / "tuned"), "--to", str(tmp_path / "query.h5")]
    assert main(making) == 0
    with open_features(tmp_path / "query.h5") as store:
        assert store.rows("3").shape == (7, 16) and store.attributes["layer"] == -2
    making[making.index("-2")] = "-1"
    assert main(making) == 2
    assert (
        "features of another kind are there (layer: -2, and now -1). Write to another file" in capsys.readouterr().err
    )
