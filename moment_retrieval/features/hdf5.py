"""HDF5, one dataset for each name, as published: mapped or read, and written so that work cut short goes on."""

from __future__ import annotations

import math
import os
import struct
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import BrokenFeatures, NotWritable, UnreadableFile, at, first_line
from moment_retrieval.features.stores import (
    FeatureStore,
    Rows,
    as_rows,
    check_bytes,
    check_declared,
    open_features,
    reading,
    without_masks,
)

ELSEWHERE = "it lies in another file, which is not read"
MOST_NAMES = 1_000_000  # of a file; TVR-Ranking has 21,793 videos
LONGEST_NAME = 1_000  # with its groups
DEEPEST = 16  # groups within groups


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
            names = list(islice(_datasets(self._file, "", set()), MOST_NAMES + 1))
            if len(names) > MOST_NAMES:
                raise BrokenFeatures(f"it holds more than {MOST_NAMES:,} names")
            return without_masks(names)

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
            dataset = self._dataset(name)
            view = self._view(dataset)
            return np.asarray(dataset[()]) if view is None else view

    def _dataset(self, name: str) -> Any:
        """A dataset whose rows lie in this very file; others may lie where nobody allowed files to be read."""
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


RECORD = struct.Struct("<4sIIII")  # mark, bytes of the name, rows, numbers in a row, checksum of name and rows
MARK = b"MJF1"
FLOAT = np.dtype("<f4")


class FeatureWriter:
    """Adds rows to a file of features. Leave it by ``finish``, or as a context manager, to have the file.

    What a killed process wrote is known to the next writer of the same path: ``name in writer``. HDF5 that is being
    written is not readable after a kill; new rows therefore go to a journal beside the file, record by record, and the
    file is made of it at the end and put in place as a whole.
    """

    def __init__(self, path: str | Path, *, width: int) -> None:
        self.path = Path(path)
        self.width = width
        self._journal_path = self.path.with_name(f"{self.path.name}.journal")
        self._finished = self._names_of_file()
        self._places: dict[str, tuple[int, int]] = {}  # where the rows of a name begin in the journal, and how many
        with at(self._journal_path.name):
            try:
                self._journal: BinaryIO = self._journal_path.open("a+b")
            except OSError as error:
                raise UnreadableFile(f"cannot be written: {error.strerror}") from error
            self._recover()

    def add(self, name: str, rows: NDArray[Any]) -> None:
        """Write the features of ``name`` [n, width]; they survive a kill once this returns.

        Raises:
            NotWritable: the name has features already, or HDF5 has no place for it.
            BrokenFeatures: the rows have another shape, or hold what is not a number.
        """
        with at(name):
            if name in self:
                raise NotWritable("has features already")
            _check_name(name)
            values = as_rows(np.asarray(rows))
            if values.shape[1] != self.width:
                raise BrokenFeatures(f"rows of {values.shape[1]} numbers, where {self.width} are expected")
            if not np.isfinite(values).all():
                raise BrokenFeatures("the rows hold what is not a number")
        key, data = name.encode(), np.ascontiguousarray(values, FLOAT).tobytes()
        self._journal.write(RECORD.pack(MARK, len(key), *values.shape, crc32(data, crc32(key))) + key)
        position = self._journal.tell()
        self._journal.write(data)
        self._journal.flush()
        self._places[name] = position, len(values)

    def finish(self) -> None:
        """Make the file of what it held and what was added, and put it in place."""
        unfinished = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        if self._places or not self.path.exists():
            try:
                self._write(unfinished)
                os.replace(unfinished, self.path)
            finally:
                unfinished.unlink(missing_ok=True)
        self._journal.close()
        self._journal_path.unlink(missing_ok=True)

    def close(self) -> None:
        """Stop; what was added stays in the journal for the next writer."""
        self._journal.close()

    def __contains__(self, name: object) -> bool:
        return name in self._places or name in self._finished

    def __len__(self) -> int:
        return len(self._places) + len(self._finished)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is None:
            self.finish()
        else:
            self.close()

    def _names_of_file(self) -> frozenset[str]:
        if not self.path.exists():
            return frozenset()
        with open_features(self.path) as store:
            if len(store) and store.width != self.width:
                raise BrokenFeatures(f"{self.path.name}: rows of {store.width} numbers, where {self.width} are added")
            return frozenset(store.names)

    def _recover(self) -> None:
        """Take what an earlier writer left, up to a record that a kill cut short."""
        end = 0
        for name, position, shape, whole in _records(self._journal):
            if not whole:
                break
            if shape[1] != self.width:
                raise BrokenFeatures(f"rows of {shape[1]} numbers, where {self.width} are added")
            end = position + shape[0] * shape[1] * FLOAT.itemsize
            if name not in self._finished:  # else a kill came between the file and the end of its journal
                self._places[name] = position, shape[0]
        self._journal.truncate(end)
        self._journal.seek(end)

    def _write(self, target: Path) -> None:
        import h5py

        try:
            with h5py.File(target, "w") as file:
                for name, rows in self._all():
                    file.create_dataset(name, data=rows)
            with target.open("rb") as output:
                os.fsync(output.fileno())
        except (OSError, ValueError) as error:
            raise NotWritable(f"{self.path.name}: {error}") from error

    def _all(self) -> Iterator[tuple[str, Rows]]:
        if self._finished:
            with open_features(self.path) as store:
                for name in store.names:
                    yield name, store.rows(name)
        for name, (position, count) in self._places.items():
            self._journal.seek(position)
            data = self._journal.read(count * self.width * FLOAT.itemsize)
            yield name, np.frombuffer(data, FLOAT).reshape(count, self.width)


def _check_name(name: str) -> None:
    parts = name.split("/")
    if "" in parts or "." in parts or ".." in parts or "\0" in name:
        raise NotWritable(f"HDF5 has no place for the name {name!r}: a part between slashes is empty or a dot")


def _records(journal: BinaryIO) -> Iterator[tuple[str, int, tuple[int, int], bool]]:
    """Each record's name, where its rows begin, their shape, and whether it is whole."""
    journal.seek(0)
    while len(head := journal.read(RECORD.size)) == RECORD.size:
        mark, key_bytes, count, width, checksum = RECORD.unpack(head)
        if mark != MARK:
            yield "", 0, (0, 0), False
            return
        key = journal.read(key_bytes)
        position = journal.tell()
        data = journal.read(count * width * FLOAT.itemsize)
        whole = len(data) == count * width * FLOAT.itemsize and crc32(data, crc32(key)) == checksum
        yield key.decode("utf-8", "replace"), position, (count, width), whole
