import json
import subprocess
import sys
from typing import Any

import pytest

from benchmarks.slow_clients import losses, options_from
from core.embedded.services import BASE_DIR


def row(number: int, slow: str, pace: float) -> dict[str, Any]:
    return {"round": number, "slow": slow, "judgments_per_s": pace}


def test_a_loss_is_the_median_over_rounds_each_compared_with_itself() -> None:
    paces = {"none": [100.0, 200.0, 50.0], "headers": [90.0, 200.0, 50.0], "bodies": [50.0, 150.0, 25.0]}
    rows = [row(number, slow, pace) for slow, many in paces.items() for number, pace in enumerate(many)]
    assert losses(rows) == {"headers": 0.0, "bodies": 0.5}


@pytest.mark.parametrize("words", [["--slow", "0"], ["--rounds", "0"], ["--seconds", "0"], ["--annotators", "0"]])
def test_options_without_sense(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        options_from(words)


@pytest.mark.slow
def test_two_annotators_beside_sixteen_slow_clients() -> None:
    command = [sys.executable, "-m", "benchmarks.slow_clients", "--json", "--rounds", "1"]
    command += ["--annotators", "2", "--seconds", "2", "--slow", "16"]
    process = subprocess.run(command, cwd=BASE_DIR, capture_output=True, text=True, timeout=600, check=False)
    report = json.loads(process.stdout)
    assert [(each["slow"], each["connections"], each["errors"]) for each in report["rows"]] == [
        ("none", 0, 0),
        ("headers", 16, 0),
        ("bodies", 16, 0),
    ]
    assert all(each["judgments_per_s"] > 0 for each in report["rows"])
