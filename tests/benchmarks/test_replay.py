"""Real judgments through HTTP, while services are killed: nothing lost, nothing doubled."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.plan import Grade, PlannedPair
from benchmarks.replay import annotator_numbers, main, options_from
from core.embedded.services import BASE_DIR
from tests.benchmarks.real_file import needs_real_file

WITH_OPEN_ENDS = ["--first", "166440", "--limit", "36"]  # two of these pairs stay escalated for want of grades


def replayed(*words: str, timeout: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.replay", "--json", *words]
    process = subprocess.run(command, cwd=BASE_DIR, capture_output=True, text=True, timeout=timeout, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    result: dict[str, Any] = json.loads(process.stdout)
    return result


@pytest.mark.slow
@pytest.mark.timeout(1800)
@needs_real_file
def test_a_few_pairs_with_each_service_killed_once() -> None:
    result = replayed(*WITH_OPEN_ENDS, "--annotators", "8", "--kill", "--kills", "4", timeout=1700)
    assert result["faults"] == []
    assert result["stored"] == result["planned"]
    assert result["stored"]["escalated"] == 2
    assert result["killed"] == {"judging": 1, "web": 1, "database": 1, "valkey": 1}
    assert result["restarts"].keys() == result["killed"].keys()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@needs_real_file
def test_two_thousand_pairs_with_many_kills() -> None:
    result = replayed("--limit", "2000", "--kill", "--kills", "15", timeout=1700)
    assert result["faults"] == []
    assert result["annotators"] == 24
    assert sum(result["killed"].values()) >= 12


@pytest.mark.slow
@needs_real_file
def test_nothing_killed_nothing_interrupted() -> None:
    result = replayed(*WITH_OPEN_ENDS, timeout=600)
    assert result["faults"] == [] and result["interruptions"] == 0
    assert set(result["durability"].values()) == {"on"}


def test_people_named_most_often_come_first_and_stand_ins_fill_up() -> None:
    pair = PlannedPair(1, (Grade(3, 0), Grade(8, 4)), (Grade(8, 2), Grade(8, 2)))
    assert annotator_numbers([pair], 4) == [8, 3, 1001, 1002]
    assert annotator_numbers([pair], 1) == [8]


@pytest.mark.parametrize("words", [["--annotators", "3"], ["--limit", "0"], ["--kill", "--kills", "0"]])
def test_options_without_sense(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        options_from(words)


def test_without_kill_nobody_is_killed() -> None:
    assert options_from(["--kills", "5"]).kills == 0
    assert options_from(["--kill", "--kills", "5"]).kills == 5


def test_missing_file_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOMENTJUDGE_SHARED", str(tmp_path))
    assert main([]) == 2
    assert f"There is no {tmp_path}" in capsys.readouterr().err
