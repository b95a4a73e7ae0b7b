"""Each benchmark's command on something small: results are looked at, not speed, as other work may slow the machine."""

import json
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

from benchmarks import growth, judging_loop, load, replay, slow_clients
from core.embedded.services import BASE_DIR


def report_of(name: str, *words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", f"benchmarks.{name}", *words, "--json"]
    process = subprocess.run(command, cwd=BASE_DIR, capture_output=True, text=True, timeout=600, check=False)
    assert process.stdout, process.stderr
    return json.loads(process.stdout.splitlines()[-1])  # type: ignore[no-any-return]


@pytest.mark.slow
def test_audit() -> None:
    size = ["--pairs", "8000", "--judgments", "20000", "--annotators", "120", "--events", "2000", "--answers", "2"]
    result = report_of("audit", *size)
    assert (result["events"], len(result["pages"]), result["file_mb"] > 0) == (2000, 14, True)


@pytest.mark.slow
def test_growth() -> None:
    words = ["--pairs", "20000", "--judgments", "60000", "--rounds", "1", "--seconds", "2"]
    small, large = (report_of("growth", *words)[name] for name in ("small", "large"))
    assert small["errors"] == large["errors"] == []
    assert (small["pairs"], large["pairs"]) == (10_000, 20_000)
    assert small["submits"] > 0 and large["takes"] > 0


@pytest.mark.slow
def test_judging_loop() -> None:
    result = report_of("judging_loop", "--media", "--annotators", "2", "--seconds", "2", "--queries", "20")
    assert result["annotators"] == 2 and result["judgments"] > 0
    assert result["errors"] == result["over_assigned"] == 0
    assert 0 < result["p50_ms"] <= result["p95_ms"] and result["sql_per_judgment"] > 0


@pytest.mark.slow
def test_slow_clients() -> None:
    rows = report_of("slow_clients", "--rounds", "1", "--annotators", "2", "--seconds", "2", "--slow", "16")["rows"]
    kinds = [(row["slow"], row["connections"], row["errors"]) for row in rows]
    assert kinds == [("none", 0, 0), ("headers", 16, 0), ("bodies", 16, 0)]
    assert all(row["judgments_per_s"] > 0 for row in rows)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (growth, "--at-work 9"),
        (growth, "--pairs 10000"),
        (judging_loop, "--annotators many"),
        (judging_loop, "--seconds 0"),
        (load, "--cores 0"),
        (replay, "--annotators 3"),
        (replay, "--kill --kills 0"),
        (slow_clients, "--slow 0"),
    ],
)
def test_options_without_sense_are_refused(module: ModuleType, words: str) -> None:
    with pytest.raises(SystemExit):
        module.options_from(words.split())
