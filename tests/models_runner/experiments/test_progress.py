"""Training progress by its events, and the curves drawn of it."""

import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from core.charts.canvas import WIDE_LETTER
from models_runner.experiments.charts import losses_chart, scores_chart
from models_runner.experiments.progress import MEASURE, POINTS, EventsFile, Progress
from models_runner.experiments.selectors import AT_WORK, TRAININGS, recall_rows, training_figures
from models_runner.experiments.settings import options_of, settings_by_name
from models_runner.models import Training
from moment_retrieval.metrics.recall import KS, RecallMeasure, Task, recall_name


def after(*events: dict[str, Any]) -> Progress:
    progress = Progress()
    for event in events:
        progress.take(event)
    return progress


def step(number: int, loss: float | None = 1.0) -> dict[str, Any]:
    return {"kind": "step", "step": number, "epoch": 1, "loss": loss, "seconds_per_step": 0.5, "eta_s": 10}


def evaluation(number: int, score: float, split: str = "val") -> dict[str, Any]:
    return {"kind": "evaluation", "step": number, "split": split, "metrics": {MEASURE: score}, "loss": 0.5}


START = {"kind": "start", "steps": 100, "resumed_from_step": 0}


def test_the_newest_step_and_the_best_score_are_shown() -> None:
    progress = after(START, step(1), evaluation(2, 0.25), step(3, 0.75), evaluation(4, 0.125))
    assert (progress.step, progress.steps, progress.loss, progress.eta_s) == (4, 100, 0.75, 10)
    assert (progress.best, progress.best_step) == (0.25, 2)
    assert progress.losses == [[1, 1.0], [3, 0.75]]
    assert after(START, step(1), {**evaluation(2, 0.5), "eta_s": 70.0}).eta_s == 70.0
    assert after(START, evaluation(2, 0.9, "test")).best is None
    without_numbers = after(START, step(1, float("nan")), step(2, float("inf")))
    assert (without_numbers.loss, without_numbers.losses) == (None, [])
    json.dumps(without_numbers.row(), allow_nan=False)
    assert set(progress.row()) <= {field.name for field in Training._meta.get_fields()}


def test_what_came_after_the_checkpoint_is_taken_back_and_curves_stay_small() -> None:
    again = {**START, "resumed_from_step": 2}
    progress = after(START, step(1), evaluation(2, 0.25), step(3), evaluation(4, 0.5), again)
    assert (progress.step, progress.best, progress.best_step) == (2, 0.25, 2)
    assert progress.losses == [[1, 1.0]] and progress.scores == [[2, 0.25, 0.5]]
    scores = [evaluation(number, 0.9 if number == 400 else 0.1) for number in range(1, 1000)]
    assert 400 not in {point[0] for point in after(START, *scores).scores}
    again = after(START, *scores, {**START, "resumed_from_step": 950})
    assert (again.best, again.best_step) == (0.9, 400)
    last, best = ({"kind": "checkpoint", "step": 2, "which": which} for which in ("last", "best"))
    assert after(START, step(1), last).row()["crashes"] == 0
    for events in ((START, step(1), best), (START, last, START)):
        assert "crashes" not in after(*events).row()
    progress = after(START, *(step(number) for number in range(1, 5000)))
    assert len(progress.losses) <= POINTS
    assert progress.losses[-1][0] == 4999
    assert [each[0] for each in progress.losses] == sorted(each[0] or 0 for each in progress.losses)


def test_the_first_of_several_processes_to_fail_says_why_and_a_new_attempt_forgets_it() -> None:
    failed = [{"kind": "failed", "reason": reason} for reason in ("process 1: out of memory", "somebody is gone")]
    progress = after(START, *failed, {"kind": "stopped", "step": 1})
    assert (progress.ended, progress.reason) == ("failed", "process 1: out of memory")
    progress.begin()
    assert (progress.ended, progress.reason) == ("", "")


@pytest.mark.parametrize("odd", [{}, {"kind": "step", "step": "x", "loss": None}, {"kind": "evaluation", "metrics": 3}])
def test_odd_events_change_nothing(odd: dict[str, Any]) -> None:
    assert after(START, step(1), {**odd}).step == 1


def test_half_a_line_waits_and_a_broken_one_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    events = EventsFile(path)
    assert events.new() == []
    path.write_text('{"kind": "st{"kind": "step"}\n[1]\n{"kind": "start"}\n{"kind": ')
    assert events.new() == [{"kind": "start"}]
    with path.open("a") as file:
        file.write('"done"}\n')
    assert events.new() == [{"kind": "done"}]


