"""Real judgments through HTTP, while services are killed: nothing lost, nothing doubled."""

import random
from pathlib import Path

import pytest

from benchmarks.plan import Grade, PlannedPair
from benchmarks.replay import VICTIMS, annotator_numbers, kills_planned, main
from tests.benchmarks.real_file import needs_real_file
from tests.benchmarks.test_commands import report_of


@pytest.mark.slow
@pytest.mark.timeout(1800)
@needs_real_file
def test_a_few_pairs_with_each_service_killed_once() -> None:
    """Two of these pairs stay escalated for want of grades."""
    words = ["--first", "166440", "--limit", "36", "--annotators", "8", "--kill", "--kills", "4"]
    result = report_of("replay", *words)
    assert (result["faults"], result["stored"]) == ([], result["planned"])
    assert result["stored"]["escalated"] == 2
    assert result["killed"] == dict.fromkeys(VICTIMS, 1)
    assert result["restarts"].keys() == result["killed"].keys()
    assert set(result["durability"].values()) == {"on"}


@pytest.mark.parametrize("seed", range(20))
def test_every_service_is_killed_as_a_whole_and_in_the_midst_of_judging(seed: int) -> None:
    kills, again = (kills_planned(grades=1000, count=5, chance=random.Random(seed)) for _ in range(2))
    assert kills == again
    assert {kill.service for kill in kills if kill.whole} == set(VICTIMS)
    moments = [kill.after for kill in kills]
    assert len(moments) == 5 and moments == sorted(moments) and moments[0] > 0 and moments[-1] < 1000


def test_people_named_most_often_come_first_and_stand_ins_fill_up() -> None:
    pair = PlannedPair(1, (Grade(3, 0), Grade(8, 4)), (Grade(8, 2), Grade(8, 2)))
    assert annotator_numbers([pair], 4) == [8, 3, 1001, 1002]


def test_missing_file_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOMENTJUDGE_SHARED", str(tmp_path))
    assert main([]) == 2
    assert f"There is no {tmp_path}" in capsys.readouterr().err
