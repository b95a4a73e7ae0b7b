"""Multiply queries with captions on a GPU; annotation.pools.rules.pooling says which are ranked, and how."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.pools.rules.pooling import MARGIN, Ranker

DEVICES = Path("/dev")
CELLS = 2**28  # cosines on the device at once: 1 GiB


def ranker_here() -> type[Ranker]:
    """The fastest ranker of this machine; torch is not loaded where no GPU is."""
    if not any(DEVICES.glob("nvidia[0-9]*")):
        return Ranker
    import torch

    return GpuRanker if torch.cuda.is_available() else Ranker


class GpuRanker(Ranker):
    """Takes the product on ``device``, in single precision."""

    device = "cuda"
    threads = 1  # a block fills the device, and its memory

    def survivors(
        self, queries: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        rows = max(1, CELLS // len(self.captions))
        parts = [self._of_some(queries, start, rows) for start in range(0, len(queries), rows)]
        row, caption, cosine = (np.concatenate(part) for part in zip(*parts, strict=True))
        return row, caption, cosine

    def _of_some(
        self, queries: NDArray[np.float32], start: int, rows: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        import torch

        captions, moment_of = self._there
        cosines = torch.from_numpy(queries[start : start + rows]).to(self.device) @ captions.T
        best = torch.full((len(cosines), len(self.first)), -torch.inf, device=self.device)
        best.scatter_reduce_(1, moment_of.expand(len(cosines), -1), cosines, "amax")
        bound = best.topk(self.keep, dim=1).values[:, -1:] - float(MARGIN)
        row, caption = torch.nonzero(cosines > bound, as_tuple=True)
        return (row + start).cpu().numpy(), caption.cpu().numpy(), cosines[row, caption].cpu().numpy()

    @cached_property
    def _there(self) -> tuple[Any, Any]:
        """Captions [C, D] and the moment of each [C], on the device."""
        import torch

        return torch.from_numpy(self.captions).to(self.device), torch.from_numpy(self.moment_of).to(self.device)
