"""The library's command makes features of a folder and checks what there is, without Django."""

import json
from pathlib import Path

import pytest

from moment_retrieval.cli import main
from moment_retrieval.features import open_features
from tests.moment_retrieval.features.test_extractors import film


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
