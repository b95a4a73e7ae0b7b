"""Stopping, going on, and what keeps a training from it."""

import fcntl
import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from moment_retrieval import checkpoints
from moment_retrieval import train as training
from moment_retrieval.distributed import Precision, Team
from moment_retrieval.models.xml import XmlOutput
from moment_retrieval.train import BAD_PLAN, DONE, FAILED, LOST, STOPPED
from moment_retrieval.training import feature_rows, trainer
from moment_retrieval.training.events import EVENTS, curves, read_events
from moment_retrieval.training.plan import Plan
from moment_retrieval.training.stepper import Stepper
from moment_retrieval.training.trainer import Trainer
from tests.moment_retrieval.threads import one_thread
from tests.moment_retrieval.training.test_train import last, train
from tests.moment_retrieval.training.tiny import experiment, write_json

LISTS = {"source": "listed", "path": "../lists.json"}
AtStep = Callable[[int, Callable[[], None]], None]


@pytest.fixture
def at_step(monkeypatch: pytest.MonkeyPatch) -> AtStep:
    """Do something in the middle of a step, once."""

    def arrange(number: int, act: Callable[[], None]) -> None:
        step, stopped_at = Stepper.step, []

        def watched(self: Stepper, load: Any, draw: Any, now: int) -> dict[str, float]:
            result = step(self, load, draw, now)
            if now == number and not stopped_at:
                stopped_at.append(now)
                act()
            return result

        monkeypatch.setattr(Stepper, "step", watched)

    return arrange


@pytest.fixture(scope="module")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained for an epoch, beside its files."""
    folder = experiment(tmp_path_factory.mktemp("trained"), epochs=1)
    with one_thread():
        assert train(folder) == DONE
    return folder


@pytest.fixture
def trained(trained_once: Path, tmp_path: Path) -> Path:
    """A copy, whose files may be changed."""
    shutil.copytree(trained_once.parent, tmp_path / "own")
    return tmp_path / "own" / trained_once.name


def ask_to_stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "last" / "weights.safetensors") | load_file(folder / "last" / "optimiser.safetensors")


def assert_goes_on_like(whole: Path, folder: Path, step: int) -> None:
    """Check that a training stopped at a step goes on from there and ends as the whole did."""
    assert last(folder, "stopped")["step"] == step
    torch.manual_seed(99)
    assert train(folder) == DONE
    assert last(folder, "start")["resumed_from_step"] == step
    one, other = weights_of(whole), weights_of(folder)
    assert one.keys() == other.keys()
    assert all(torch.equal(other[name], value) for name, value in one.items())
    assert last(folder, "done")["metrics"] == last(whole, "done")["metrics"]


def refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return why a training is not begun."""
    assert train(folder) == BAD_PLAN
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "baseline",
    ["conquer", pytest.param("xml", marks=pytest.mark.slow), pytest.param("reloclnet", marks=pytest.mark.slow)],
)
def test_a_training_stopped_within_an_epoch_goes_on_bit_for_bit(baseline: str, tmp_path: Path, at_step: AtStep) -> None:
    write_json(tmp_path / "lists.json", {"5000": ["video_00"], "7000": ["video_01"]})
    more: dict[str, Any] = {"candidates": LISTS} if baseline == "conquer" else {}
    whole, in_parts = (experiment(tmp_path, baseline, name=name, epochs=3, **more) for name in ("whole", "cut"))
    assert train(whole) == DONE
    at_step(8, ask_to_stop)  # of 18, the second of the second epoch
    assert train(in_parts) == STOPPED
    assert_goes_on_like(whole, in_parts, step=8)
    for name in ("predictions.val.json", "predictions.test.json"):
        assert (in_parts / name).read_bytes() == (whole / name).read_bytes()
    scores = [curves(read_events(folder))["ndcg@20_0.5"] for folder in (whole, in_parts)]
    assert scores[0] == scores[1]


