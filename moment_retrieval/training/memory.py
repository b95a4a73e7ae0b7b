"""Memory: kept from step to step, how much is used, and how running out of it is known."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import torch

from moment_retrieval.errors import ScoringError

MIB = 2**20
ON_CPU = "can't allocate memory"  # of a RuntimeError of torch
STATM = Path("/proc/self/statm")
TRIM_THRESHOLD, MMAP_MAX, ALL = -1, -4, 2**31 - 1  # of glibc's mallopt


class OutOfMemory(ScoringError):
    """Half a batch does not fit either."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory is used up, of a GPU or of the machine."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and ON_CPU in str(error)


def keep_freed() -> bool:
    """Have this process keep the memory it frees: whether it does.

    Else glibc gives large tensors back, and at the next step the kernel clears each of their pages anew.
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        return False
    return bool(library.mallopt(MMAP_MAX, 0) and library.mallopt(TRIM_THRESHOLD, ALL))


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
