"""What the benchmarks of the lead's desk note, and when they have failed."""

import json
import subprocess
import sys

import pytest

from benchmarks import lead_pages
from benchmarks.annotator import Reply, Times, Unexpected
from core.embedded.services import BASE_DIR

FAST = {"answers": 3.0, "p50_ms": 10.0, "p95_ms": 20.0, "largest_kb": 1.0}
OVERVIEW = {"page": FAST, "changed": FAST, "unchanged": FAST}


def answer(status: int = 200) -> Reply:
    return Reply(status, "", {}, b"x" * 2500)


def test_times_are_noted() -> None:
    times = Times()
    times.take(answer)
    assert times.figures()["answers"] == 1
    assert times.figures()["largest_kb"] == 2.5


def test_another_status_is_no_answer() -> None:
    with pytest.raises(Unexpected, match="409 instead of 200"):
        Times().take(lambda: answer(409))


@pytest.mark.parametrize("kind", ["page", "changed", "unchanged"])
def test_an_overview_above_100_ms_has_failed(kind: str) -> None:
    assert lead_pages.is_good("overview", OVERVIEW)
    assert not lead_pages.is_good("overview", {**OVERVIEW, kind: {**FAST, "p95_ms": 100.1}})


@pytest.mark.slow
def test_a_small_site() -> None:
    """What is found, not how fast: other work on the machine may fall on it."""
    size = ["--pairs", "8000", "--judgments", "20000", "--annotators", "120", "--json"]
    command = [sys.executable, "-m", "benchmarks.lead_pages", "overview", "--answers", "3", *size]
    done = subprocess.run(command, cwd=BASE_DIR, capture_output=True, text=True, timeout=300, check=False)
    result = json.loads(done.stdout)
    assert result["pairs"] == 8000
    assert result["page"]["answers"] > 0
