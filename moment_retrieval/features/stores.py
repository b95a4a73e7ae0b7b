"""Interface of files of features, and the reader for a path."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import BrokenFeatures, MissingFeatures, ScoringError, at, first_line
from moment_retrieval.jsonfiles import checksum

Rows = NDArray[np.float32]
HDF5_ENDINGS = (".h5", ".hdf5")
HDF5_MARK = b"\x89HDF\r\n\x1a\n"  # at the beginning, or behind a block of 512, 1024, 2048, ... bytes
LEAST_BLOCK = 512
LMDB_FILE = "data.mdb"
MOST_MB = 256  # that the rows of one name may take; those of two hours of video take 80


class FeatureStore(ABC):
    """Feature rows by the name of a video or the number of a query.

    Rows are read when they are asked for, and mapped where the file allows. A store may be used in the processes of a
    DataLoader: each opens the file for itself.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """Whose features there are, in the order of the file; masks are left out."""

    @property
    @abstractmethod
    def content(self) -> Path:
        """The file that holds the bytes."""

    @abstractmethod
    def _read(self, name: str) -> NDArray[Any]:
        """The array of a name that is there."""

    @abstractmethod
    def close(self) -> None: ...

    def rows(self, name: str) -> Rows:
        """The features of ``name`` [n, D]; may be a read-only view of the file.

        Raises:
            MissingFeatures: there are none.
            BrokenFeatures: they cannot be read, or are no rows of ``width`` numbers.
        """
        if name not in self:
            raise MissingFeatures(f"no features of {name!r} in {self.path.name}")
        with at(self.path.name), at(name):
            rows = as_rows(self._read(name))
            if rows.shape[1] != self.width:
                raise BrokenFeatures(f"rows of {rows.shape[1]} numbers, where {self._measured[0]} has {self.width}")
        return rows

    @property
    def width(self) -> int:
        """D, the numbers in a row: those of the first name whose rows can be read."""
        return self._measured[1]

    @cached_property
    def _measured(self) -> tuple[str, int]:
        """That name, and its width."""
        first: BrokenFeatures | None = None
        for name in self._names:
            try:
                with at(self.path.name), at(name):
                    return name, int(as_rows(self._read(name)).shape[1])
            except BrokenFeatures as error:
                first = first or error
        raise first or BrokenFeatures(f"{self.path.name}: the file holds no features")

    def checksum(self) -> str:
        """Which file this is, the same wherever it is copied."""
        return checksum(self.content)

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return open_features, (self.path,)

    @cached_property
    def _names(self) -> list[str]:
        return self.names

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self._names)


def as_rows(array: NDArray[Any]) -> Rows:
    """The array as rows of float32. Raises BrokenFeatures: it is not a table of numbers."""
    check_declared(array.shape, array.dtype)
    return array.astype(np.float32, copy=False)


def check_declared(shape: Sequence[int], kind: np.dtype[Any]) -> None:
    """Raise BrokenFeatures for what says of itself that it is no table of numbers, or too large a one for memory."""
    if kind.kind not in "fiu":
        raise BrokenFeatures(f"numbers are expected, not {kind}")
    if len(shape) != 2 or shape[1] == 0:
        raise BrokenFeatures(f"the shape is {list(shape)}, where [rows, numbers] is expected")
    check_bytes(math.prod(shape) * max(kind.itemsize, np.dtype(np.float32).itemsize))


def check_bytes(count: int) -> None:
    """Refuse what is larger than the rows of a name can be. Raises BrokenFeatures."""
    if count > MOST_MB * 2**20:
        raise BrokenFeatures(f"it would take {count / 2**20:,.0f} MB of memory, where {MOST_MB} are enough")


@contextmanager
def reading(problem: str) -> Iterator[None]:
    """Whatever goes wrong inside is the fault of what is read: a BrokenFeatures that begins with ``problem``.

    The libraries that read it let out errors of a dozen kinds, those of their own parts among them.
    """
    try:
        yield
    except ScoringError:
        raise
    except Exception as error:
        raise BrokenFeatures(f"{problem}: {first_line(error)}") from error


def without_masks(names: list[str]) -> list[str]:
    """The names but for the masks that published subtitle files hold beside their rows."""
    all_names = set(names)
    return [name for name in names if not (name.endswith("-mask") and name.removesuffix("-mask") in all_names)]


def open_features(path: str | Path) -> FeatureStore:
    """The features in an HDF5 file or an LMDB folder.

    Raises:
        BrokenFeatures: there is no such file, it is cut short, or it is neither.
    """
    from moment_retrieval.features.hdf5 import Hdf5Store
    from moment_retrieval.features.lmdbs import LmdbStore

    path = Path(path)
    if is_lmdb(path):
        return LmdbStore(path)
    if is_hdf5(path):
        return Hdf5Store(path)
    if not path.exists():
        raise BrokenFeatures(f"{path}: there is no such file or folder")
    raise BrokenFeatures(f"{path}: neither an HDF5 file (.h5, .hdf5) nor an LMDB folder ({LMDB_FILE})")


def is_lmdb(path: Path) -> bool:
    """Whether it is the kind of folder that is read by LMDB."""
    return path.is_dir() and (path / LMDB_FILE).is_file()


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
