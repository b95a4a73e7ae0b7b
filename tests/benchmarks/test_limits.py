"""Figures at the limit of what a benchmark calls a failure, and beyond."""

from typing import Any

import pytest

from benchmarks import growth, judging_loop, label_leak, load, restore
from benchmarks.demo_experiment import LEARNT, SHUFFLED, has_learnt
from benchmarks.slow_clients import losses

LOAD = {"judgments": 1000, "p95_ms": 100.0, "errors": 0, "cpu_percent": 60.0}
LOAD |= {"web_process_mb": 150.0, "cold_start_s": 3.0}
SITE: dict[str, Any] = {"takes": 50, "take_p95_ms": 30.0, "submits": 1000, "submit_p95_ms": 10.0, "errors": []}
SITE["database_cpu_ms"] = 2.0
FIGURES = {"p95_ms": 100.1, "errors": 1, "cpu_percent": 60.1, "web_process_mb": 150.1, "cold_start_s": 3.1}


def test_a_load_names_what_is_beyond() -> None:
    assert load.beyond(LOAD) == []
    assert load.beyond({**LOAD, "judgments": 0}) == ["nothing was judged"]
    for name, value in FIGURES.items():
        (message,) = load.beyond({**LOAD, name: value})
        assert message.startswith(f"{name} is {value}")


def test_percentiles_of_a_load_are_of_the_nearest_rank_and_leave_clips_out() -> None:
    requests = [("annotator", "judgment", float(n)) for n in range(1, 101)]
    measured = load.Measured(60.0, [*requests, ("media", "clip", 900.0)], [], 1, {}, 0.0)
    ranks = {"answers": 100, "p50_ms": 50, "p95_ms": 95, "p99_ms": 99, "p100_ms": 100}
    assert load.figures(measured.of("annotator")) == ranks
    assert measured.table()["media: clip"]["p95_ms"] == 900


@pytest.mark.parametrize(
    ("change", "good"),
    [
        ({"take_p95_ms": 45.0, "submit_p95_ms": 8.0}, True),
        ({"take_p95_ms": 46.0}, False),
        ({"submit_p95_ms": 15.2}, False),
        ({"errors": ["annotator: 500"]}, False),
        ({"takes": 0, "take_p95_ms": 0.0}, False),
    ],
)
def test_growth_is_slower_by_half_at_most(change: dict[str, Any], good: bool) -> None:
    assert growth.is_good(growth.result_of(SITE, {**SITE, **change}, 0.5)) is good


@pytest.mark.parametrize(("seconds", "same", "good"), [(120.0, True, True), (120.1, True, False), (1.0, False, False)])
def test_a_restore_is_quick_and_the_same(seconds: float, same: bool, good: bool) -> None:
    assert restore.is_good({"restore_s": seconds, "same_content": same}) is good


def test_a_lost_grade_is_a_fault() -> None:
    safe, unsafe = {"fsync": "on"}, {"fsync": "off"}
    assert judging_loop.faults(answered=5, recorded=5, undecided=0, statements=(9, 9), ended=[], durability=safe) == []
    wrong = {"answered": 5, "recorded": 4, "undecided": 1, "statements": (9, 10), "ended": ["worker"]}
    assert len(judging_loop.faults(**wrong, durability=unsafe)) == 5


@pytest.mark.parametrize(
    ("learnt", "shuffled", "chance", "good"),
    [(0.31, 0.2, 0.01, True), (0.29, 0.2, 0.01, False), (0.3, 0.01, 0.06, True), (0.3, 0.01, 0.07, False)],
)
def test_a_baseline_has_learnt_that_beats_its_control_and_chance(
    learnt: float, shuffled: float, chance: float, good: bool
) -> None:
    assert has_learnt({LEARNT: {"val": learnt}, SHUFFLED: {"val": shuffled}}, {"val": chance}) is good


def test_a_loss_by_slow_clients_is_the_median_over_rounds_each_compared_with_itself() -> None:
    paces = {"none": [100.0, 200.0, 50.0], "headers": [90.0, 200.0, 50.0], "bodies": [50.0, 150.0, 25.0]}
    rows = [
        {"round": n, "slow": slow, "judgments_per_s": pace} for slow, p in paces.items() for n, pace in enumerate(p)
    ]
    assert losses(rows) == {"headers": 0.0, "bodies": 0.5}


@pytest.mark.parametrize(
    ("row", "safe"),
    [
        ({"queries": 2_781, "attacked": 100, "bits": 0.05}, True),
        ({"queries": 2_781, "attacked": 100, "bits": 0.051}, False),
        ({"queries": 2_781, "attacked": 10, "bits": 0.2}, True),
        ({"queries": 2_781, "attacked": 100, "bits": 0.09, "per_query": 5}, True),
        ({"queries": 49, "attacked": 10, "bits": 0.001, "uploads": 1}, False),
    ],
)
def test_labels_are_safe_below_the_bits_that_are_promised(row: dict[str, float], safe: bool) -> None:
    row = {"policy": "default", "per_query": 20, "uploads": 50, **row}
    assert label_leak.is_safe([row, {**row, "policy": "other", "bits": 2}], "default") is safe
