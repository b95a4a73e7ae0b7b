"""The benchmark of the scorer: what it compares is equal."""

from pathlib import Path

import pytest

from benchmarks.scorer import Shape, compared, growth, published_scorer

SCORER = "def calculate_ndcg_iou(gt, pred, mus, ks):\n    return {k: dict.fromkeys(mus, len(pred)) for k in ks}\n"


@pytest.mark.deployment
def test_both_scorers_agree_on_a_synthetic_run() -> None:
    row = compared(40, Shape(predictions=8, judged=40, wanted=1), 1, None)
    assert row["values_equal"]
    assert row["speedup_over_naive"] == pytest.approx(row["naive_s"] / row["library_s"], rel=0.5)
    assert (row["queries"], row["predictions"], row["judged"]) == (40, 8, 40)
    (row,) = growth([50])
    assert row["us_per_query"] == pytest.approx(1e6 * row["library_s"] / 50, rel=0.5)


def test_a_scorer_is_taken_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "scorer.py").write_text(SCORER)
    assert set(published_scorer(tmp_path / "scorer.py")({"1": []}, {"1": []}).values()) == {1.0}
