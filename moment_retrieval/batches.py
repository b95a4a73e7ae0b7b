"""Batches without padding: rows of sequences end to end, the way to a rectangle and back, and a training step's data.

Most of what the baselines compute treats every clip by itself; half of a padded batch would be padding. Only attention
and what slides over time need the rectangle.

Notation: B sequences, W the width of the rectangle, R rows computed of its B * W cells, D features.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

HIDDEN = -10_000.0  # what attention adds to a score it must not see; published, and not minus infinity
NOTHING = -1e10  # what stands for the score or logit of no clip


@dataclass(frozen=True)
class Sequences:
    """Feature rows of B sequences.

    Shapes: rows [R, D], the first sequence's first; lengths [B], whole numbers on the CPU, whose sum is R.
    """

    rows: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, sequences: Sequence[NDArray[np.float32]]) -> Sequences:
        """Sequences [n, D] each, n may be 0."""
        rows = torch.from_numpy(np.concatenate(sequences))
        return cls(rows, torch.tensor([len(sequence) for sequence in sequences]))

    def __len__(self) -> int:
        return len(self.lengths)

    def to(self, device: str | torch.device) -> Sequences:
        """The same with the rows on a device; lengths stay, the host lays out by them."""
        return Sequences(self.rows.to(device, non_blocking=True), self.lengths)

    def taken(self, indexes: Tensor) -> Sequences:
        return Sequences(self.rows[rows_of(self.lengths, indexes).to(self.rows.device)], self.lengths[indexes])


@dataclass(frozen=True)
class Layout:
    """Which cells of a rectangle [B, W] hold rows."""

    lengths: Tensor  # rows of each sequence that are real [B]
    computed: Tensor  # rows of each sequence that are computed [B], no fewer than real
    width: int  # W, no less than any of ``computed``
    device: torch.device  # where the rows are

    @classmethod
    def of(cls, lengths: Tensor, device: torch.device) -> Layout:
        """Keep the real rows, in a rectangle no wider than need be."""
        return cls(lengths, lengths, max(1, int(lengths.max())), device)

    @classmethod
    def joined(cls, layouts: Sequence[Layout]) -> Layout:
        """The sequences of all layouts, one after the other, in a rectangle as wide as the widest."""
        lengths, row_counts = (
            torch.cat([getattr(layout, name) for layout in layouts]) for name in ("lengths", "computed")
        )
        return cls(lengths, row_counts, max(layout.width for layout in layouts), layouts[0].device)

    def taken(self, indexes: Tensor) -> tuple[Layout, Tensor]:
        """The sequences of these indexes, in their order, and which rows of this layout theirs are."""
        indexes = indexes.cpu()
        row_counts = self.computed[indexes]
        layout = Layout(self.lengths[indexes], row_counts, max(1, int(row_counts.max())), self.device)
        return layout, rows_of(self.computed, indexes).to(self.device, non_blocking=True)

    @cached_property
    def full(self) -> bool:
        """Whether every cell is computed."""
        return int(self.computed.sum()) == len(self.computed) * self.width

    @cached_property
    def whole(self) -> bool:
        """Every cell is real."""
        return int(self.lengths.sum()) == len(self.lengths) * self.width

    @cached_property
    def positions(self) -> Tensor:
        """The cell of each computed row [R]."""
        cells = torch.arange(self.width) < self.computed[:, None]
        return cells.flatten().nonzero().squeeze(1).to(self.device, non_blocking=True)

    @cached_property
    def owner(self) -> Tensor:
        """Which sequence each computed row is of [R]."""
        return self.positions // self.width

    @cached_property
    def position(self) -> Tensor:
        """How far into its sequence each computed row lies [R]."""
        return self.positions % self.width

    @cached_property
    def real(self) -> Tensor:
        """True where a cell is real [B, W]."""
        return (torch.arange(self.width) < self.lengths[:, None]).to(self.device, non_blocking=True)

    @cached_property
    def of_real(self) -> Layout:
        """The same rectangle with nothing but what is real."""
        return Layout(self.lengths, self.lengths, self.width, self.device)

    @cached_property
    def hidden(self) -> Tensor:
        """Additive attention mask by key [B, 1, 1, W]."""
        return (~self.real).float().mul(HIDDEN)[:, None, None]

    def spread(self, rows: Tensor) -> Tensor:
        """Rows [R, D] -> rectangle [B, W, D], zero where nothing is computed."""
        cells = rows if self.full else _spread(rows, self.positions, len(self.computed) * self.width)
        return cells.unflatten(0, (len(self.computed), self.width))

    def collect(self, cells: Tensor) -> Tensor:
        """Rectangle [B, W, D] -> rows [R, D]."""
        cells = cells.flatten(0, 1)
        return cells if self.full else cells.index_select(0, self.positions)

    def narrowed(self, rows: Tensor, narrower: Layout) -> Tensor:
        """Rows of this layout [R, D] -> those a narrower layout of the same sequences keeps [R', D]."""
        if narrower.full and narrower.width == self.width:
            return rows
        cells = narrower.positions // narrower.width * self.width + narrower.position
        return self.spread(rows).flatten(0, 1).index_select(0, cells)


def wide(values: Tensor) -> Tensor:
    """The same in 32 bits, if mixed precision gave them 16: those hold neither ``NOTHING`` nor long sums."""
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def rows_of(lengths: Tensor, indexes: Tensor) -> Tensor:
    """Where the rows of the chosen sequences are among those of all, ``lengths`` [B] each, end to end."""
    starts, counts = lengths.cumsum(0) - lengths, lengths[indexes]
    within = torch.arange(int(counts.sum())) - (counts.cumsum(0) - counts).repeat_interleave(counts)
    return starts[indexes].repeat_interleave(counts) + within


@dataclass(frozen=True)
class SideBySide:
    """Two rectangles as one [B, 2 W], their rows one after the other: what attention needs of a layout."""

    left: Layout
    right: Layout

    @cached_property
    def positions(self) -> Tensor:
        """The cell of each computed row [R + R']."""
        both = 2 * self.left.width
        left_cells = self.left.owner * both + self.left.position
        return torch.cat([left_cells, self.right.owner * both + self.left.width + self.right.position])

    @cached_property
    def hidden(self) -> Tensor:
        """Additive attention mask by key [B, 1, 1, 2 W]."""
        return torch.cat([self.left.hidden, self.right.hidden], dim=3)

    def spread(self, rows: Tensor) -> Tensor:
        """Rows [R + R', D] -> rectangle [B, 2 W, D]."""
        sequences, width = len(self.left.computed), 2 * self.left.width
        return _spread(rows, self.positions, sequences * width).unflatten(0, (sequences, width))

    def collect(self, cells: Tensor) -> Tensor:
        """Rectangle [B, 2 W, D] -> rows [R + R', D]."""
        return cells.flatten(0, 1).index_select(0, self.positions)


def _spread(rows: Tensor, positions: Tensor, cells: int) -> Tensor:
    """Rows at their cells, zeros at the others."""
    return rows.new_zeros(cells, *rows.shape[1:]).index_copy(0, positions, rows)


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
        moved = {name: getattr(self, name).to(device) for name in ("queries", "video", "subtitle")}
        labels = {name: getattr(self, name).to(device) for name in ("start", "end", "similarity")}
        positives = None if self.positives is None else self.positives.to(device)
        return replace(self, **moved, **labels, positives=positives)


def collate(samples: Sequence[Sample], *, positives_of: dict[str, set[str]] | None = None) -> Batch:
    """Samples as one batch.

    Args:
        samples: one or more.
        positives_of: for each query the videos that hold a pseudo-positive of it; needed by the mask of positives.
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
