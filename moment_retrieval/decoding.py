"""From boundaries to ranked moments.

Only moments of allowed lengths are looked at: 14 diagonals of each video's map, and of those only the best cell of
every start until the best starts are known. The ranking is that of the whole map.

Notation: N queries, V videos of each, W clips, k moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from moment_retrieval.settings import Decoding


@dataclass(frozen=True)
class Found:
    """Moments of N queries, best first [N, k]: which video, the clips of start and end, the score.

    A query with fewer than k moments has cells without a score (minus infinity) at its end.
    """

    video: Tensor
    start: Tensor
    end: Tensor
    score: Tensor

    @property
    def real(self) -> Tensor:
        """True where there is a moment [N, k]."""
        return self.score > -torch.inf


def by_probability(start: Tensor, end: Tensor, weights: Tensor, decoding: Decoding) -> Found:
    """Moments by weight * P(start) * P(end), as XML and ReLoCLNet rank them.

    Args:
        start, end: probabilities [N, V, W], 0 where no clip is.
        weights: of the videos [N, V].
        decoding: lengths and number.
    """
    found = _best(start * weights[..., None], end, torch.mul, 0.0, decoding)
    nothing = found.score <= 0
    return Found(found.video, found.start, found.end, found.score.masked_fill(nothing, -torch.inf))


def by_logit(start: Tensor, end: Tensor, real: Tensor, decoding: Decoding) -> Found:
    """Moments by the sum of their logits [N, V, W], ``real`` where a clip is, as CONQUER ranks them."""
    start, end = (logits.masked_fill(~real, -torch.inf) for logits in (start, end))
    return _best(start, end, torch.add, -torch.inf, decoding)


def _best(start: Tensor, end: Tensor, joined: Any, outside: float, decoding: Decoding) -> Found:
    """The best cells of ``joined(start[i], end[j])``, which grows with each; ``outside`` is worth nothing."""
    width = start.shape[2]
    diagonals = decoding.longest - decoding.shortest
    ends = functional.pad(end, (0, decoding.longest - 1), value=outside)[..., decoding.shortest :]  # [N, V, W + d - 1]
    best_end = functional.max_pool1d(ends, diagonals, stride=1)  # [N, V, W]
    starts = largest(joined(start, best_end).flatten(1), decoding.moments).sort(1).values  # cells [N, k]
    ends = ends.unfold(2, diagonals, 1).flatten(1, 2)  # [N, V * W, d], a view
    near = ends.gather(1, starts[..., None].expand(-1, -1, diagonals))  # [N, k, d]
    cells = joined(start.flatten(1).gather(1, starts)[..., None], near).flatten(1)  # [N, k * d]
    chosen = largest(cells, decoding.moments)
    cell = starts.gather(1, chosen // diagonals)
    first = cell % width
    last = first + decoding.shortest + chosen % diagonals
    return Found(cell // width, first, last, cells.gather(1, chosen))


def largest(values: Tensor, count: int) -> Tensor:
    """Where the ``count`` largest of each row are [N, min(count, C)], largest first, of equals the first first."""
    count = min(count, values.shape[1])
    top, where = values.topk(count, dim=1)
    where, order = where.sort(dim=1)
    where = where.gather(1, top.gather(1, order).argsort(dim=1, descending=True, stable=True))
    tied = ((values >= top[:, -1:]).sum(1) > count).nonzero().squeeze(1)  # which of the last equals topk took is chance
    if len(tied):
        where[tied] = values[tied].argsort(dim=1, descending=True, stable=True)[:, :count]
    return where
