"""R@K,IoU>=mu of VCMR, SVMR and VR: by hand, and equal to the published evaluation of TVR."""

import json
import runpy
from typing import Any

import numpy as np
import pytest

from moment_retrieval import formats
from moment_retrieval.errors import EmptyFile, InvalidCutoff, UnknownQuery
from moment_retrieval.metrics import matching
from moment_retrieval.metrics.iou import suppressed
from moment_retrieval.metrics.ndcg_iou import Convention
from moment_retrieval.metrics.recall import RecallMeasure, Task, recall
from moment_retrieval.metrics.scores import Scores
from moment_retrieval.records import JudgedMoment, ScoredMoment, Span
from moment_retrieval.tables import JudgedTable, RunTable
from tests.moment_retrieval.shared_data import DATA, PARITY, needs_shared

TVR = PARITY / "tvr_baselines"
JUDGED = JudgedTable.from_moments({"1": [JudgedMoment("a", 0, 10, 1)], "2": [JudgedMoment("b", 0, 10, 1)]})
RUN = RunTable.from_moments(
    {"1": [Span("b", 0, 10), Span("a", 20, 30), Span("a", 0, 5), Span("a", 0, 8)], "2": [Span("a", 0, 10)]}
)


def per_cent(scores: Scores) -> dict[str, float]:
    return {published(measure): round(100 * value, 2) for measure, value in scores.mean.items()}


def published(measure: RecallMeasure) -> str:
    return f"r{measure.k}" if measure.mu is None else f"{measure.mu}-r{measure.k}"


def by_type(scores: Scores) -> dict[str, float]:
    means = ((f"{kind}-{published(m)}", value) for kind, by in scores.by_kind.items() for m, value in by.items())
    return {name: round(100 * value, 2) for name, value in means}


@pytest.mark.parametrize("cells", [1, matching.MAX_CELLS])
def test_a_query_that_is_not_answered_counts_zero(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "MAX_CELLS", cells)
    scores = recall(RunTable.from_moments({"2": [Span("b", 0, 10)]}), JUDGED)
    assert set(scores.mean.values()) == {0.5}
    assert scores.missing == ("1",)


def test_agreeing_windows_and_suppression_by_hand() -> None:
    windows = [(0, 10), (2, 10), (20, 30), (22, 30)]
    line = json.dumps({"desc_id": 1, "vid_name": "a", "ts": windows})
    judged = formats.parse_ground_truth(line.encode())
    spans = {"both": (0, 10), "one": (0, 4.5)}  # of 8 and 10 seconds: 0.8 and 1; of (0, 4.5): 0.45 and 0.25
    for name, span in spans.items():
        run = RunTable.from_moments({"1": [Span("a", *span)]})
        assert recall(run, judged, ks=[1], mus=[0.4], agreeing=1).values[0, 0] == 1
        assert recall(run, judged, ks=[1], mus=[0.4], agreeing=2).values[0, 0] == (name == "both")
    moments = [(0, 10, 0.9), (0, 9, 0.8), (0, 6, 0.7), (5, 12, 0.95)]
    run = RunTable.from_moments({"1": [], "2": [ScoredMoment("a", *moment) for moment in moments]})
    assert [moment.score for moment in suppressed(run, 0.6)["2"]] == [0.95, 0.9, 0.7]
    assert [moment.score for moment in suppressed(run, 0.6, before=3, after=1)["2"]] == [0.9]


def test_equal_scores_stand_as_they_are_or_by_video_after_a_suppression() -> None:
    """The best of video a stands third; released, its equals stand with the first of their video."""
    moments = [("a", 0, 0.2), ("b", 0, 0.5), ("a", 10, 0.5), ("b", 10, 0.5), ("a", 20, 0.5)]
    run = RunTable.from_moments({"1": [ScoredMoment(name, start, start + 5, score) for name, start, score in moments]})
    order = {"paper": ["b0", "a10", "b10", "a20", "a0"], "released": ["a10", "a20", "b0", "b10", "a0"]}
    for convention, names in order.items():
        ranked = suppressed(run, 0.5, ties_by_video=convention == "released")["1"]
        assert [f"{moment.video}{moment.start_s:g}" for moment in ranked] == names
    judged = JudgedTable.from_moments({"1": [JudgedMoment("a", 20, 25, 1)]})
    for convention, k in (("paper", 4), ("released", 2)):
        scores = recall(run, judged, ks=[1, 2, 3, 4], nms=0.5, convention=Convention(convention))
        assert scores.values[0].tolist()[:4] == [float(k <= cutoff) for cutoff in (1, 2, 3, 4)]
        assert scores.facts["convention"] == convention


