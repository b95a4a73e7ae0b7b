from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from models_runner.retrieval.training import run


class Features:
    """Features in a file of the published layout."""

    def __init__(self, path: Path) -> None:
        self.file = h5py.File(path)

    @property
    def width(self) -> int:
        return int(next(iter(self.file.values())).shape[1])

    def __contains__(self, name: object) -> bool:
        return name in self.file

    def rows(self, name: str) -> np.ndarray:
        return self.file[name][()]

    def checksum(self) -> str:
        return self.file.filename

    def close(self) -> None:
        self.file.close()


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Sums in one order, and no two workers on each other's cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "open_store", Features)
