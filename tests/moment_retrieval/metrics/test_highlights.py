"""Moments and highlights of QVHighlights: by hand, and equal to the published evaluation."""

import json

import numpy as np

from moment_retrieval import formats
from moment_retrieval.metrics.highlights import MUS, clip_precisions, highlights
from moment_retrieval.records import JudgedMoment, ScoredMoment
from moment_retrieval.tables import JudgedTable, RunTable
from tests.moment_retrieval.shared_data import DATA, needs_shared

QVHIGHLIGHTS = DATA / "qvhighlights"


def test_average_precision_of_windows_and_clips_by_hand() -> None:
    windows = [JudgedMoment("v", 0, 10, 1), JudgedMoment("v", 20, 40, 1)]
    judged = JudgedTable.from_moments({"1": windows})
    moments = [ScoredMoment("v", 50, 60, 0.1), ScoredMoment("v", 0, 10, 0.9), ScoredMoment("v", 20, 36, 0.5)]
    mean = highlights(RunTable.from_moments({"1": moments}), judged).mean
    assert mean["MR-full-mAP@0.8"] == 1.0  # both, before the wrong one
    assert mean["MR-full-mAP@0.85"] == 0.5
    assert mean["MR-full-R1@0.5"] == 0.0  # the first of the file, whatever its score
    assert mean["MR-short-mAP@0.5"] == 1.0
    assert mean["MR-middle-mAP@0.95"] == 0.0
    assert np.isnan(mean["MR-long-mAP"])  # no window is that long
    two = JudgedTable.from_moments({"1": windows[:1], "2": windows[:1]})
    scores = highlights(RunTable.from_moments({"1": moments[1:2]}), two)  # what is not answered counts zero
    assert (scores.mean["MR-full-mAP"], scores.mean["MR-full-R1@0.95"], scores.missing) == (0.5, 0.5, ("2",))
    scores = np.array([[0.9, 0.8, 0.8, 0.1], [1.0, 2.0, 3.0, 4.0]])
    worth = np.array([[[1, 0, 1], [0, 0, 1], [1, 0, 1], [0, 0, 1]], [[0, 1, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]]], bool)
    correct = [[(1 + 2 / 3) / 2, 0, 1], [1, 1 / 4, 0]]
    np.testing.assert_allclose(clip_precisions(scores, worth), correct)


def test_overlap_of_the_first_window_is_over_the_hull() -> None:
    """In floating point 89.3 / 94 is 0.95, and 89.3 / (89.3 + 94 - 89.3) is a little less."""
    judged = JudgedTable.from_moments({"1": [JudgedMoment("v", 0, 94, 1)]})
    mean = highlights(RunTable.from_moments({"1": [ScoredMoment("v", 2, 91.3, 1.0)]}), judged).mean
    assert mean["MR-full-R1@0.95"] == 1.0


def test_of_equal_overlaps_the_last_window_is_claimed() -> None:
    """(0, 20) overlaps both windows by half; it claims (10, 20) and leaves (0, 10) to the next."""
    judged = JudgedTable.from_moments({"1": [JudgedMoment("v", 0, 10, 1), JudgedMoment("v", 10, 20, 1)]})
    for start, precision in ((0, 1.0), (10, 0.5)):
        moments = [ScoredMoment("v", 0, 20, 0.9), ScoredMoment("v", start, start + 10, 0.5)]
        mean = highlights(RunTable.from_moments({"1": moments}), judged).mean
        assert mean["MR-full-mAP@0.5"] == precision


@needs_shared
def test_equal_to_the_published_evaluation() -> None:
    published = json.loads((QVHIGHLIGHTS / "sample_val_preds_metrics_raw.json").read_text())
    run = formats.read_run(QVHIGHLIGHTS / "sample_val_preds.jsonl")
    truth = formats.read_ground_truth(QVHIGHLIGHTS / "highlight_val_release.jsonl")
    mean = {name: round(100 * value, 2) for name, value in highlights(run, truth).mean.items()}
    for name, value in published["brief"].items():
        assert mean[name] == value
    for lengths in ("full", "short", "middle", "long"):
        assert {str(mu): mean[f"MR-{lengths}-R1@{mu}"] for mu in MUS} == published[lengths]["MR-R1"]
        of_lengths = {str(mu): mean[f"MR-{lengths}-mAP@{mu}"] for mu in MUS} | {"average": mean[f"MR-{lengths}-mAP"]}
        assert of_lengths == published[lengths]["MR-mAP"]
    for name, count in (("highlight_val_release", 1_550), ("highlight_test_with_gt", 1_542)):
        assert len(formats.read_ground_truth(QVHIGHLIGHTS / f"{name}.jsonl")) == count
