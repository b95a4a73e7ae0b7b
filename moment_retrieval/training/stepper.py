"""One step of a training: loss, gradients, weights; in halves where memory runs out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from moment_retrieval.batches import Batch
from moment_retrieval.distributed import OutOfMemory, Precision, Team, give_back, is_out_of_memory
from moment_retrieval.errors import ScoringError
from moment_retrieval.losses import DrawNegatives, Loss
from moment_retrieval.settings import Objective
from moment_retrieval.training.steps import Loader, StepBatches

HALVES = 2


class NotFinite(ScoringError):
    """A loss or a weight is no finite number; nothing was changed by it."""


@dataclass
class Stepper:
    trained: nn.Module  # the model, wrapped for several processes
    optimiser: Optimizer
    loss: Callable[..., Loss]  # of the baseline
    objective: Objective
    loader: Loader
    precision: Precision
    team: Team
    notice: Callable[[str], None]  # takes messages for people
    parts: int = 1  # into how many parts a batch is cut; their gradients are added up

    def step(self, work: StepBatches, draw: DrawNegatives, number: int) -> dict[str, float]:
        """Change the weights once; the loss as ``loss`` and its terms by name.

        Raises:
            NotFinite: the loss is NaN or infinite; the weights are as before.
            OutOfMemory: half a batch does not fit either.
        """
        try:
            return self._step(work, draw, number)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            self._halve(number, work)
        return self.step(work, draw, number)

    def evaluated(self, batch: Batch, draw: DrawNegatives) -> Loss:
        """The loss of a batch, no gradients."""
        with torch.no_grad(), self.precision.narrow():
            model = self.trained if self.team.size == 1 else self.trained.module.model
            return self.loss(model(batch), batch, self.objective, draw)

    def _step(self, work: StepBatches, draw: DrawNegatives, number: int) -> dict[str, float]:
        self.optimiser.zero_grad(set_to_none=True)
        if len(work.batches) != min(self.parts, len(work.rows)):
            work = self.loader.load(work.rows, self.parts, work.step)
        terms: dict[str, float] = {}
        for batch in work.batches:
            share = len(batch) / len(work.rows)
            for name, value in self._backward(batch.to(self.team.device), draw, number, share).items():
                terms[name] = terms.get(name, 0.0) + share * value
        self.precision.step(self.optimiser)
        return terms

    def _backward(self, batch: Batch, draw: DrawNegatives, number: int, share: float) -> dict[str, float]:
        with self.precision.narrow():
            output = self.trained(batch)
        loss = self.loss(output, batch, self.objective, draw)
        values = torch.stack([loss.total, *loss.terms.values()]).tolist()
        terms = dict(zip(("loss", *loss.terms), values, strict=True))
        if not torch.isfinite(torch.tensor(values)).all():
            raise NotFinite(f"the loss is not finite at step {number}: {_shown(terms)}; the last checkpoint is good")
        self.precision.backward(loss.total * share)
        return terms

    def _halve(self, number: int, work: StepBatches) -> None:
        """Cut batches in two, once. A process of several cannot: the others wait for it in the middle of a step."""
        self.optimiser.zero_grad(set_to_none=True)
        give_back(self.team.device)
        size = len(work.rows)
        if self.team.size > 1:
            raise OutOfMemory(f"out of memory at step {number} with a batch of {size} on {self.team.size} processes")
        if self.parts >= HALVES or size < HALVES:
            raise OutOfMemory(f"out of memory at step {number}, with half a batch of {size} too: plan a smaller batch")
        self.parts = HALVES
        self.notice(
            f"out of memory at step {number}: batches are computed in {HALVES} halves from here on, and negatives are "
            "drawn from the half a sample is in"
        )


def _shown(terms: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in terms.items())
