"""XML in its own task, on the files of TVR, with each of its options: trained, stopped by another metric, searched."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from moment_retrieval.checkpoints import open_trained
from moment_retrieval.searchers import CorpusSearcher
from moment_retrieval.train import BAD_PLAN, DONE
from moment_retrieval.training import trainer
from moment_retrieval.training.events import curves, read_events
from tests.moment_retrieval.searching.test_searchers import Spoken
from tests.moment_retrieval.training.test_train import chance, last, train
from tests.moment_retrieval.training.tiny import Collection, experiment, write_json

OPTIONS: list[dict[str, Any]] = [
    {"sizes": {"encoder": "lstm"}},
    {"sizes": {"encoder": "cnn"}, "padding": "official"},
    {"sizes": {"modular": False}},
    {"sizes": {"streams": "video"}},
    {"sizes": {"streams": "subtitle"}, "padding": "official"},
    {"sizes": {"boundaries": "windows"}},
    {"sizes": {"boundaries": "groups"}},
    {"sizes": {"encoder": "lstm", "streams": "video", "boundaries": "windows"}, "precision": "bfloat16"},
    {"sizes": {"kernel_size": 1}, "decoding": {"videos": 3}},
    {"sizes": {"kernel_size": 7}, "reading": {"endpoints": False}},
]

ABLATIONS: list[dict[str, Any]] = [
    *({"encoder": "lstm"}, {"encoder": "cnn"}, {"modular": False}, {"streams": "video"}, {"streams": "subtitle"}),
    *({"boundaries": "windows"}, {"boundaries": "groups"}),
]


def as_tvr(query: Mapping[str, Any]) -> str:
    """A query with its moment as a line of TVR's files."""
    (moment,) = query["relevant_moment"]
    record = {"desc_id": query["query_id"], "desc": query["query"], "type": "vt", "vid_name": moment["video_name"]}
    return json.dumps({**record, "duration": moment["duration"], "ts": moment["timestamp"]})


def tvr_files(folder: Path) -> dict[str, Any]:
    """Write the tiny collection in TVR's own formats; returns their paths in a plan."""
    Collection().write(folder)
    for split in ("train", "val"):
        queries = json.loads((folder / f"{split}.json").read_text())
        (folder / f"tvr_{split}_release.jsonl").write_text("\n".join(map(as_tvr, queries)) + "\n")
    return {"train": "../tvr_train_release.jsonl", "val": "../tvr_val_release.jsonl", "test": None}


def test_the_files_of_tvr_train_the_same_model(tmp_path: Path) -> None:
    """Every query has one moment of similarity 1, so here the losses of samples count in full."""
    files = tvr_files(tmp_path)
    own = experiment(tmp_path, "xml", name="own", epochs=1, top_n=20, **files)
    ranked = experiment(tmp_path, "xml", name="ranked", epochs=1, test=None, objective={"weigh_by_similarity": False})
    assert train(own) == train(ranked) == DONE
    assert (last(own, "start")["samples"], last(own, "start")["steps"]) == (96, 6)
    assert last(own, "evaluation")["loss"] == last(ranked, "evaluation")["loss"]
    assert last(own, "done")["metrics"] == last(ranked, "done")["metrics"]
    metrics = last(own, "done")["metrics"]["val"]
    assert 0 < metrics["ndcg@20_0.3"] <= 1


def test_the_videos_of_training_need_not_be_searched(tmp_path: Path) -> None:
    """TVR searches the videos of one split, here given with their indexes, and trains on those of another."""
    files = tvr_files(tmp_path)
    videos = json.loads((tmp_path / "video_corpus.json").read_text())
    few = {name: [duration, number] for number, (name, duration) in enumerate(sorted(videos.items())[:4])}
    write_json(tmp_path / "val_corpus.json", few)
    lines = (tmp_path / "tvr_val_release.jsonl").read_text().splitlines()
    text = "\n".join(line for line in lines if json.loads(line)["vid_name"] in few)
    (tmp_path / "tvr_val_release.jsonl").write_text(text)
    folder = experiment(tmp_path, "xml", epochs=1, corpus="../val_corpus.json", **files)
    assert train(folder) == DONE
    assert last(folder, "start")["samples"] == 96
    rows = json.loads((folder / "predictions.val.json").read_text())
    assert len(rows) == 8 and {row[0] for query in rows for row in query["predictions"]} <= set(few)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: json.dumps(options["sizes"]))
def test_every_option_trains_and_is_searched_with(options: dict[str, Any], tmp_path: Path) -> None:
    """An answer to typed words is what the training predicted, moment for moment."""
    folder = experiment(tmp_path, "xml", epochs=1, **tvr_files(tmp_path), **options)
    assert train(folder) == DONE
    config = open_trained(folder).model.config
    assert {name: getattr(config, name) for name in options["sizes"]} == options["sizes"]
    predicted = json.loads((folder / "predictions.val.json").read_text())[3]
    answer = CorpusSearcher.open(folder, Spoken(tmp_path)).answer(str(predicted["query_id"]), 100, every=True)
    assert [[hit.video, hit.start_s, hit.end_s] for hit in answer.hits] == [row[:3] for row in predicted["predictions"]]
    assert len({hit.video for hit in answer.hits}) <= options.get("decoding", {}).get("videos", 12)
    lengths = json.loads((tmp_path / "video_corpus.json").read_text())
    if "boundaries" in options["sizes"]:
        assert all(0 <= hit.start_s < hit.end_s <= lengths[hit.video] for hit in answer.hits)


@pytest.mark.slow
@pytest.mark.parametrize("options", ABLATIONS, ids=str)
def test_every_ablation_learns(options: dict[str, Any], tmp_path: Path) -> None:
    how = {"epochs": 12, "evaluations_per_epoch": 0.5, "objective": {"span_weight": 0.1}}
    folder = experiment(tmp_path, "xml", sizes=options, **how, **tvr_files(tmp_path))
    assert train(folder) == DONE
    values = [value for _, value in curves(read_events(folder))["ndcg@20_0.5"]]
    assert values[0] < max(values) and max(values) > 3 * chance(tmp_path)


def test_the_best_weights_are_chosen_by_any_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = iter([0.2, 0.5, 0.4, 0.0])

    def metrics_of(table: Any, split: Any) -> dict[str, float]:
        return {"ndcg@20_0.5": 0.1, "vcmr_r@1_0.5": next(scores)}

    monkeypatch.setattr(trainer, "metrics_of", metrics_of)
    folder = experiment(tmp_path, "xml", epochs=3, selected_by="vcmr_r@1_0.5", test=None)
    assert train(folder) == DONE
    evaluations = [event["best"] for event in read_events(folder) if event["kind"] == "evaluation"]
    assert evaluations == [True, True, False]
    assert last(folder, "done")["best_step"] == 12


def test_a_metric_that_no_evaluation_has_is_refused_with_those_it_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = experiment(tmp_path, "xml", epochs=1, selected_by="recall")
    assert train(folder) == BAD_PLAN
    words = capsys.readouterr().err
    assert "selected_by must be a metric of an evaluation, one of " in words and words.endswith("; got recall\n")
    assert "ndcg@20_0.5" in words and last(folder, "failed")["reason"] in words
