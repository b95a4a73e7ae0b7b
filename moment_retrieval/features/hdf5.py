"""HDF5, one dataset for each name, as published: mapped or read."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import BrokenFeatures, at, first_line
from moment_retrieval.features.attributes import LABELS, LONGEST_TEXT, Attributes, known_attributes
from moment_retrieval.features.stores import FeatureStore, check_bytes, check_declared, reading, without_masks

ELSEWHERE = "it lies in another file, which is not read"
MOST_NAMES = 1_000_000  # of a file; TVR-Ranking has 21,793 videos
LONGEST_NAME = 1_000  # with its groups
DEEPEST = 16  # groups within groups
MEMBERS = ("/c3d_features",)  # of a group for each video, as published for ActivityNet; the video is the group's name
MOST_ATTRIBUTE_BYTES = 4 * LONGEST_TEXT  # that a value takes in the file


class Hdf5Store(FeatureStore):
    """An HDF5 file of features."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._open_file: Any = None
        self._mapped: NDArray[np.uint8] | None = None
        self._process = 0
        _ = self._file  # a file that cannot be read says so now

    @property
    def names(self) -> list[str]:
        with at(self.path.name), reading("its names cannot be read"):
            names = without_masks(self._paths)
            return [name.removesuffix(self._member) for name in names]

    @property
    def attributes(self) -> Attributes:
        with at(self.path.name), reading("its attributes cannot be read"):
            values = self._file.attrs
            small = [
                name for name in LABELS if name in values and _attribute_bytes(values, name) <= MOST_ATTRIBUTE_BYTES
            ]
            return known_attributes({name: values[name] for name in small})

    @cached_property
    def _paths(self) -> list[str]:
        paths = list(islice(_datasets(self._file, "", set()), MOST_NAMES + 1))
        if len(paths) > MOST_NAMES:
            raise BrokenFeatures(f"it holds more than {MOST_NAMES:,} names")
        return paths

    @cached_property
    def _member(self) -> str:
        """The end that all paths have in common where every video is a group with one dataset; else empty."""
        with reading("its names cannot be read"):
            ends = (member for member in MEMBERS if self._paths and all(path.endswith(member) for path in self._paths))
            return next(ends, "")

    @property
    def content(self) -> Path:
        return self.path

    def close(self) -> None:
        if self._open_file is not None and self._process == os.getpid():
            self._open_file.close()
        self._open_file = self._mapped = None

    @property
    def _file(self) -> Any:
        """The file as this process opened it."""
        if self._open_file is None or self._process != os.getpid():
            self._open_file, self._mapped, self._process = _opened(self.path), None, os.getpid()
        return self._open_file

    def _read(self, name: str) -> NDArray[Any]:
        with reading("cannot be read"):
            dataset = self._dataset(f"{name}{self._member}")
            view = self._view(dataset)
            return np.asarray(dataset[()]) if view is None else view

    def _dataset(self, name: str) -> Any:
        """A dataset whose rows lie in this very file; others may lie where no file may be read."""
        if _leads_elsewhere(self._file, name):
            raise BrokenFeatures(ELSEWHERE)
        dataset = self._file[name]
        if dataset.file.filename != self._file.filename or dataset.external or dataset.is_virtual:
            raise BrokenFeatures(ELSEWHERE)
        check_declared(dataset.shape, dataset.dtype)
        check_bytes(math.prod(dataset.chunks or ()) * dataset.dtype.itemsize)
        return dataset

    def _view(self, dataset: Any) -> NDArray[Any] | None:
        """The dataset as a read-only view of the file, or None where it does not lie there in one piece."""
        start = dataset.id.get_offset()
        if start is None:
            return None
        if self._mapped is None:
            self._mapped = np.memmap(self.path, np.uint8, mode="r")
        if start + dataset.nbytes > len(self._mapped):
            raise BrokenFeatures("the file is cut short")
        return np.ndarray(dataset.shape, dataset.dtype, self._mapped.data, start)


def _attribute_bytes(values: Any, name: str) -> int:
    """Return how many bytes an attribute takes in its header; a text of free length is a link there, of 16."""
    return int(values.get_id(name).get_storage_size())


def _opened(path: Path) -> Any:
    import h5py

    try:
        return h5py.File(path, "r", locking="best-effort", rdcc_nbytes=0)  # every dataset is read whole, and once
    except Exception as error:
        is_truncated = "truncated" in str(error)
        problem = "the file is cut short" if is_truncated else f"not a readable HDF5 file: {first_line(error)}"
        raise BrokenFeatures(f"{path.name}: {problem}") from error


def _datasets(group: Any, path: str, visited: set[int]) -> Iterator[str]:
    """Names of datasets below a group, with slashes.

    No group is looked into twice, since a small file may lead to it in endless ways.
    """
    import h5py

    address = h5py.h5o.get_info(group.id).addr
    if address in visited:
        raise BrokenFeatures(f"it leads to its group {path!r} twice")
    visited.add(address)
    for name in group:
        below = f"{path}/{name}" if path else name
        if len(below) > LONGEST_NAME:
            raise BrokenFeatures(f"a name of it has more than {LONGEST_NAME:,} letters")
        kind = h5py.Dataset if _leads_elsewhere(group, name) else group.get(name, getclass=True)
        if kind is h5py.Dataset:
            yield below
        elif kind is h5py.Group and group.get(name, getlink=True).__class__ is h5py.HardLink:
            if below.count("/") >= DEEPEST:
                raise BrokenFeatures(f"its groups lie more than {DEEPEST} deep")
            yield from _datasets(group[name], below, visited)


def _leads_elsewhere(group: Any, name: str) -> bool:
    """Whether the name is a link into another file, which is not even opened."""
    import h5py

    return isinstance(group.get(name, getlink=True), h5py.ExternalLink)