@pytest.mark.parametrize(
    ("run", "judged", "ks", "error", "message"),
    [
        (RUN, JUDGED, [101], InvalidCutoff, "the first 100 predictions count, got the cutoff 101"),
        (RUN, JUDGED, [], InvalidCutoff, "no cutoff"),
        (RUN, JudgedTable.from_moments({"1": []}), [1], UnknownQuery, "1 of the run's 2 queries are not in the gr"),
        (RunTable.from_moments({}), JudgedTable.from_moments({}), [1], EmptyFile, ""),
    ],
)
def test_bad_requests_are_refused(
    run: RunTable, judged: JudgedTable, ks: list[int], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        recall(run, judged, ks=ks)


@pytest.fixture(scope="module")
def oracle() -> Any:
    return json.loads((TVR / "eval_oracle.json").read_text())


def submission(task: Task) -> RunTable:
    return formats.read_run(TVR / "eval_submission_240.json", task=task.value, strict=False)


@needs_shared
@pytest.mark.parametrize("task", Task)
def test_equal_to_the_published_evaluation(task: Task, oracle: Any) -> None:
    judged = formats.read_ground_truth(TVR / "eval_gt_240.jsonl")
    scores = recall(submission(task), judged, task=task)
    assert per_cent(scores) == oracle["subset240"][task.value]
    reference = dict(oracle["subset240"][f"{task.value}_by_type"])
    shares = {kind: round(100 * np.mean([each == kind for each in scores.kinds]), 2) for kind in ("v", "t", "vt")}
    assert reference.pop("desc_type_ratio") == " ".join(f"{kind} {share}" for kind, share in shares.items())
    assert by_type(scores) == reference


@needs_shared
@pytest.mark.parametrize("threshold", [0.5, 0.6])
@pytest.mark.parametrize("task", [Task.VCMR, Task.SVMR])
def test_equal_to_the_published_evaluation_after_suppression(task: Task, threshold: float, oracle: Any) -> None:
    judged, run = formats.read_ground_truth(TVR / "eval_gt_240.jsonl"), submission(task)
    reference = oracle["nms"][str(threshold)]
    result = suppressed(run, threshold, before=200, after=100, one_video=task is Task.SVMR)
    assert np.diff(result.offsets).tolist() == reference[f"n_left_{task.value}"]
    sample = result[judged.query_ids[3]]
    assert [[m.start_s, m.end_s, m.score] for m in sample] == [row[1:] for row in reference[f"first_{task.value}"]]
    scores = recall(run, judged, task=task, nms=threshold)
    assert per_cent(scores) == reference["metrics"][task.value]
    assert by_type(scores).items() <= reference["metrics"][f"{task.value}_by_type"].items()


@needs_shared
@pytest.mark.slow
def test_equal_on_the_whole_validation_set(oracle: Any) -> None:
    """Runs of 100 predictions for 10,895 queries, made by a published formula."""
    truth = DATA / "tvr" / "tvr_val_release.jsonl"
    judged = formats.read_ground_truth(truth)
    videos = json.loads((DATA / "tvr" / "tvr_video2dur_idx.json").read_text())["val"]
    predictions = runpy.run_path(str(TVR / "synthetic_predictions.py"))["synth"](
        [json.loads(line) for line in truth.read_text().splitlines()],
        *(100, 2024, {name: index for name, (_, index) in videos.items()}),
        {index: duration for duration, index in videos.values()},
    )
    data = json.dumps(predictions).encode()
    for task in Task:
        scores = recall(formats.parse_run(data, task=task.value, strict=False), judged, task=task)
        reference = oracle["full_val_seed2024"]
        assert per_cent(scores) == reference[task.value]
        assert by_type(scores).items() <= reference[f"{task.value}_by_type"].items()
