"""Which samples each step of a training sees, and their batches, made while the step before is computed."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from moment_retrieval.batches import Batch
from moment_retrieval.data import Samples
from moment_retrieval.distributed import Team
from moment_retrieval.settings import EVALUATIONS_PER_EPOCH
from moment_retrieval.training.sampled_videos import VideoSampler

AHEAD = 2  # batches that wait


@dataclass(frozen=True)
class Schedule:
    """Which samples each step sees; nothing but the numbers of this is needed to go on from any step."""

    samples: int
    batch: int
    epochs: int
    seed: int
    whole_batches: bool = False  # what is left over at the end of an epoch is left out, unless it is all there is
    evaluations_per_epoch: float = EVALUATIONS_PER_EPOCH[20]  # may be less than 1

    @property
    def per_epoch(self) -> int:
        whole, rest = divmod(self.samples, self.batch)
        return whole + (rest > 0 and not (self.whole_batches and whole))

    @property
    def steps(self) -> int:
        return self.per_epoch * self.epochs

    @property
    def interval(self) -> int:
        """Steps from one evaluation to the next, as released: 136 // 0.05 is 2,719, since 0.05 is a little more."""
        return max(1, int(self.per_epoch // self.evaluations_per_epoch))

    def epoch(self, step: int) -> int:
        """The epoch, from 0, in which the step of this number, from 0, lies."""
        return step // self.per_epoch

    def evaluates(self, step: int) -> bool:
        """Whether an evaluation follows when so many steps are made; one always follows the last."""
        return step > 0 and (step % self.interval == 0 or step == self.steps)

    def evaluations(self, step: int) -> int:
        """How many follow, that of ``step`` among them, when so many steps are made."""
        before = max(0, step - 1)
        return -(-self.steps // self.interval) - before // self.interval if before < self.steps else 0

    def rows(self, first: int) -> Iterator[Tensor]:
        """The samples of every step from ``first``, counted from 0, to the end."""
        for epoch in range(self.epoch(first), self.epochs):
            order = torch.from_numpy(np.random.default_rng([self.seed, 0, epoch]).permutation(self.samples))
            parts = order.split(self.batch)[: self.per_epoch]
            yield from parts[max(0, first - epoch * self.per_epoch) :]


@dataclass(frozen=True)
class StepBatches:
    """A step's samples, and its batches, one unless memory asks for more."""

    rows: Tensor
    batches: list[Batch]  # what this process encodes, with the labels of all that the loss is computed of
    step: int = 0  # its number, from 0


@dataclass(frozen=True, eq=False)
class Loader:
    """Makes batches of samples."""

    samples: Samples
    team: Team
    sampler: VideoSampler | None = None  # draws videos beside the own ones

    def load(self, rows: Tensor, parts: int = 1, step: int = 0) -> StepBatches:
        """The batches of some samples, in as many parts; the number of the step says which videos are sampled."""
        sampled = (
            None if self.sampler is None else self.sampler(self.samples.query[rows], self.samples.video[rows], step)
        )
        videos = [None] * parts if sampled is None else sampled.chunk(parts)
        batches = [self._batch(*part) for part in zip(rows.chunk(parts), videos, strict=False)]
        return StepBatches(rows, batches, step)

    def _batch(self, rows: Tensor, sampled: Tensor | None) -> Batch:
        share = self.team.share(torch.arange(len(rows)))
        own = self.samples.batch(
            rows[share], pinned=self.team.device.type == "cuda", sampled=None if sampled is None else sampled[share]
        )
        if self.team.size == 1:
            return own
        return replace(
            own,
            start=self.samples.start[rows],
            end=self.samples.end[rows],
            similarity=self.samples.similarity[rows],
            positives=self.samples.positives_among(rows),
        )


@contextmanager
def prefetched(loader: Loader, rows: Iterator[Tensor], parts: int, first: int = 0) -> Iterator[Iterator[StepBatches]]:
    """The batches of ``rows``, made in a thread of their own, ``AHEAD`` of who takes them."""
    waiting: queue.Queue[StepBatches | BaseException | None] = queue.Queue(AHEAD)
    stop = threading.Event()

    def put(what: StepBatches | BaseException | None) -> None:
        while not stop.is_set():
            try:
                return waiting.put(what, timeout=0.1)
            except queue.Full:
                continue

    def fill() -> None:
        try:
            for step, some in enumerate(rows, start=first):
                if stop.is_set():
                    return
                put(loader.load(some, parts, step))
            put(None)
        except BaseException as error:  # it belongs to who takes the batches
            put(error)

    def batches() -> Iterator[StepBatches]:
        while (item := waiting.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item

    thread = threading.Thread(target=fill, name="batches", daemon=True)
    thread.start()
    try:
        yield batches()
    finally:
        stop.set()
        thread.join()
