"""Files of features, opened by their kind, and written as HDF5 so that work cut short goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import BrokenFeatures, NotWritable, UnreadableFile, at
from moment_retrieval.features.attributes import Attributes, differences, known_attributes
from moment_retrieval.features.hdf5 import Hdf5Store
from moment_retrieval.features.lmdbs import LmdbStore
from moment_retrieval.features.stores import LMDB_FILE, FeatureStore, Rows, as_rows

HDF5_ENDINGS = (".h5", ".hdf5")
HDF5_MARK = b"\x89HDF\r\n\x1a\n"  # at the beginning, or behind a block of 512, 1024, 2048, ... bytes
LEAST_BLOCK = 512


def open_features(path: str | Path) -> FeatureStore:
    """The features in an HDF5 file or an LMDB folder.

    Raises:
        BrokenFeatures: there is no such file, it is cut short, or it is neither.
    """
    path = Path(path)
    if path.is_dir() and (path / LMDB_FILE).is_file():
        return LmdbStore(path)
    if is_hdf5(path):
        return Hdf5Store(path)
    if not path.exists():
        raise BrokenFeatures(f"{path}: there is no such file or folder")
    raise BrokenFeatures(f"{path}: neither an HDF5 file (.h5, .hdf5) nor an LMDB folder ({LMDB_FILE})")


def is_hdf5(path: Path) -> bool:
    """Whether it is the kind of file that is read by HDF5."""
    return path.is_file() and path.suffix.lower() in HDF5_ENDINGS


def check_format(path: Path) -> None:
    """Refuse what is no file of features by its name and first bytes; neither HDF5 nor LMDB is asked.

    What it holds is known from ``inspection`` alone.

    Raises:
        BrokenFeatures: there is no such file, it is neither, or it does not begin as one.
    """
    if not is_hdf5(path):
        open_features(path).close()  # reads the header of an LMDB folder and maps nothing; refuses all else
        return
    try:
        with path.open("rb") as file:
            position = 0
            while (mark := _bytes_at(file, position)) and mark != HDF5_MARK:
                position = 2 * position or LEAST_BLOCK
    except OSError as error:
        raise BrokenFeatures(f"{path.name}: {error.strerror}") from error
    if not mark:
        raise BrokenFeatures(f"{path.name}: not a readable HDF5 file: it does not begin as one")


def _bytes_at(file: BinaryIO, position: int) -> bytes:
    file.seek(position)
    return file.read(len(HDF5_MARK))


class FeatureWriter:
    """Adds rows to a file of features. Leave it by ``finish``, or as a context manager, to have the file.

    What a killed process wrote is known to the next writer of the same path: ``name in writer``. HDF5 that is being
    written is not readable after a kill; new rows go to a journal beside the file, each name as a line of JSON
    and its rows as ``.npy``, and the file is made of it at the end and put in place as a whole.

    Args:
        width: numbers in a row.
        attributes: how the features are made (``features.attributes``): kept in the file beside the rows. Rows made
            otherwise are not added to it; a file that does not say how it was made goes on not to.

    Raises:
        BrokenFeatures: the file, or a journal beside it, has another width or was made otherwise.
    """

    def __init__(
        self, path: str | Path, *, width: int, attributes: Mapping[str, str | int | float] | None = None
    ) -> None:
        self.path = Path(path)
        self.width = width
        self.attributes = known_attributes({**attributes, "width": width} if attributes else {})
        self._journal_path = self.path.with_name(f"{self.path.name}.journal")
        self._finished = self._names_of_file()
        self._positions: dict[str, int] = {}  # where the rows of a name begin in the journal
        with at(self._journal_path.name):
            try:
                self._journal: BinaryIO = self._journal_path.open("a+b")
            except OSError as error:
                raise UnreadableFile(f"cannot be written: {error.strerror}") from error
            try:
                self._recover()
            except BrokenFeatures:
                self._journal.close()
                raise

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
        self._journal.write(json.dumps(name).encode() + b"\n")
        position = self._journal.tell()
        np.lib.format.write_array(self._journal, values, allow_pickle=False)
        self._journal.flush()
        self._positions[name] = position

    def finish(self) -> None:
        """Make the file of what it held and what was added, and put it in place."""
        unfinished = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        if self._positions or not self.path.exists():
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
        return name in self._positions or name in self._finished

    def __len__(self) -> int:
        return len(self._positions) + len(self._finished)

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
            if len(store):
                with at(self.path.name):
                    self._compare(store.attributes)
                self.attributes = store.attributes
            return frozenset(store.names)

    def _compare(self, earlier: Attributes) -> None:
        """Raise BrokenFeatures where rows made otherwise are there."""
        if earlier and self.attributes and (difference := differences(earlier, self.attributes)):
            raise BrokenFeatures(f"features of another kind are there ({difference}). Write to another file")

    def _recover(self) -> None:
        """Take what an earlier writer left, up to what a kill cut short."""
        end = self._journal.seek(0)
        with suppress(ValueError):
            while line := self._journal.readline():
                name, position = json.loads(line), self._journal.tell()
                if isinstance(name, dict):  # how the rows below it are made
                    self._compare(known_attributes(name))
                    end = position
                    continue
                width = self._rows_at(position).shape[1]
                if width != self.width:
                    raise BrokenFeatures(f"rows of {width} numbers, where {self.width} are added")
                end = self._journal.tell()
                if name not in self._finished:  # else a kill came between the file and the end of its journal
                    self._positions[name] = position
        self._journal.truncate(end)
        self._journal.seek(end)
        if not end and self.attributes:
            self._journal.write(json.dumps(self.attributes).encode() + b"\n")

    def _rows_at(self, position: int) -> Rows:
        self._journal.seek(position)
        rows: Rows = np.lib.format.read_array(self._journal, allow_pickle=False)
        return rows

    def _write(self, target: Path) -> None:
        import h5py

        try:
            with h5py.File(target, "w") as file:
                file.attrs.update(self.attributes)
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
        for name, position in self._positions.items():
            yield name, self._rows_at(position)


def _check_name(name: str) -> None:
    parts = name.split("/")
    if "" in parts or "." in parts or ".." in parts or "\0" in name:
        raise NotWritable(f"HDF5 has no place for the name {name!r}: a part between slashes is empty or a dot")
