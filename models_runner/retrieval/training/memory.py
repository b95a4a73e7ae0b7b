"""Running out of memory: how it is known, and how much is used."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from models_runner.retrieval.errors import ScoringError

MIB = 2**20
ON_CPU = "can't allocate memory"  # of a RuntimeError of torch
STATM = Path("/proc/self/statm")


class OutOfMemory(ScoringError):
    """Half a batch does not fit either."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory is used up, of a GPU or of the machine."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and ON_CPU in str(error)


def used_mb(device: torch.device) -> float:
    """MiB held now: of the process, or at the most so far on a GPU."""
    if device.type == "cuda":
        return round(torch.cuda.max_memory_allocated(device) / MIB, 1)
    pages = int(STATM.read_text().split()[1]) if STATM.exists() else 0
    return round(pages * os.sysconf("SC_PAGE_SIZE") / MIB, 1)


def give_back(device: torch.device) -> None:
    """Free what is cached of a GPU."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
