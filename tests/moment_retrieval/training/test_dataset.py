"""Data read for a training, and what of it cannot be used."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from moment_retrieval.batches import Sample, collate
from moment_retrieval.data import NoTrainingQueries, TrainingDataset, boundary_arrays, read_dataset
from moment_retrieval.errors import EmptyFile, ScoringError, ZeroLengthMoment
from moment_retrieval.features import FeatureStore, open_features
from moment_retrieval.preprocessing import Boundary, boundary_clips, clip_rows, word_rows
from moment_retrieval.training.feature_rows import FOLDER, FeatureCache, UnusableFeatures
from tests.moment_retrieval.durability import watched
from tests.moment_retrieval.training.tiny import (
    CLIP_S,
    Collection,
    plan_of,
    query_of,
    write_features,
    write_json,
)


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


def test_pairs_without_features_are_skipped_and_counted(data_folder: Path) -> None:
    without(data_folder / "video.h5", "video_03")
    without(data_folder / "query.h5", "0", "1", "5000")
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


def test_features_without_rows_are_as_none(data_folder: Path) -> None:
    without(data_folder / "video.h5", "video_03")
    with h5py.File(data_folder / "video.h5", "a") as file:
        file["video_03"] = np.empty((0, 16), np.float32)
    assert dataset_in(data_folder).samples.skipped == {"no features of the video": 8}


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


def test_nothing_left_to_learn_from_is_reported(data_folder: Path) -> None:
    write_features(
        data_folder / "query.h5", {"5000": np.ones((3, 10), np.float32), "7000": np.ones((3, 10), np.float32)}
    )
    with pytest.raises(NoTrainingQueries, match=r"train.json: no pair is left .*: 96 \(no features of the query\)"):
        dataset_in(data_folder)


def test_a_split_nobody_can_answer_is_reported(data_folder: Path) -> None:
    without(data_folder / "query.h5", *(str(number) for number in range(5000, 5024)))
    with pytest.raises(EmptyFile, match=r"val.json: none of the 24 queries has features"):
        dataset_in(data_folder)


def test_videos_without_subtitles_have_rows_of_zeros(data_folder: Path) -> None:
    without(data_folder / "subtitle.h5", "video_00", "video_05")
    dataset = dataset_in(data_folder)
    assert dataset.notices == ["2 of the 12 videos have no subtitles: rows of zeros stand for them"]
    rows = dataset.clips.heard.taken(torch.tensor([5]))
    assert int(rows.lengths[0]) == int(dataset.clips.seen.lengths[5])
    assert not rows.rows[:, :-2].any()
    assert rows.rows[:, -2:].any()  # where in the video they lie


def test_without_any_subtitles_nobody_speaks_in_any_video(data_folder: Path) -> None:
    dataset = dataset_in(data_folder, "reloclnet", subtitle=None)
    assert dataset.sizes == {"video_size": 16, "query_size": 10, "subtitle_size": 1}
    assert torch.equal(dataset.clips.heard.lengths, dataset.clips.seen.lengths)
    assert not dataset.clips.heard.rows.any()
    assert dataset.notices == []


def test_features_that_are_no_numbers_are_refused_by_name(data_folder: Path) -> None:
    with h5py.File(data_folder / "video.h5", "a") as file:
        file["video_07"][2, 3] = np.nan
    with pytest.raises(UnusableFeatures, match="video_07: a feature is not a finite number"):
        dataset_in(data_folder)
    assert not list((data_folder / "here" / FOLDER).glob("*.part"))


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


@pytest.mark.parametrize("name", ["video_corpus.json", "val.json", "train.json"])
def test_files_that_cannot_be_read_are_named(name: str, data_folder: Path) -> None:
    (data_folder / name).write_text("{")
    with pytest.raises(ScoringError, match=name):
        dataset_in(data_folder)
