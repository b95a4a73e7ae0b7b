"""Whole trainings on a tiny collection."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from moment_retrieval.checkpoints import open_trained
from moment_retrieval.cli import main
from moment_retrieval.formats import read_ground_truth, read_run
from moment_retrieval.metrics.ndcg_iou import Convention, Measure
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.tables import RunTable
from moment_retrieval.train import DONE, FAILED
from moment_retrieval.training import evaluation, trainer
from moment_retrieval.training.evaluation import WholeCorpus
from moment_retrieval.training.events import curves, read_events
from tests.moment_retrieval.training.tiny import CLIP_S, experiment


def train(folder: Path) -> int:
    return main(["train", str(folder)])


def last(folder: Path, kind: str) -> dict[str, Any]:
    return [event for event in read_events(folder) if event["kind"] == kind][-1]


def chance(folder: Path) -> float:
    draw, judged = np.random.default_rng(1), read_ground_truth(folder / "val.json")
    shape = (len(judged), 40)
    video, start, clips = draw.integers(12, size=shape), draw.integers(14, size=shape), draw.integers(2, 17, size=shape)
    names = [f"video_{number:02d}" for number in range(12)]
    table = RunTable.from_arrays(judged.query_ids, video, start * CLIP_S, (start + clips) * CLIP_S, names=names)
    return evaluate(table, judged).mean[Measure(20, 0.5)]


@pytest.mark.parametrize("baseline", ["reloclnet", pytest.param("xml", marks=pytest.mark.slow)])
def test_a_baseline_learns_and_its_predictions_score_as_reported(baseline: str, tmp_path: Path) -> None:
    folder = experiment(tmp_path, baseline, epochs=10, evaluations_per_epoch=0.5)
    assert train(folder) == DONE
    history, final_event = curves(read_events(folder)), last(folder, "done")
    values = [value for _, value in history["ndcg@20_0.5"]]
    assert values[0] < 0.9 < values[-1]
    assert values[-1] > 3 * chance(tmp_path)
    assert history["val_loss"][-1][1] < 0.7 * history["val_loss"][0][1]
    assert max(values) == final_event["metrics"]["val"]["ndcg@20_0.5"]
    for split in ("val", "test"):
        table = read_run(folder / f"predictions.{split}.json")
        assert len(table) == 24
        for convention, prefix in ((Convention.PAPER, ""), (Convention.RELEASED, "released_")):
            report = evaluate(table, read_ground_truth(tmp_path / f"{split}.json"), convention=convention)
            scores = {f"{prefix}ndcg@{measure.k}_{measure.mu}": value for measure, value in report.mean.items()}
            assert len(scores) == 9
            assert scores.items() <= final_event["metrics"][split].items()
    assert json.loads((folder / "best" / "meta.json").read_text())["step"] == final_event["best_step"]
    assert not (folder / "prepared").exists()


@pytest.mark.slow
def test_conquer_learns_among_the_candidates_of_another_model(tmp_path: Path) -> None:
    xml = experiment(tmp_path, "xml", epochs=6, evaluations_per_epoch=0.5)
    assert train(xml) == DONE
    how: dict[str, Any] = {"epochs": 16, "evaluations_per_epoch": 0.25}
    folder = experiment(tmp_path, "conquer", candidates={"source": "checkpoint", "path": "../xml/best"}, **how)
    assert train(folder) == DONE
    history, final_event = curves(read_events(folder)), last(folder, "done")
    values = [value for _, value in history["ndcg@20_0.5"]]
    assert values[0] < max(values) and max(values) > 0.5
    assert final_event["candidates"]["name"] == "xml, top 10"
    assert final_event["candidates"]["recall"]["val"] > 0.9
    videos = [{moment.video for moment in moments} for moments in read_run(folder / "predictions.val.json").values()]
    assert max(map(len, videos)) <= 10


def test_candidates_may_be_a_list_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "hero.json").write_text(json.dumps({"5000": ["video_00", "nowhere"], "5001": []}))
    lists = {"source": "listed", "path": "../hero.json"}
    folder = experiment(tmp_path, "conquer", candidates=lists, epochs=1, test=None)
    assert train(folder) == DONE
    final_event, predictions = last(folder, "done"), read_run(folder / "predictions.val.json")
    assert final_event["candidates"] == {"name": "hero, top 10", "recall": {"val": 1 / 24}}
    assert {moment.video for moment in predictions["5000"]} == {"video_00"}
    assert predictions["5001"] == ()
    assert list(final_event["metrics"]) == ["val"]


@pytest.mark.parametrize("source", ["checkpoint", "listed"])
def test_candidates_are_of_the_group_of_their_query(tmp_path: Path, source: str) -> None:
    xml = experiment(tmp_path, "xml", epochs=1, test=None)
    assert train(xml) == DONE
    names = sorted(json.loads((tmp_path / "video_corpus.json").read_text()))
    few = set(names[:3])
    groups = {"videos": {name: "few" if name in few else "many" for name in names}, "queries": {"5000": "few"}}
    (tmp_path / "groups.json").write_text(json.dumps(groups | {"queries": {"5000": "few", "5001": "none"}}))
    (tmp_path / "all.json").write_text(json.dumps(dict.fromkeys(("5000", "5001", "5002"), names[::-1])))
    path = "../xml/best" if source == "checkpoint" else "../all.json"
    candidates = {"source": source, "path": path, "groups": "../groups.json"}
    folder = experiment(tmp_path, "conquer", candidates=candidates, epochs=1, test=None)
    assert train(folder) == DONE
    predictions = read_run(folder / "predictions.val.json")
    videos = {query: {moment.video for moment in predictions[query]} for query in ("5000", "5001", "5002")}
    assert videos["5000"] and videos["5000"] <= few
    assert len(videos["5002"]) == 10 and not videos["5002"] <= few
    assert last(folder, "done")["candidates"]["name"].endswith(", top 10 of its group")


def test_training_ends_early_when_evaluations_bring_nothing(tmp_path: Path) -> None:
    folder = experiment(tmp_path, epochs=50, lr=1e-12, patience=3)
    assert train(folder) == DONE
    evaluations = [event for event in read_events(folder) if event["kind"] == "evaluation"]
    assert [event["best"] for event in evaluations] == [True, False, False, False]
    assert last(folder, "done")["step"] == 24


@pytest.mark.parametrize(
    ("baseline", "more", "reason"),
    [
        ("xml", {}, "train.json: there are no training queries, or none of them has a moment"),
        ("conquer", {"candidates": {"source": "checkpoint", "path": "../nowhere"}}, r"candidates: .*No such file.*"),
    ],
)
def test_a_failure_has_its_reason(baseline: str, more: dict[str, Any], reason: str, tmp_path: Path) -> None:
    folder = experiment(tmp_path, baseline, epochs=1, **more)
    if baseline == "xml":
        (tmp_path / "train.json").write_text("[]")
    assert train(folder) == FAILED
    assert re.search(f"{reason}$", last(folder, "failed")["reason"])


def test_time_left_counts_the_last_scoring_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part takes a thousand seconds: the videos, and each query of validation and test."""
    folder, retrieve, late_s, parts = experiment(tmp_path, epochs=2), WholeCorpus.__call__, [0.0], []

    def slow(self: WholeCorpus, model: Any, splits: list[Any], on_part: Any) -> Any:
        def count_part() -> None:
            on_part()
            late_s[0] += 1000
            parts[-1] += 1

        parts.append(0)
        return retrieve(self, model, splits, count_part)

    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + late_s[0])
    for module in (trainer, evaluation):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(WholeCorpus, "__call__", slow)
    monkeypatch.setattr(evaluation, "QUERIES", 1)
    monkeypatch.setattr(trainer, "REPORT_EVERY_S", 0.0)
    assert train(folder) == DONE
    first, second, final = parts
    assert first == second < final
    rows = [(event["kind"], event["step"], event["eta_s"]) for event in read_events(folder) if "eta_s" in event]
    eta_ks = {(kind, step): round(seconds, -3) / 1000 for kind, step, seconds in rows}
    assert eta_ks["step", 6] == 0  # nothing is known yet
    assert eta_ks["evaluation", 6] == eta_ks["step", 7] == second + final
    assert eta_ks["step", 12] == second + final
    assert eta_ks["evaluation", 12] == final


