"""Start and end of a moment, from how similar a query is to each clip."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from moment_retrieval.ragged import NOTHING, wide


class SpanHead(nn.Module):
    """Start and end logits for every clip.

    One convolution each slides over time, so that a boundary is judged from the clips around it: the ConvSE of XML (Lei
    et al. 2020, arXiv:2001.09099), section 4.
    """

    def __init__(self, *, kernel_size: int) -> None:
        super().__init__()
        if kernel_size % 2 == 0:
            raise ValueError(f"kernel_size must be odd to keep the number of clips, got {kernel_size}")
        self.start = nn.Conv1d(1, 1, kernel_size, padding=kernel_size // 2, bias=False)
        self.end = nn.Conv1d(1, 1, kernel_size, padding=kernel_size // 2, bias=False)

    def forward(self, similarity: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """similarity [B, W], real [B, W] (True: a clip) -> start, end [B, W]; no clip holds -1e10."""
        kernels = torch.cat([self.start.weight, self.end.weight])  # [2, 1, K]
        logits = functional.conv1d(similarity[:, None], kernels, padding=self.start.padding[0])  # [B, 2, W]
        start, end = wide(logits).masked_fill(~real[:, None], NOTHING).unbind(1)
        return start, end
