"""Comparisons growth makes, and when it fails."""

import json
import subprocess
import sys
from typing import Any

import pytest

from benchmarks.growth import is_good, options_from, ratio, result_of
from core.embedded.services import BASE_DIR

SMALL: dict[str, Any] = {"takes": 50, "take_p95_ms": 30.0, "submits": 1000, "submit_p95_ms": 10.0, "errors": []}
SMALL["database_cpu_ms"] = 2.0


def test_as_fast_as_before_is_good() -> None:
    result = result_of(SMALL, {**SMALL, "take_p95_ms": 45.0, "submit_p95_ms": 8.0}, 0.5)
    assert (result["take_p95_ratio"], result["submit_p95_ratio"]) == (1.5, 0.8)
    assert is_good(result)


@pytest.mark.parametrize(
    "large",
    [
        {"take_p95_ms": 46.0},
        {"submit_p95_ms": 15.2},
        {"errors": ["annotator: 500"]},
        {"takes": 0, "take_p95_ms": 0.0},
    ],
)
def test_slower_by_more_than_half_or_an_error_is_not(large: dict[str, Any]) -> None:
    assert not is_good(result_of(SMALL, {**SMALL, **large}, 0.5))


def test_nothing_to_compare_with() -> None:
    assert ratio(3.0, 0.0) == 0.0


@pytest.mark.parametrize("words", [["--at-work", "9"], ["--rounds", "0"], ["--pairs", "10000"]])
def test_options_without_sense(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        options_from(words)


@pytest.mark.slow
def test_two_small_sites() -> None:
    """Check results, not speed: other work on the machine may slow one of them."""
    words = ["--pairs", "20000", "--judgments", "60000", "--rounds", "1", "--seconds", "2", "--json"]
    command = [sys.executable, "-m", "benchmarks.growth", *words]
    process = subprocess.run(command, cwd=BASE_DIR, capture_output=True, text=True, timeout=600, check=False)
    result = json.loads(process.stdout)
    assert result["small"]["errors"] == result["large"]["errors"] == []
    assert (result["small"]["pairs"], result["large"]["pairs"]) == (10_000, 20_000)
    assert result["small"]["submits"] > 0 and result["large"]["takes"] > 0
