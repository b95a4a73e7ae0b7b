"""Whole trainings on a tiny collection."""

import json
from pathlib import Path
from typing import Any

import pytest

from models_runner.retrieval.__main__ import main
from models_runner.retrieval.formats import read_ground_truth, read_run
from models_runner.retrieval.metrics.report import evaluate
from models_runner.retrieval.training.events import read_events
from tests.models_runner.retrieval.training.tiny import experiment


def last(folder: Path, kind: str) -> dict[str, Any]:
    return [event for event in read_events(folder) if event["kind"] == kind][-1]


@pytest.mark.parametrize("baseline", ["xml", "reloclnet"])
def test_a_baseline_learns_and_its_predictions_score_as_told(baseline: str, tmp_path: Path) -> None:
    folder = experiment(tmp_path, baseline, epochs=12, evaluations_per_epoch=0.25)
    assert main(["train", str(folder)]) == 0
    events = read_events(folder)
    values = [event["metrics"]["ndcg@20_0.5"] for event in events if event["kind"] == "evaluation"]
    done = last(folder, "done")
    assert values[-1] > 0.8 > 0.4 > values[0] or values[0] > 0.8
    assert max(values) == done["metrics"]["val"]["ndcg@20_0.5"]
    for split in ("val", "test"):
        run = read_run(folder / f"predictions.{split}.json")
        assert len(run) == 24
        report = evaluate(run, read_ground_truth(tmp_path / f"{split}.json"))
        named = {f"ndcg@{measure.k}_{measure.mu}": value for measure, value in report.mean.items()}
        assert named.items() <= done["metrics"][split].items()
    losses = [event["loss"] for event in events if event["kind"] == "evaluation"]
    assert losses[-1] < losses[0]
    assert json.loads((folder / "best" / "meta.json").read_text())["step"] == done["best_step"]
