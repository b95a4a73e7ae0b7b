"""Moments proposed from the clips of a video: sliding windows, and groups of clips by a watershed over their scores.

Notation: N queries, V videos of each, W clips of the longest, M proposals for a video at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from moment_retrieval.windows import sliding_windows

UNIT = 2  # clips: 3 seconds
LEVELS = tuple(step / 20 for step in range(19, 0, -1))  # of the flood, as shares of the highest score
COVERAGE = 0.7  # least share of clips above the flood in a group; TAG tries several, the paper of XML names none


@dataclass(frozen=True)
class Proposals:
    """First and last clips of proposals [N, V, M]; ``real`` is False where a video has fewer than M."""

    first: Tensor
    last: Tensor
    real: Tensor

    @classmethod
    def of(cls, spans: Sequence[Sequence[tuple[int, int]]]) -> Proposals:
        """Make a table [len(spans), M] of spans (first clip, clip after the last)."""
        most = max(1, *map(len, spans))
        first, last = torch.zeros(len(spans), most, dtype=torch.long), torch.zeros(len(spans), most, dtype=torch.long)
        real = torch.zeros(len(spans), most, dtype=torch.bool)
        for row, each in enumerate(spans):
            if each:
                starts, ends = torch.tensor(each).unbind(1)
                first[row, : len(each)], last[row, : len(each)], real[row, : len(each)] = starts, ends - 1, True
        return cls(first, last, real)

    def rows(self, indexes: Tensor) -> Proposals:
        """Return those of some rows, in the shape of ``indexes``."""
        return Proposals(self.first[indexes], self.last[indexes], self.real[indexes])

    def to(self, device: torch.device) -> Proposals:
        """Move to a device."""
        return Proposals(self.first.to(device), self.last.to(device), self.real.to(device))


def watershed_groups(scores: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return the groups of clips (first, after the last) that lie above a falling flood, sorted.

    At every level each run of clips above it begins a group, which takes in the next runs as long as enough of its
    clips lie above.

    Args:
        scores: of the clips [W], 0 or more.

    Source: temporal actionness grouping (Zhao et al. 2017, arXiv:1704.06228), section 4.
    """
    groups: set[tuple[int, int]] = set()
    for level in LEVELS:
        above = scores >= level * scores.max(initial=0.0)
        edges = np.flatnonzero(np.diff(np.concatenate(([False], above, [False])).astype(np.int8)))
        groups.update(_joined(edges[::2].tolist(), edges[1::2].tolist()))
    return sorted(groups)


def _joined(starts: Sequence[int], ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield for each run the longest group that begins with it."""
    for seed, start in enumerate(starts):
        above, group_end = 0, ends[seed]
        for first, end in zip(starts[seed:], ends[seed:], strict=True):
            above += end - first
            if above < COVERAGE * (end - start):
                break
            group_end = end
        yield start, group_end


@lru_cache(maxsize=8)
def _window_table(width: int) -> Proposals:
    """Windows of videos of 0 to ``width`` clips [width + 1, M]."""
    return Proposals.of([sliding_windows(length, UNIT) for length in range(width + 1)])


def window_proposals(scores: Tensor, lengths: Tensor) -> Proposals:
    """Propose all sliding windows of videos with ``lengths`` [N, V]; ``scores`` [N, V, W] say the width alone."""
    return _window_table(scores.shape[2]).rows(lengths.cpu()).to(scores.device)


def group_proposals(scores: Tensor, lengths: Tensor) -> Proposals:
    """Propose the watershed groups of clips with ``scores`` [N, V, W], of which each video has ``lengths`` [N, V]."""
    rows = scores.flatten(0, 1).double().cpu().numpy()
    counts = lengths.flatten().tolist()
    table = Proposals.of([watershed_groups(row[:count]) for row, count in zip(rows, counts, strict=True)])
    return table.rows(torch.arange(len(counts)).view(lengths.shape)).to(scores.device)
