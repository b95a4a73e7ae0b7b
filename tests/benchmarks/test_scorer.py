"""The benchmark of the scorer: what it compares is equal, and what it makes looks like runs."""

from pathlib import Path

import pytest

from benchmarks.scorer import ABSENT, Shape, compared, growth, published_scorer, synthetic

pytestmark = pytest.mark.deployment
SMALL = Shape(predictions=8, judged=40, wanted=1)


def test_both_scorers_agree_on_a_synthetic_run() -> None:
    row = compared(40, SMALL, 1, None)
    assert row["values_equal"]
    assert row["speedup_over_naive"] == pytest.approx(row["naive_s"] / row["library_s"], rel=0.5)
    assert (row["queries"], row["predictions"], row["judged"]) == (40, 8, 40)


def test_a_synthetic_run_finds_some_and_misses_some() -> None:
    run, judged = synthetic(200, SMALL)
    assert run.video.shape == (200, 8)
    assert 0.4 < ((judged.video == ABSENT).sum(axis=1) == 20).mean() < 0.65  # half of the queries have 20 rows
    assert (run.end_s > run.start_s).all() and (judged.end_s > judged.start_s).all()
    shared = (run.video[:, :, None] == judged.video[:, None, :]).any(axis=2)
    assert 0.2 < shared.mean() < 0.95


def test_growth_gives_the_time_of_a_query() -> None:
    (row,) = growth([50])
    assert row["us_per_query"] == pytest.approx(1e6 * row["library_s"] / 50, rel=0.5)


def test_a_scorer_is_taken_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "scorer.py"
    path.write_text(
        "def calculate_ndcg_iou(gt, pred, mus, ks):\n    return {k: dict.fromkeys(mus, len(pred)) for k in ks}\n"
    )
    assert set(published_scorer(path)({"1": []}, {"1": []}).values()) == {1.0}
