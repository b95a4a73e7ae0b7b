"""Train whole models on a GPU: in 16 bits too, going on where one was stopped, and with a batch that does not fit."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from moment_retrieval.cli import main
from moment_retrieval.train import DONE, STOPPED
from moment_retrieval.training.events import curves, read_events
from moment_retrieval.training.stepper import Stepper
from tests.moment_retrieval.training.tiny import Collection, experiment

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")]
HOW: dict[str, Any] = {"device": "cuda", "epochs": 10, "evaluations_per_epoch": 0.5}


def train(folder: Path) -> list[dict[str, Any]]:
    assert main(["train", str(folder)]) == DONE
    return read_events(folder)


def best(events: list[dict[str, Any]]) -> float:
    return max(value for _, value in curves(events)["ndcg@20_0.5"])


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("baseline", ["xml", "reloclnet"])
def test_a_baseline_learns_what_it_learns_on_a_processor(baseline: str, precision: str, tmp_path: Path) -> None:
    events = train(experiment(tmp_path, baseline, precision=precision, **HOW))
    on_processor = train(experiment(tmp_path, baseline, name="processor", **HOW | {"device": "cpu"}))
    assert events[0]["device"] == torch.cuda.get_device_name()
    assert best(events) == pytest.approx(best(on_processor), abs=0.1)
    assert best(events) > 0.8


def test_conquer_learns_among_candidates(tmp_path: Path) -> None:
    train(experiment(tmp_path, "xml", **HOW))
    how = HOW | {"epochs": 16, "candidates": {"source": "checkpoint", "path": "../xml/best"}}
    assert best(train(experiment(tmp_path, "conquer", **how))) > 0.5


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_a_stopped_training_goes_on_here_and_without_a_gpu(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = experiment(tmp_path, **HOW)
    with monkeypatch.context() as patch:
        step = Stepper.step

        def step_and_stop(self: Stepper, work: Any, draw: Any, number: int) -> dict[str, float]:
            if number == 8:
                os.kill(os.getpid(), signal.SIGTERM)
            return step(self, work, draw, number)

        patch.setattr(Stepper, "step", step_and_stop)
        assert main(["train", str(folder)]) == STOPPED
    plan = json.loads((folder / "plan.json").read_text())
    (folder / "plan.json").write_text(json.dumps(plan | {"device": device}))
    events = train(folder)
    assert [event["resumed_from_step"] for event in events if event["kind"] == "start"] == [None, 8]
    assert best(events) > 0.8


def test_a_batch_that_does_not_fit_is_computed_in_halves(tmp_path: Path) -> None:
    Collection(videos=64).write(tmp_path)
    how = HOW | {"epochs": 1, "batch": 256, "sizes": {"hidden": 1024, "heads": 8}, "padding": "official"}
    torch.cuda.reset_peak_memory_stats()
    train(experiment(tmp_path, name="whole", **how))
    most, of_all = torch.cuda.max_memory_reserved(), torch.cuda.mem_get_info()[1]
    notices: list[str] = []
    for percent in range(95, 20, -5):  # less and less, until the whole batch does not fit
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(percent / 100 * most / of_all)
        try:
            events = train(experiment(tmp_path, name=f"of-{percent}", **how))
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
        if notices := [event["text"] for event in events if event["kind"] == "notice"]:
            break
    assert ["computed in 2 halves" in text for text in notices] == [True]