@pytest.mark.parametrize(
    "where",
    [
        pytest.param((Stepper, "_backward"), marks=pytest.mark.slow),
        pytest.param((Precision, "backward"), marks=pytest.mark.slow),
        (XmlOutput, "__init__"),
    ],
)
def test_a_step_on_a_cpu_is_left_in_its_middle_and_made_again_bit_for_bit(
    where: tuple[type, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked before it, between forward and backward, and within forward: released sizes take 20 s a step."""
    whole, in_parts = (experiment(tmp_path, "xml", name=name, epochs=3) for name in ("whole", "cut"))
    assert train(whole) == DONE
    act, steps, step = getattr(*where), [], Precision.step

    def count_step(self: Precision, optimiser: Any) -> None:
        steps.append(optimiser)
        step(self, optimiser)

    def stop_at_seven(*args: Any, **values: Any) -> Any:
        if len(steps) == 7:
            ask_to_stop()
        return act(*args, **values)

    with monkeypatch.context() as patch:
        patch.setattr(Precision, "step", count_step)
        patch.setattr(*where, stop_at_seven)
        assert train(in_parts) == STOPPED
    assert (len(steps), last(in_parts, "checkpoint")["step"]) == (7, 7)
    assert_goes_on_like(whole, in_parts, step=7)


def test_a_stop_during_an_evaluation_puts_it_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = experiment(tmp_path)
    evaluation, calls = Trainer._evaluation, []

    def stopped(self: Trainer) -> Any:
        if not calls:
            calls.append(True)
            ask_to_stop()
        return evaluation(self)

    def evaluated() -> list[int]:
        return [event["step"] for event in read_events(folder) if event["kind"] == "evaluation"]

    monkeypatch.setattr(Trainer, "_evaluation", stopped)
    assert train(folder) == STOPPED
    assert (last(folder, "stopped")["step"], evaluated()) == (6, [])
    assert train(folder) == DONE
    assert evaluated() == [6, 12]


def test_a_stop_while_features_are_read_comes_before_any_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = experiment(tmp_path)
    open_features = feature_rows.open_features

    def stop_and_open(path: Path) -> Any:
        ask_to_stop()
        return open_features(path)

    monkeypatch.setattr(feature_rows, "open_features", stop_and_open)
    assert train(folder) == STOPPED
    assert [event["kind"] for event in read_events(folder)] == ["stopped"]
    assert not (folder / "last").exists()


def test_a_finished_training_that_is_trained_again_scores_its_best_weights(trained: Path) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    first = last(trained, "done")
    (trained / "predictions.test.json").unlink()
    assert train(trained) == DONE
    assert {**last(trained, "done"), "at": ""} == {**first, "at": ""}
    assert (trained / "predictions.test.json").exists()
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_a_checkpoint_of_another_plan_or_other_files_is_left(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = Plan.read(trained)
    replace(plan, patience=3, threads=None).write(trained)  # may change on the way
    assert train(trained) == DONE
    replace(plan, lr=0.5).write(trained)
    words = "last/ was trained by another plan (lr: 0.001, now 0.5): start in a new folder"
    assert refused(trained, capsys) == f"error: {words}\n"
    assert last(trained, "failed")["reason"] == words
    plan.write(trained)
    path = trained.parent / "train.json"
    path.write_text(path.read_text() + " ")
    assert "train: another file" in refused(trained, capsys)


def test_only_one_process_trains_in_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = experiment(tmp_path)
    with (folder / training.LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "another process trains in this folder" in refused(folder, capsys)
    assert not (folder / EVENTS).exists()


def test_half_a_line_that_a_crash_left_is_dropped(tmp_path: Path) -> None:
    folder = experiment(tmp_path, epochs=1)
    (folder / EVENTS).write_text('{"kind": "notice", "text": "before"}\n{"kind": "st')
    assert [event["text"] for event in read_events(folder)] == ["before"]
    assert train(folder) == DONE
    kinds = [event["kind"] for event in read_events(folder)]
    assert kinds[:2] == ["notice", "start"]
    assert kinds[-1] == "done"


@pytest.mark.parametrize("replaced", ["best/weights.safetensors", "video.h5", "lists.json"])
def test_other_candidates_are_not_gone_on_with(
    replaced: str, trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_json(tmp_path / "lists.json", {"5000": ["video_00"]})
    candidates = LISTS if replaced == "lists.json" else {"source": "checkpoint", "path": str(trained)}
    folder = experiment(tmp_path, "conquer", candidates=candidates, epochs=1, test=None)
    assert train(folder) == DONE
    path = next(path for path in (each / replaced for each in (trained, trained.parent, tmp_path)) if path.exists())
    content = path.read_bytes()
    path.write_bytes(content + b" " if replaced == "lists.json" else content[:-1] + bytes([content[-1] ^ 1]))
    assert re.search(r"\((candidates|video of the candidates): another file\)", refused(folder, capsys))


def test_a_damaged_checkpoint_fails_in_words(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    meta = trained / "last" / "meta.json"
    content = json.loads(meta.read_text())
    for name, value in (("plan", None), ("step", "many"), ("metrics", 4)):
        write_json(meta, {**content, "progress": {**content["progress"], name: value}})
        assert train(trained) == FAILED
        assert f"last: meta.json tells no {name}" in capsys.readouterr().err


def test_a_loss_that_is_not_finite_stops_before_it_changes_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = experiment(tmp_path, checkpoint_every_s=0)
    backward = Stepper._backward

    def poisoned(self: Stepper, batch: Any, draw: Any, number: int, share: float) -> dict[str, float]:
        if number == 8:
            batch = replace(batch, similarity=batch.similarity * float("nan"))
        return backward(self, batch, draw, number, share)

    monkeypatch.setattr(Stepper, "_backward", poisoned)
    assert train(folder) == FAILED
    failed = last(folder, "failed")
    assert failed["step"] == 7
    assert failed["reason"].startswith("the loss is not finite at step 8: loss nan, spans ")
    assert failed["reason"].endswith("; the last checkpoint is good")
    assert capsys.readouterr().err == f"error: {failed['reason']}\n"
    checkpoint = checkpoints.load(folder / "last")
    assert checkpoint.about.step == 7
    assert all(bool(tensor.isfinite().all()) for tensor in checkpoint.weights.values())


def test_weights_that_are_not_finite_replace_no_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = experiment(tmp_path, checkpoint_every_s=0)
    monkeypatch.setattr(trainer, "weights_are_finite", lambda model: not list(folder.glob("last/*")))
    assert train(folder) == FAILED
    assert last(folder, "failed")["reason"] == "a weight is not finite after step 2; the last checkpoint is good"
    assert checkpoints.load(folder / "last").about.step == 1


def out_of_memory(times: int, monkeypatch: pytest.MonkeyPatch, step: int = 2) -> None:
    """Let memory run out at a step, whatever the size of its batch, so many times."""
    backward, failures_left = Stepper._backward, [times]
    words = "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"

    def scarce(self: Stepper, batch: Any, draw: Any, number: int, share: float) -> dict[str, float]:
        if number == step and failures_left[0]:
            failures_left[0] -= 1
            raise RuntimeError(words)
        return backward(self, batch, draw, number, share)

    monkeypatch.setattr(Stepper, "_backward", scarce)


def test_out_of_memory_halves_the_batch_once_and_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = experiment(tmp_path)
    out_of_memory(1, monkeypatch)
    assert train(folder) == DONE
    assert last(folder, "notice")["text"].startswith("out of memory at step 2: batches are computed in 2 halves")
    assert checkpoints.load(folder / "last").about.progress["parts"] == 2
    again = experiment(tmp_path, name="again")
    out_of_memory(2, monkeypatch)
    assert train(again) == FAILED
    reason = "out of memory at step 2, with half a batch of 16 too: plan a smaller batch"
    assert last(again, "failed")["reason"] == reason


def test_what_nobody_foresaw_is_in_the_log(tmp_path: Path, at_step: AtStep, capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> None:
        raise ZeroDivisionError("by nothing")

    folder = experiment(tmp_path)
    at_step(3, broken)
    assert train(folder) == FAILED
    assert last(folder, "failed")["reason"] == "ZeroDivisionError: by nothing; log.txt says where"
    assert "Traceback" in (folder / "log.txt").read_text()
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "reasons"),
    [
        (ZeroDivisionError("by 0"), FAILED, ["process 1: ZeroDivisionError: by 0; standard error says where"]),
        (RuntimeError("[pair.cc:553] Connection closed by peer [127.0.0.1]:37283"), LOST, []),
    ],
)
def test_each_of_several_processes_says_why_it_failed(
    error: Exception, status: int, reasons: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*means: object) -> Trainer:
        raise error

    folder, second = experiment(tmp_path), Team(torch.device("cpu"), rank=1, size=2)
    monkeypatch.setattr(training, "_trainer", broken)
    monkeypatch.setattr(training, "assemble", lambda device: second)
    assert train(folder) == status
    assert [event["reason"] for event in read_events(folder)] == reasons
