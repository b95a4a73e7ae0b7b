"""Data read for a training, and what of it cannot be used."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from moment_retrieval import data as samples
from moment_retrieval.batches import Sample, collate
from moment_retrieval.data import (
    NoTrainingQueries,
    TrainingDataset,
    TrainRows,
    boundary_arrays,
    read_dataset,
    read_training,
)
from moment_retrieval.errors import (
    EmptyFile,
    InvalidRecord,
    MalformedFile,
    ScoringError,
    UnknownVideo,
    ZeroLengthMoment,
)
from moment_retrieval.features import FeatureStore, open_features
from moment_retrieval.preprocessing import Boundary, boundary_clips, clip_rows, word_rows
from moment_retrieval.records import VideoCorpus
from moment_retrieval.training.feature_rows import FOLDER, FeatureCache, UnusableFeatures
from tests.moment_retrieval.durability import watched
from tests.moment_retrieval.training.tiny import CLIP_S, Collection, plan_of, query_of, write_json


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    Collection().write(tmp_path)
    return tmp_path


def dataset_in(root: Path, baseline: str = "xml", **changes: Any) -> TrainingDataset:
    folder = root / "here"
    folder.mkdir(exist_ok=True)
    return read_dataset(plan_of(baseline, **changes).located(folder), FeatureCache(folder))


def changed(path: Path, change: Callable[[Any], Any]) -> None:
    write_json(path, change(json.loads(path.read_text())))


def without(path: Path, *names: str) -> None:
    with h5py.File(path, "a") as file:
        for name in names:
            del file[name]


def test_a_batch_is_what_preprocessing_and_collating_one_by_one_give(data_folder: Path) -> None:
    dataset = dataset_in(data_folder, objective={"mask_positives": True})
    samples, rows = dataset.samples, torch.tensor([5, 60, 6, 0])
    video, words, subtitles = (open_features(data_folder / f"{kind}.h5") for kind in ("video", "query", "subtitle"))
    numbers = [query["query_id"] for query in json.loads((data_folder / "train.json").read_text())]
    singles = [
        Sample(
            query=word_rows(words.rows(str(numbers[samples.query[row]])), limit=8),
            video=clip_rows(video.rows(dataset.clips.names[samples.video[row]]), limit=20, endpoints=True),
            subtitle=clip_rows(subtitles.rows(dataset.clips.names[samples.video[row]]), limit=20, endpoints=True),
            start=int(samples.start[row]),
            end=int(samples.end[row]),
            similarity=0.9,
            query_id=str(int(samples.query[row])),
            video_id=str(int(samples.video[row])),
        )
        for row in rows
    ]
    positives = {str(int(query)): {str(int(samples.video[query]))} for query in samples.query}
    one, other = samples.batch(rows), collate(singles, positives_of=positives)
    for name in ("queries", "video", "subtitle"):
        assert torch.equal(getattr(one, name).rows, getattr(other, name).rows)
        assert torch.equal(getattr(one, name).lengths, getattr(other, name).lengths)
    for name in ("start", "end", "similarity", "positives"):
        assert torch.equal(getattr(one, name), getattr(other, name)), name


@pytest.mark.parametrize("boundary", Boundary)
def test_clips_of_many_moments_are_those_of_each(boundary: Boundary) -> None:
    draw = np.random.default_rng(2)
    start = np.round(draw.uniform(0, 40, 300), 1)
    end, clips = start + np.round(draw.exponential(3, 300), 1), draw.integers(1, 30, 300)
    firsts, lasts = boundary_arrays(start, end, clips, boundary)
    for row in range(300):
        try:
            correct = boundary_clips(start[row], end[row], int(clips[row]), boundary=boundary)
        except ZeroLengthMoment:
            assert lasts[row] < firsts[row]
        else:
            assert (firsts[row], lasts[row]) == correct


def test_labels_end_with_the_subtitles_where_these_are_shorter_as_released_for_xml_and_reloclnet(
    data_folder: Path,
) -> None:
    """CONQUER's own data set counts the rows of the video."""
    with h5py.File(data_folder / "subtitle.h5", "a") as file:
        name = next(iter(file))
        two_rows = file[name][:2]
        del file[name]
        file[name] = two_rows
    dataset, rows = dataset_in(data_folder), read_training(data_folder / "train.json", 1, None)
    video = dataset.clips.names.index(name)
    for boundary, last in ((Boundary.AFTER, 1), (Boundary.LAST, 8)):
        pairs = samples.make_samples(rows, dataset.samples.queries, dataset.clips, boundary)
        assert int(pairs.end[pairs.video == video].max()) == last


