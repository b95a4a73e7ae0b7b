from itertools import chain
from typing import Any

import pytest
import torch

from moment_retrieval.train import Schedule, StepBatches, prefetched


def rows_of(schedule: Schedule, first: int = 0) -> list[list[int]]:
    return [rows.tolist() for rows in schedule.rows(first)]


def test_every_epoch_sees_every_sample_once_in_an_order_of_its_own() -> None:
    schedule = Schedule(samples=10, batch=4, epochs=3, seed=1)
    rows = rows_of(schedule)
    assert [len(step) for step in rows] == [4, 4, 2] * 3
    epochs = [list(chain.from_iterable(rows[first : first + 3])) for first in (0, 3, 6)]
    assert all(sorted(epoch) == list(range(10)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert rows_of(Schedule(samples=10, batch=4, epochs=3, seed=2)) != rows


@pytest.mark.parametrize("per_epoch", [0.4, 1, 3, 9])
def test_evaluations_to_come_are_those_that_will_be_made(per_epoch: float) -> None:
    schedule = Schedule(samples=10, batch=4, epochs=3, seed=1, evaluations_per_epoch=per_epoch)
    for step in range(schedule.steps + 2):
        assert schedule.evaluations(step) == sum(map(schedule.evaluates, range(step, schedule.steps + 1)))


@pytest.mark.parametrize("first", range(10))
def test_from_any_step_on_the_order_is_that_of_the_whole(first: int) -> None:
    schedule = Schedule(samples=10, batch=4, epochs=3, seed=1)
    assert rows_of(schedule, first) == rows_of(schedule)[first:]


def test_conquer_leaves_the_rest_of_an_epoch_out_unless_it_is_all() -> None:
    assert [len(rows) for rows in rows_of(Schedule(10, 4, 1, 1, whole_batches=True))] == [4, 4]
    assert [len(rows) for rows in rows_of(Schedule(3, 4, 2, 1, whole_batches=True))] == [3, 3]


@pytest.mark.parametrize(
    ("samples", "batch", "per_epoch", "interval"),
    [(69_317, 512, 0.05, 2719), (1_386_340, 512, 1, 2708), (2_772_680, 512, 2, 2708), (10, 4, 9, 1)],
)
def test_the_interval_of_evaluations_is_the_released_one(
    samples: int, batch: int, per_epoch: float, interval: int
) -> None:
    assert Schedule(samples, batch, 10, 1, evaluations_per_epoch=per_epoch).interval == interval


def test_an_evaluation_follows_the_last_step_too() -> None:
    schedule = Schedule(samples=10, batch=4, epochs=3, seed=1, evaluations_per_epoch=0.7)
    assert [step for step in range(10) if schedule.evaluates(step)] == [4, 8, 9]


class Batches:
    def __init__(self, broken: int | None = None) -> None:
        self.broken = broken

    def load(self, rows: Any, parts: int) -> StepBatches:
        if self.broken in rows.tolist():
            raise OSError("the disk is gone")
        return StepBatches(rows, [])


def test_batches_come_in_order_and_their_thread_ends_with_whoever_takes_them() -> None:
    rows = [torch.tensor([number]) for number in range(9)]
    loader: Any = Batches()
    with prefetched(loader, iter(rows), 1) as loads:
        numbers = [next(loads).rows.item() for _ in range(3)]
    assert numbers == [0, 1, 2]
    with prefetched(loader, iter(rows), 1) as loads:
        assert [load.rows.item() for load in loads] == list(range(9))


def test_what_goes_wrong_in_the_thread_reaches_whoever_takes_the_batches() -> None:
    loader: Any = Batches(broken=2)
    with prefetched(loader, iter([torch.tensor([number]) for number in range(9)]), 1) as loads:
        next(loads)
        next(loads)
        with pytest.raises(OSError, match="the disk is gone"):
            next(loads)
