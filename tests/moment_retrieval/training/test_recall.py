"""Recall that a training reports beside NDCG: of the corpus, of each query's own video, and of videos."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from moment_retrieval.batches import Sequences
from moment_retrieval.checkpoints import Trained, open_trained
from moment_retrieval.data import Split, TrainingDataset, read_dataset
from moment_retrieval.formats import read_ground_truth, read_run
from moment_retrieval.metrics.recall import KS, MUS, Task, recall
from moment_retrieval.search import encode_corpus, search, search_tasks
from moment_retrieval.tables import JudgedTable, RunTable
from moment_retrieval.train import DONE, train
from moment_retrieval.training.evaluation import AmongCandidates, Candidates, WholeCorpus, batches, metrics_of
from moment_retrieval.training.events import read_events
from moment_retrieval.training.feature_rows import FeatureCache
from tests.moment_retrieval.training.tiny import experiment

CPU = torch.device("cpu")


def test_a_training_reports_the_recall_of_its_predictions(tmp_path: Path) -> None:
    folder = experiment(tmp_path, epochs=1)
    assert train(folder) == DONE
    events = read_events(folder)
    metrics = next(event for event in events if event["kind"] == "done")["metrics"]["val"]
    assert {len(moments) for moments in read_run(folder / "predictions.val.json").values()} == {100}
    scores = recall(read_run(folder / "predictions.val.json"), read_ground_truth(tmp_path / "val.json"))
    reference = {f"vcmr_r@{measure.k}_{measure.mu}": value for measure, value in scores.mean.items()}
    assert len(reference) == len(KS) * len(MUS)
    assert reference.items() <= metrics.items()
    evaluation = next(event for event in events if event["kind"] == "evaluation")["metrics"]
    assert {"svmr_r@1_0.5", "svmr_r@100_0.7", "vr_r@1", "vr_r@100"} <= evaluation.keys()


def tiny_dataset(folder: Path, baseline: str, **more: Any) -> tuple[Trained, TrainingDataset]:
    experiment_folder = experiment(folder, baseline, epochs=1, **more)
    assert train(experiment_folder) == DONE
    trained = open_trained(experiment_folder, which="best", device=CPU)
    return trained, read_dataset(trained.plan.located(experiment_folder), FeatureCache(folder / "rows"))


def test_the_own_video_is_searched_as_if_it_were_the_corpus(tmp_path: Path) -> None:
    trained, dataset = tiny_dataset(tmp_path, "reloclnet")
    split, clips, model = dataset.splits["val"], dataset.clips, trained.model
    own = split.own_video.clone()
    own[3] = -1
    queries = split.queries.taken(torch.arange(len(own)))
    corpus = encode_corpus(model, batches(clips, clips.found, CPU, lambda: None))
    index = torch.searchsorted(clips.found, own.clamp(min=0)).masked_fill(own < 0, -1)
    results = search_tasks(model, queries, corpus, index, trained.decoding)
    everything = search(model, queries, corpus, trained.decoding)
    assert torch.equal(results[Task.VCMR].video, everything.video)
    assert torch.equal(results[Task.VCMR].start, everything.start)
    assert not results[Task.SVMR].real[3].any()
    for row in (0, 1, 7):
        alone = encode_corpus(model, batches(clips, own[row : row + 1], CPU, lambda: None))
        one = search(model, one_query(split, row), alone, trained.decoding)
        for column in ("start", "end"):
            ours, theirs = (getattr(result, column) for result in (results[Task.SVMR], one))
            assert torch.equal(ours[row][: theirs.shape[1]], theirs[0])
        assert set(results[Task.SVMR].video[row].tolist()) == {int(index[row])}
    scores = corpus.scores(model.encode_queries(queries))
    assert torch.equal(results[Task.VR].video[:, 0], scores.argmax(1))


def one_query(split: Split, row: int) -> Sequences:
    return split.queries.taken(torch.tensor([row]))


def test_candidates_are_the_videos_that_conquer_ranks(tmp_path: Path) -> None:
    names = [f"video_{number:02d}" for number in range(12)]
    ids = [str(5000 + number) for number in range(24)]
    (tmp_path / "lists.json").write_text(json.dumps(dict.fromkeys(ids, names[:4])))
    lists = {"source": "listed", "path": "../lists.json"}
    trained, dataset = tiny_dataset(tmp_path, "conquer", candidates=lists, test=None)
    split, clips = dataset.splits["val"], dataset.clips
    numbers = torch.tensor([clips.names.index(name) for name in names[:4]])
    candidates = numbers.expand(len(split.judged), -1).clone()
    candidates[2, 1:] = -1
    retriever = AmongCandidates(clips, trained.decoding, CPU, {"val": Candidates(candidates)})
    results = retriever(trained.model, [split], lambda: None)["val"]
    videos = [[moment.video for moment in moments] for moments in results[Task.VR].values()]
    assert videos[0] == names[:4] and videos[2] == names[:1]
    for query_id, moments in results[Task.SVMR].items():
        own = clips.names[int(split.own_video[split.judged.row_of[query_id]])]
        assert {moment.video for moment in moments} == {own}


def test_recall_is_reported_by_the_type_of_a_query(tmp_path: Path) -> None:
    trained, dataset = tiny_dataset(tmp_path, "xml")
    split = dataset.splits["val"]
    results = WholeCorpus(dataset.clips, trained.decoding, CPU)(trained.model, [split], lambda: None)["val"]
    kinds = tuple("vt" if number % 3 else "v" for number in range(len(split.judged)))
    judged = JudgedTable(
        split.judged.query_ids, split.judged.offsets, split.judged.spans, split.judged.weights, kinds=kinds
    )
    typed = Split(split.name, judged, split.queries, split.samples, split.own_video)
    metrics = metrics_of(results, typed)
    share = kinds.count("v") / len(kinds)
    mean = share * metrics["v-vcmr_r@10_0.5"] + (1 - share) * metrics["vt-vcmr_r@10_0.5"]
    assert mean == pytest.approx(metrics["vcmr_r@10_0.5"])
    assert not [name for name in metrics_of(results, split) if name.startswith("v-")]


def test_a_query_whose_video_cannot_be_searched_scores_nothing_there(tmp_path: Path) -> None:
    trained, dataset = tiny_dataset(tmp_path, "xml")
    split = dataset.splits["val"]
    nowhere = Split(split.name, split.judged, split.queries, split.samples, torch.full_like(split.own_video, -1))
    results = WholeCorpus(dataset.clips, trained.decoding, CPU)(trained.model, [nowhere], lambda: None)["val"]
    assert isinstance(results[Task.SVMR], RunTable)
    metrics = metrics_of(results, nowhere)
    assert metrics["svmr_r@100_0.5"] == 0.0 and metrics["vr_r@100"] > 0
