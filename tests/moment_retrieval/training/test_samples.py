import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moment_retrieval import data as samples
from moment_retrieval.data import NoTrainingQueries, TrainRows, read_training
from moment_retrieval.errors import InvalidRecord, MalformedFile, ScoringError, UnknownVideo
from moment_retrieval.records import VideoCorpus


def moment(video: str | int, start: float = 0, similarity: float = 0.9) -> dict[str, Any]:
    return {"video_name": video, "timestamp": [start, start + 3], "similarity": similarity}


def query(number: int, *moments: dict[str, Any]) -> dict[str, Any]:
    return {"query_id": number, "query": "somebody waits", "relevant_moment": list(moments)}


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def sample_tuples(rows: TrainRows) -> list[tuple[str, str, float]]:
    return [
        (rows.query_ids[row], rows.video_names[video], start)
        for row, video, start in zip(rows.query, rows.video, rows.start_s, strict=True)
    ]


def test_the_best_n_of_a_longer_file_are_taken(tmp_path: Path) -> None:
    path = write_json(tmp_path / "train.json", [query(7, *(moment(f"v{rank}", rank) for rank in range(30)))])
    assert sample_tuples(read_training(path, 1)) == [("7", "v0", 0)]
    assert sample_tuples(read_training(path, 20)) == [("7", f"v{rank}", rank) for rank in range(20)]
    assert len(read_training(path, 40)) == 30


def test_a_file_read_in_small_pieces_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries = [query(number, *(moment(f"v{number}_{rank}", rank) for rank in range(3))) for number in range(5)]
    path = write_json(tmp_path / "train.json", queries)
    whole = sample_tuples(read_training(path, 20))
    monkeypatch.setattr(samples, "BLOCK", 7)
    assert sample_tuples(read_training(path, 20)) == whole
    assert len(whole) == 15


def test_lines_of_april_hold_one_pair_each(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl.gz"
    pairs = [{"query_id": number, "query": "x", **moment(f"v{rank}", rank)} for rank in range(3) for number in (4, 9)]
    path.write_bytes(gzip.compress("".join(json.dumps(pair) + "\n" for pair in pairs).encode()))
    assert sample_tuples(read_training(path, 1)) == [("4", "v0", 0), ("9", "v0", 0)]
    assert len(read_training(path, 20)) == 6


def test_indexes_of_videos_are_translated(tmp_path: Path) -> None:
    path = write_json(tmp_path / "train.json", [query(1, moment(3))])
    assert sample_tuples(read_training(path, 1, VideoCorpus({"a": 9.0}, {3: "a"}))) == [("1", "a", 0)]
    with pytest.raises(UnknownVideo, match="entry 1: query 1: moment 1: the corpus has no video with index 3"):
        read_training(path, 1, VideoCorpus({"a": 9.0}, {2: "a"}))


@pytest.mark.parametrize("content", ["[]", "", "[\n]", json.dumps([query(1)])])
def test_a_release_without_training_queries_is_reported_as_one(content: str, tmp_path: Path) -> None:
    path = tmp_path / "train.json"
    path.write_text(content)
    with pytest.raises(NoTrainingQueries, match="train.json: there are no training queries"):
        read_training(path, 1)


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        ('[{"query_id": 1, "relevant_moment": [{"video', MalformedFile, "not JSON, cut off"),
        ("[1]", InvalidRecord, "an entry must be an object"),
        ('[{"query_id": 1, "relevant_moment": [{"video_name": "a"}]}]', InvalidRecord, "no key timestamp"),
        (json.dumps([query(1, moment("a", -2))]), InvalidRecord, "times must be seconds from 0"),
        ('[{"query_id": 1, "relevant_moment": [{"video_name": "a", "timestamp": [NaN, 2]}]}]', InvalidRecord, "finite"),
    ],
)
def test_what_is_wrong_is_reported_with_its_position(
    content: str, error: type[ScoringError], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "train.json"
    path.write_text(content)
    with pytest.raises(error, match=f"train.json: .*{words}"):
        read_training(path, 1)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScoringError, match="train.json: No such file"):
        read_training(tmp_path / "train.json", 1)


def test_shuffled_links_give_every_query_the_moments_of_another(tmp_path: Path) -> None:
    queries = [query(number, moment(f"v{number}"), moment(f"w{number}")) for number in range(9)]
    rows = read_training(write_json(tmp_path / "train.json", queries), 20)
    shuffled = rows.shuffled_links(seed=5)
    owners = {(row[1][1:], row[0]) for row in sample_tuples(shuffled)}
    assert len(owners) == 9  # both moments of a query went to the same one
    assert {own for own, _ in owners} == {query_id for _, query_id in owners}
    assert all(own != query_id for own, query_id in owners)
    assert np.array_equal(shuffled.query, rows.shuffled_links(seed=5).query)
    assert not np.array_equal(shuffled.query, rows.shuffled_links(seed=6).query)