@pytest.mark.parametrize("rows", [None, np.empty((0, 16), np.float32)], ids=["none", "empty"])
def test_pairs_without_features_are_skipped_and_counted(data_folder: Path, rows: np.ndarray | None) -> None:
    without(data_folder / "video.h5", "video_03")
    without(data_folder / "query.h5", "0", "1", "5000")
    if rows is not None:
        with h5py.File(data_folder / "video.h5", "a") as file:
            file["video_03"] = rows
    dataset = dataset_in(data_folder)
    assert len(dataset.samples) == 96 - 8 - 2
    assert dataset.samples.skipped == {"no features of the video": 8, "no features of the query": 2}
    assert dataset.notices == [
        "8 (no features of the video), 2 (no features of the query), of the training pairs, are skipped",
        "1 of the 12 videos have no features and cannot be retrieved",
        "1 of the 24 queries of val have no features and score 0",
    ]
    assert 3 not in dataset.clips.found.tolist()


@pytest.mark.parametrize("baseline", ["xml", "reloclnet"])
def test_clips_say_where_they_lie_where_the_plan_wants_it(data_folder: Path, baseline: str) -> None:
    without_them, with_them = (dataset_in(data_folder, baseline, reading={"endpoints": ends}) for ends in (False, True))
    kinds = ("video_size", "subtitle_size", "query_size")
    assert [with_them.sizes[kind] - without_them.sizes[kind] for kind in kinds] == [2, 2, 0]
    one, other = (dataset.samples.batch(torch.tensor([4])).video.rows for dataset in (without_them, with_them))
    assert torch.equal(other[:, :-2], one)
    count = len(one)
    assert other[:, -2].tolist() == pytest.approx([clip / count for clip in range(count)])


def test_a_moment_without_a_clip_is_skipped_by_conquer_alone(data_folder: Path) -> None:
    moments = {"video_name": "video_00", "similarity": 1.0}
    short = query_of(0, [{**moments, "timestamp": [3.0, 3.0]}, {**moments, "timestamp": [6, 4.0]}])
    changed(data_folder / "train.json", lambda queries: [short, *queries[1:]])
    (data_folder / "lists.json").write_text("{}")
    lists = {"source": "listed", "path": "../lists.json"}
    assert dataset_in(data_folder, "conquer", top_n=20, candidates=lists).samples.skipped == {
        "the moment ends before it starts": 1,
        "the moment holds no clip": 1,
    }
    assert dataset_in(data_folder, "xml", top_n=20).samples.skipped == {"the moment ends before it starts": 1}


def unfinite(folder: Path) -> None:
    with h5py.File(folder / "video.h5", "a") as file:
        file["video_07"][2, 3] = np.nan


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (
            lambda folder: without(folder / "query.h5", *map(str, range(96))),
            NoTrainingQueries,
            r"train.json: no pair is left .*: 96 \(no features of the query\)",
        ),
        (
            lambda folder: without(folder / "query.h5", *map(str, range(5000, 5024))),
            EmptyFile,
            r"val.json: none of the 24 queries has features",
        ),
        (unfinite, UnusableFeatures, "video_07: a feature is not a finite number"),
        *(
            (lambda folder, name=name: (folder / name).write_text("{"), ScoringError, name)
            for name in ("video_corpus.json", "val.json", "train.json")
        ),
    ],
)
def test_what_cannot_be_used_is_reported_by_name(
    change: Callable[[Path], object], error: type[ScoringError], words: str, data_folder: Path
) -> None:
    change(data_folder)
    with pytest.raises(error, match=words):
        dataset_in(data_folder)
    assert not list((data_folder / "here" / FOLDER).glob("*.part"))


def test_videos_without_subtitles_have_rows_of_zeros(data_folder: Path) -> None:
    without(data_folder / "subtitle.h5", "video_00", "video_05")
    dataset = dataset_in(data_folder)
    assert dataset.notices == ["2 of the 12 videos have no subtitles: rows of zeros stand for them"]
    rows = dataset.clips.heard.taken(torch.tensor([5]))
    assert int(rows.lengths[0]) == int(dataset.clips.seen.lengths[5])
    assert not rows.rows[:, :-2].any()
    assert rows.rows[:, -2:].any()  # where in the video they lie
    dataset = dataset_in(data_folder, "reloclnet", subtitle=None)
    assert dataset.sizes == {"video_size": 16, "query_size": 10, "subtitle_size": 1}
    assert torch.equal(dataset.clips.heard.lengths, dataset.clips.seen.lengths)
    assert not dataset.clips.heard.rows.any()
    assert dataset.notices == []


