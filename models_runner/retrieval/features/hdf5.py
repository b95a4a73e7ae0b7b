"""HDF5: one dataset for each name, as published. What lies in one piece is mapped, the rest is read through h5py."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models_runner.retrieval.errors import BrokenFeatures
from models_runner.retrieval.features.stores import FeatureStore, without_masks


class Hdf5Store(FeatureStore):
    """An HDF5 file of features."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._held: Any = None
        self._mapped: NDArray[np.uint8] | None = None
        self._process = 0
        _ = self._file  # a file that cannot be read says so now

    @property
    def names(self) -> list[str]:
        return without_masks(list(_datasets(self._file)))

    @property
    def content(self) -> Path:
        return self.path

    def close(self) -> None:
        if self._held is not None and self._process == os.getpid():
            self._held.close()
        self._held = self._mapped = None

    @property
    def _file(self) -> Any:
        """The file as this process opened it."""
        if self._held is None or self._process != os.getpid():
            self._held, self._mapped, self._process = _opened(self.path), None, os.getpid()
        return self._held

    def _read(self, name: str) -> NDArray[Any]:
        try:
            dataset = self._file[name]
            view = self._view(dataset)
            return np.asarray(dataset[()]) if view is None else view
        except (OSError, RuntimeError, KeyError) as error:
            raise BrokenFeatures(f"cannot be read: {_first_line(error)}") from error

    def _view(self, dataset: Any) -> NDArray[Any] | None:
        """The dataset as a read-only view of the file, or None where it does not lie there in one piece."""
        start = dataset.id.get_offset()
        if start is None or dataset.external or dataset.is_virtual or dataset.dtype.kind not in "fiu":
            return None
        if self._mapped is None:
            self._mapped = np.memmap(self.path, np.uint8, mode="r")
        if start + dataset.nbytes > len(self._mapped):
            raise BrokenFeatures("the file is cut short")
        return np.ndarray(dataset.shape, dataset.dtype, self._mapped.data, start)


def _opened(path: Path) -> Any:
    import h5py

    try:
        return h5py.File(path, "r", locking="best-effort", rdcc_nbytes=0)  # every dataset is read whole, and once
    except OSError as error:
        cut = "truncated" in str(error)
        problem = "the file is cut short" if cut else f"not a readable HDF5 file: {_first_line(error)}"
        raise BrokenFeatures(f"{path.name}: {problem}") from error


def _datasets(group: Any, within: str = "") -> Iterator[str]:
    """Names of all datasets; one with slashes lies in groups."""
    import h5py

    try:
        for name in group:
            kind = group.get(name, getclass=True)
            if kind is h5py.Dataset:
                yield within + name
            elif kind is h5py.Group and group.get(name, getlink=True).__class__ is h5py.HardLink:
                yield from _datasets(group[name], f"{within}{name}/")
    except (OSError, RuntimeError) as error:
        raise BrokenFeatures(f"its names cannot be read: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