def test_curves_lie_within_their_frame() -> None:
    losses, scores = [[1, 2.0], [50, 1.5], [100, 0.5]], [[50, 0.2, 1.0], [100, 0.1, None]]
    for chart in (losses_chart(losses, scores), scores_chart(scores)):
        svg = ET.fromstring(chart.inline())
        for line in svg.iter("polyline"):
            for x, y in (map(float, point.split(",")) for point in line.get("points", "").split()):
                assert 0 <= x <= chart.width and 0 <= y <= chart.height
    label = scores_chart(scores).label
    assert label == "validation NDCG@20,IoU≥0.5: the best of 2 is 0.2000"


@pytest.mark.parametrize("last", [9, 100, 1600, 99_000, 1_000_000])
def test_no_number_of_a_step_is_cut_off(last: int) -> None:
    svg = ET.fromstring(losses_chart([[1, 2.0], [last, 1.0]], []).inline())
    ticks = [tick for tick in svg.iter("text") if tick.get("text-anchor") != "end" or tick.get("x") == "560"]
    for tick in ticks:
        half = len(tick.text or "") * WIDE_LETTER / 2
        right = {"middle": half, "start": 2 * half, "end": 0.0}[tick.get("text-anchor", "")]
        assert float(tick.get("x", "0")) + right <= 560


@pytest.mark.parametrize(
    ("seconds", "words"), [(None, ""), (0.2, "0 s"), (59.6, "1 min 0 s"), (7500, "2 h 5 min"), (180_000, "2 d 2 h")]
)
def test_time_left_in_words(seconds: float | None, words: str) -> None:
    assert Training(eta_s=seconds).time_left == words


def test_options_are_the_preset_s_but_for_what_was_changed() -> None:
    released = options_of("xml", 1, "released", {"lr": None})
    assert (released["epochs"], released["evaluations_per_epoch"], released["batch"]) == (4000, 0.05, 128)
    assert released["sizes"] == {} and released["objective"] == {}
    small = options_of("conquer", 40, "small", {"hidden": 32, "mask_positives": False, "epochs": 2})
    assert small["sizes"] == {"hidden": 32, "heads": 4, "inner": 128}
    assert (small["epochs"], small["padding"], small["objective"]) == (2, "compact", {"mask_positives": False})
    assert settings_by_name(small).items() >= {"mask positives": "no", "attention heads": 4}.items()


def test_trainings_report_to_prometheus_what_they_hold() -> None:
    rows = {TRAININGS: [(Training.State.RUNNING, 1)], AT_WORK: [("gpu-1 cuda:0", 2048.0, 0.25, 3.0)]}
    families = {family.name: family.samples for family in training_figures(rows.__getitem__)}
    (memory,) = families["momentjudge_training_memory_bytes"]
    assert (memory.labels["device"], memory.value) == ("gpu-1 cuda:0", 2**31)


def test_metrics_are_those_of_the_end_and_an_attempt_begins_without() -> None:
    progress = Progress()
    progress.take({"kind": "done", "step": 9, "metrics": {"val": {"vcmr_r@1_0.5": 0.25, "x": "no", "y": math.nan}}})
    assert progress.row()["metrics"] == {"val": {"vcmr_r@1_0.5": 0.25}}
    progress.take({"kind": "stopped", "step": 9, "metrics": {"val": {"vcmr_r@1_0.5": 0.5}}})
    assert progress.metrics == {}
    progress.take({"kind": "done", "step": 9, "metrics": ["no mapping"]})
    assert progress.metrics == {}


def test_recall_is_shown_by_split_task_and_type_in_per_cent() -> None:
    names = [recall_name(task, RecallMeasure(k, mu)) for task in Task for mu in (0.5, 0.7) for k in KS]
    names += [recall_name(Task.VR, RecallMeasure(k, None)) for k in KS]
    metrics = {"val": dict.fromkeys(names, 0.125) | {"vt-vcmr_r@1_0.5": 0.5, "ndcg@20_0.5": 1.0}}
    rows = recall_rows(Training(metrics=metrics))
    assert [(row.split, row.task, row.kind) for row in rows] == [
        ("val", "VCMR", ""),
        ("val", "VCMR", "vt"),
        ("val", "SVMR", ""),
        ("val", "VR", ""),
    ]
    assert rows[0].cells == [12.5] * 8 and rows[3].cells == [12.5] * 4
    assert rows[1].cells == [50.0, *[None] * 7]
