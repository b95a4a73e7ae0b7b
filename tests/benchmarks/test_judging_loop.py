import json
import subprocess
import sys

import pytest

from benchmarks.common import percentile_ms
from benchmarks.judging_loop import faults, options_from
from core.embedded.services import BASE_DIR


def test_percentiles_are_of_the_nearest_rank() -> None:
    latencies = [0.001 * number for number in range(1, 21)]
    assert (percentile_ms(latencies, 50), percentile_ms(latencies, 95), percentile_ms([], 95)) == (10, 19, 0)


def test_several_counts_of_annotators() -> None:
    assert options_from(["--annotators", "1,4,8"]).annotators == [1, 4, 8]


@pytest.mark.parametrize("words", [["--annotators", "many"], ["--annotators", "0"], ["--seconds", "0"]])
def test_options_without_sense(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        options_from(words)


def test_a_lost_grade_is_a_fault() -> None:
    safe, unsafe = {"fsync": "on"}, {"fsync": "off"}
    assert faults(answered=5, recorded=5, undecided=0, statements=(9, 9), ended=[], durability=safe) == []
    problems = faults(answered=5, recorded=4, undecided=1, statements=(9, 10), ended=["worker"], durability=unsafe)
    assert len(problems) == 5


@pytest.mark.slow
def test_two_annotators_for_two_seconds() -> None:
    command = [sys.executable, "-m", "benchmarks.judging_loop", "--json", "--media"]
    command += ["--annotators", "2", "--seconds", "2", "--queries", "20"]
    process = subprocess.run(command, cwd=BASE_DIR, capture_output=True, text=True, timeout=600, check=False)
    assert process.returncode == 0, process.stderr
    (line,) = process.stdout.splitlines()
    result = json.loads(line)
    assert result["annotators"] == 2 and result["judgments"] > 0
    assert result["errors"] == result["over_assigned"] == 0
    assert 0 < result["p50_ms"] <= result["p95_ms"] and result["sql_per_judgment"] > 0