def test_queries_given_the_moments_of_others_teach_nothing(tmp_path: Path) -> None:
    folder = experiment(tmp_path, epochs=10, evaluations_per_epoch=0.5, shuffle_links=True)
    assert train(folder) == DONE
    assert max(value for _, value in curves(read_events(folder))["ndcg@20_0.5"]) < 0.5


@pytest.mark.parametrize("precision", ["float16", pytest.param("bfloat16", marks=pytest.mark.slow)])
def test_mixed_precision_learns_too_and_goes_on_with_its_scale(precision: str, tmp_path: Path) -> None:
    folder = experiment(tmp_path, epochs=6, evaluations_per_epoch=0.5, precision=precision)
    assert train(folder) == DONE
    values = [value for _, value in curves(read_events(folder))["val_loss"]]
    assert values[-1] < 0.7 * values[0]
    progress = json.loads((folder / "last" / "meta.json").read_text())["progress"]
    assert bool(progress["scaler"]) == (precision == "float16")


def test_a_trained_model_is_opened_with_its_plan(tmp_path: Path) -> None:
    more = {"keep_predictions": False, "checkpoint_every_s": 0}
    folder = experiment(tmp_path, "reloclnet", epochs=1, decoding={"moments": 7}, **more)
    assert train(folder) == DONE
    trained, metrics = open_trained(folder), last(folder, "done")["metrics"]
    assert trained.plan.video == str(folder / "../video.h5")
    assert (trained.model.config.hidden, trained.model.config.video_size) == (32, 16)
    assert trained.decoding.moments == 7
    assert trained.about.metrics["ndcg@20_0.5"] == metrics["val"]["ndcg@20_0.5"]
    assert not trained.model.training
    assert set(metrics) == {"val", "test"} and not list(folder.glob("predictions*"))
    saved = {event["step"] for event in read_events(folder) if event.get("which") == "last"}
    assert saved == set(range(1, 7))  # by the clock
    events = EventAccumulator(str(folder / "tensorboard")).Reload()
    names = {"train/loss", "train/terms/spans", "train/rate", "val/ndcg_at_20_0.5", "val/loss"}
    assert names <= set(events.Tags()["scalars"])
    assert events.Scalars("val/ndcg_at_20_0.5")[0].step == 6


def test_scoring_loads_no_torch() -> None:
    program = "import moment_retrieval.cli, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
