"""Epochs, the batches of a step that are read ahead, and a batch computed in parts."""

from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import torch

from moment_retrieval.distributed import Team
from moment_retrieval.training.steps import Schedule, StepBatches, prefetched
from tests.moment_retrieval.training.steps import losses_and_gradients
from tests.moment_retrieval.training.tiny import Collection


def rows_of(schedule: Schedule, first: int = 0) -> list[list[int]]:
    return [rows.tolist() for rows in schedule.rows(first)]


def test_every_epoch_sees_every_sample_once_but_conquer_leaves_the_rest_out() -> None:
    schedule = Schedule(samples=10, batch=4, epochs=3, seed=1)
    rows = rows_of(schedule)
    assert [len(step) for step in rows] == [4, 4, 2] * 3
    epochs = [list(chain.from_iterable(rows[first : first + 3])) for first in (0, 3, 6)]
    assert all(sorted(epoch) == list(range(10)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert rows_of(Schedule(samples=10, batch=4, epochs=3, seed=2)) != rows
    assert all(rows_of(schedule, first) == rows[first:] for first in range(10))  # after a resume
    assert [len(rows) for rows in rows_of(Schedule(10, 4, 1, 1, whole_batches=True))] == [4, 4]
    assert [len(rows) for rows in rows_of(Schedule(3, 4, 2, 1, whole_batches=True))] == [3, 3]


@pytest.mark.parametrize("per_epoch", [0.4, 1, 3, 9])
def test_evaluations_to_come_are_those_that_will_be_made(per_epoch: float) -> None:
    schedule = Schedule(samples=10, batch=4, epochs=3, seed=1, evaluations_per_epoch=per_epoch)
    for step in range(schedule.steps + 2):
        assert schedule.evaluations(step) == sum(map(schedule.evaluates, range(step, schedule.steps + 1)))


@pytest.mark.parametrize(
    ("samples", "batch", "per_epoch", "interval"),
    [(69_317, 512, 0.05, 2719), (1_386_340, 512, 1, 2708), (2_772_680, 512, 2, 2708), (10, 4, 9, 1)],
)
def test_the_interval_of_evaluations(samples: int, batch: int, per_epoch: float, interval: int) -> None:
    assert Schedule(samples, batch, 10, 1, evaluations_per_epoch=per_epoch).interval == interval
    schedule = Schedule(samples=10, batch=4, epochs=3, seed=1, evaluations_per_epoch=0.7)
    assert [step for step in range(10) if schedule.evaluates(step)] == [4, 8, 9]  # the last step too


class Batches:
    def __init__(self, broken: int | None = None) -> None:
        self.broken = broken

    def load(self, rows: Any, parts: int, step: int) -> StepBatches:
        if self.broken in rows.tolist():
            raise OSError("the disk is gone")
        return StepBatches(rows, [])


def ahead_of(broken: int | None = None) -> Any:
    loader: Any = Batches(broken)
    return prefetched(loader, iter([torch.tensor([number]) for number in range(9)]), 1)


def test_batches_come_in_order_and_what_goes_wrong_reaches_whoever_takes_them() -> None:
    with ahead_of() as loads:
        assert [next(loads).rows.item() for _ in range(3)] == [0, 1, 2]
    with ahead_of() as loads:
        assert [load.rows.item() for load in loads] == list(range(9))
    with ahead_of(broken=2) as loads:
        next(loads)
        next(loads)
        with pytest.raises(OSError, match="the disk is gone"):
            next(loads)


ALONE = Team(torch.device("cpu"))


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    Collection().write(tmp_path)
    return tmp_path


def test_halves_of_a_batch_add_up_to_it_but_for_their_negatives(data_folder: Path) -> None:
    whole, halves = (losses_and_gradients(data_folder, "conquer", 15, ALONE, parts) for parts in (1, 2))
    for name, value in whole.items():
        torch.testing.assert_close(halves[name], value, rtol=1e-5, atol=2e-7, msg=name)
    whole, halves = (losses_and_gradients(data_folder, "xml", 15, ALONE, parts) for parts in (1, 2))
    torch.testing.assert_close(halves["loss/spans"], whole["loss/spans"])
    assert not torch.isclose(halves["loss/videos"], whole["loss/videos"])
    values = losses_and_gradients(data_folder, "xml", 1, ALONE, parts=2)
    assert values["loss/videos"] == values["loss/queries"] == 0
    assert values["span_head.start.weight"].abs().sum() > 0