def test_features_are_prepared_once(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = dataset_in(data_folder)

    def refuse(self: FeatureStore, name: str) -> np.ndarray:
        raise AssertionError(name)

    monkeypatch.setattr(FeatureStore, "rows", refuse)
    again = dataset_in(data_folder)
    assert torch.equal(again.clips.seen.rows, first.clips.seen.rows)
    with pytest.raises(AssertionError):
        dataset_in(data_folder, sizes={"clips": 9})  # read otherwise


def test_prepared_rows_are_on_the_disk_before_their_lengths(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = watched(monkeypatch)
    dataset_in(data_folder)
    kinds = [(act, Path(name).suffix) for act, name in events]
    each = [("fsync", ".part"), ("move", ".rows"), ("fsync", ""), ("fsync", ".part"), ("move", ".npz"), ("fsync", "")]
    files = len(list((data_folder / "here" / FOLDER).glob("*.npz")))
    assert files > 1 and kinds == files * each


def test_the_loss_of_a_split_is_of_each_querys_most_relevant_moment(data_folder: Path) -> None:
    def rows(*values: tuple[float, int]) -> list[dict[str, Any]]:
        span = [{"timestamp": [start, start + 3], "relevance": relevance} for start, relevance in values]
        return [{"video_name": "video_01", "similarity": 0.8, **one} for one in span]

    queries = [query_of(5000, rows((0, 1), (3, 4), (6, 4))), query_of(5001, rows((0, 0))), query_of(5002, [])]
    write_json(data_folder / "val.json", queries)
    samples = dataset_in(data_folder).splits["val"].samples
    assert samples.query.tolist() == [0]
    assert samples.start.tolist() == [int(3 / CLIP_S)]
    assert samples.similarity.tolist() == pytest.approx([0.8])


def moment(video: str | int, start: float = 0, similarity: float = 0.9) -> dict[str, Any]:
    return {"video_name": video, "timestamp": [start, start + 3], "similarity": similarity}


def query(number: int, *moments: dict[str, Any]) -> dict[str, Any]:
    return {"query_id": number, "query": "somebody waits", "relevant_moment": list(moments)}


def sample_tuples(rows: TrainRows) -> list[tuple[str, str, float]]:
    return [
        (rows.query_ids[row], rows.video_names[video], start)
        for row, video, start in zip(rows.query, rows.video, rows.start_s, strict=True)
    ]


@pytest.mark.parametrize("block", [7, samples.BLOCK])
def test_the_best_n_of_a_longer_file_are_taken(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "BLOCK", block)
    queries = [query(number, *(moment(f"v{rank}", rank) for rank in range(30))) for number in (7, 8)]
    path = write_json(tmp_path / "train.json", queries)
    assert sample_tuples(read_training(path, 1)) == [("7", "v0", 0), ("8", "v0", 0)]
    assert sample_tuples(read_training(path, 20))[:20] == [("7", f"v{rank}", rank) for rank in range(20)]
    assert len(read_training(path, 40)) == 60


def test_lines_of_april_indexes_of_videos_and_shuffled_links_are_read(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl.gz"
    pairs = [{"query_id": number, "query": "x", **moment(f"v{rank}", rank)} for rank in range(3) for number in (4, 9)]
    path.write_bytes(gzip.compress("".join(json.dumps(pair) + "\n" for pair in pairs).encode()))
    assert sample_tuples(read_training(path, 1)) == [("4", "v0", 0), ("9", "v0", 0)]
    assert len(read_training(path, 20)) == 6
    path = write_json(tmp_path / "train.json", [query(1, moment(3))])
    assert sample_tuples(read_training(path, 1, VideoCorpus({"a": 9.0}, {3: "a"}))) == [("1", "a", 0)]
    with pytest.raises(UnknownVideo, match="entry 1: query 1: moment 1: the corpus has no video with index 3"):
        read_training(path, 1, VideoCorpus({"a": 9.0}, {2: "a"}))
    queries = [query(number, moment(f"v{number}"), moment(f"w{number}")) for number in range(9)]
    rows = read_training(write_json(tmp_path / "train.json", queries), 20)
    shuffled = rows.shuffled_links(seed=5)
    owners = {(row[1][1:], row[0]) for row in sample_tuples(shuffled)}
    assert len(owners) == 9  # both moments of a query went to the same one
    assert {own for own, _ in owners} == {query_id for _, query_id in owners}
    assert all(own != query_id for own, query_id in owners)
    assert np.array_equal(shuffled.query, rows.shuffled_links(seed=5).query)
    assert not np.array_equal(shuffled.query, rows.shuffled_links(seed=6).query)


EMPTY = ("[]", "", "[\n]", json.dumps([query(1)]))


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        ('[{"query_id": 1, "relevant_moment": [{"video', MalformedFile, "not JSON, cut off"),
        ("[1]", InvalidRecord, "an entry must be an object"),
        ('[{"query_id": 1, "relevant_moment": [{"video_name": "a"}]}]', InvalidRecord, "no key timestamp"),
        (json.dumps([query(1, moment("a", -2))]), InvalidRecord, "times must be seconds from 0"),
        ('[{"query_id": 1, "relevant_moment": [{"video_name": "a", "timestamp": [NaN, 2]}]}]', InvalidRecord, "finite"),
        *((content, NoTrainingQueries, "there are no training queries") for content in EMPTY),
        (None, ScoringError, "No such file"),
    ],
)
def test_what_is_wrong_is_reported_with_its_position(
    content: str | None, error: type[ScoringError], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "train.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(error, match=f"train.json: .*{words}"):
        read_training(path, 1)
