"""When the replay kills whom."""

import random

import pytest

from benchmarks.replay import VICTIMS, Kill, kills_planned


@pytest.mark.parametrize("seed", range(20))
def test_every_service_is_killed_as_a_whole_and_in_the_midst_of_judging(seed: int) -> None:
    kills = kills_planned(grades=1000, count=5, chance=random.Random(seed))
    assert len(kills) == 5
    assert {kill.service for kill in kills if kill.whole} == set(VICTIMS)
    moments = [kill.after for kill in kills]
    assert moments == sorted(moments) and moments[0] > 0 and moments[-1] < 1000


def test_the_seed_repeats_the_kills() -> None:
    def kills(seed: int) -> list[Kill]:
        return kills_planned(grades=1000, count=9, chance=random.Random(seed))

    assert kills(1) == kills(1) != kills(2)


def test_no_kills() -> None:
    assert kills_planned(grades=1000, count=0, chance=random.Random(1)) == []
