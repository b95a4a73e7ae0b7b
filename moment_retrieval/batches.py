"""Data of one training step: queries with the videos their moments lie in, without padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from moment_retrieval.ragged import Sequences

Rows = NDArray[np.float32]


@dataclass(frozen=True)
class Sample:
    """One query with one of its moments, features as ``preprocessing`` gives them."""

    query: Rows  # rows of its words
    video: Rows  # rows of the video's clips
    subtitle: Rows  # rows of what is said in them; may have another length, or none
    start: int  # the clip the moment starts at
    end: int  # the clip it ends at
    similarity: float = 1.0  # of query and moment, 0 to 1
    query_id: str = ""  # for telling positives from negatives, as is the next
    video_id: str = ""


@dataclass(frozen=True)
class Batch:
    """B samples; start, end, similarity [B]; positives [B, B] where videos of other samples suit a query, if known."""

    queries: Sequences
    video: Sequences
    subtitle: Sequences
    start: Tensor
    end: Tensor
    similarity: Tensor
    positives: Tensor | None = None

    def __len__(self) -> int:
        return len(self.start)

    def to(self, device: str | torch.device) -> Batch:
        """The same on a device."""
        moved = {name: getattr(self, name).to(device) for name in ("queries", "video", "subtitle")}
        labels = {name: getattr(self, name).to(device) for name in ("start", "end", "similarity")}
        positives = None if self.positives is None else self.positives.to(device)
        return replace(self, **moved, **labels, positives=positives)


def collate(samples: Sequence[Sample], *, positives_of: dict[str, set[str]] | None = None) -> Batch:
    """Samples as one batch.

    Args:
        samples: one or more.
        positives_of: for each query the videos that hold a pseudo-positive of it; asked for by the mask of positives.
    """
    return Batch(
        queries=Sequences.of([sample.query for sample in samples]),
        video=Sequences.of([sample.video for sample in samples]),
        subtitle=Sequences.of([sample.subtitle for sample in samples]),
        start=torch.tensor([sample.start for sample in samples]),
        end=torch.tensor([sample.end for sample in samples]),
        similarity=torch.tensor([sample.similarity for sample in samples], dtype=torch.float32),
        positives=None if positives_of is None else _positives(samples, positives_of),
    )


def _positives(samples: Sequence[Sample], positives_of: dict[str, set[str]]) -> Tensor:
    """[B, B]: the video of the column holds a pseudo-positive of the query of the row; the own pair always does."""
    suits = [[other.video_id in positives_of.get(one.query_id, ()) for other in samples] for one in samples]
    return torch.tensor(suits).logical_or(torch.eye(len(samples), dtype=torch.bool))
