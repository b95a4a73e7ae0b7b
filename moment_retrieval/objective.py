"""How the losses of a batch are weighed, with the choices papers and released code differ in."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from moment_retrieval.batches import Batch
from moment_retrieval.losses import RandomNegatives, diagonal


@dataclass(frozen=True, kw_only=True)
class Objective:
    """What training minimises.

    Attributes:
        weigh_by_similarity: losses of single samples count by how similar query and moment are (RVMR); the rankings do
            not, as released.
        mask_positives: videos that hold another pseudo-positive of a query are no negatives of it. The papers say so,
            the released code does not.
        margin: by how much the own video must lead.
        span_weight, frame_weight, video_weight: of start and end, of frame and video contrast.
        own_video_weight: of the own video among sampled ones (CONQUER that scores videos).
        hard_from_epoch: from here on, counted from 0, negatives are drawn from the ``hard_pool`` hardest; None: never.
    """

    weigh_by_similarity: bool = True
    mask_positives: bool = False
    margin: float = 0.1
    span_weight: float = 0.01
    frame_weight: float = 0.03
    video_weight: float = 0.03
    own_video_weight: float = 0.05
    hard_from_epoch: int | None = 20
    hard_pool: int = 20

    def negatives(self, epoch: int, generator: torch.Generator) -> RandomNegatives:
        """How negatives are drawn in an epoch."""
        hard = self.hard_from_epoch is not None and epoch >= self.hard_from_epoch
        return RandomNegatives(generator, self.hard_pool if hard else None)

    def weighed(self, losses: Tensor, batch: Batch) -> Tensor:
        """The mean of losses per sample [B]."""
        return (losses * batch.similarity).mean() if self.weigh_by_similarity else losses.mean()

    def positives(self, batch: Batch) -> Tensor:
        """Which videos of the batch are positives of which query [B, B]: the own one, and with the mask the known.

        Raises:
            ValueError: the mask is on and the batch does not know its positives.
        """
        if not self.mask_positives:
            return diagonal(len(batch), batch.start.device)
        if batch.positives is None:
            raise ValueError("the mask of positives needs batches that know their positives")
        return batch.positives


@dataclass(frozen=True)
class Loss:
    """What a step minimises, and the means it is made of, by name, before their weights."""

    total: Tensor
    terms: dict[str, Tensor]
