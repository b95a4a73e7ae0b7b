"""Interface of files of features."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import BrokenFeatures, MissingFeatures, ScoringError, at, first_line
from moment_retrieval.features.attributes import Attributes
from moment_retrieval.jsonfiles import checksum

Rows = NDArray[np.float32]
LMDB_FILE = "data.mdb"
MOST_MB = 256  # that the rows of one name may take; those of two hours of video take 80


class FeatureStore(ABC):
    """Feature rows by the name of a video or the number of a query.

    Rows are read when they are needed, and mapped where the file allows. A store may be used in the processes of a
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

    @property
    def attributes(self) -> Attributes:
        """How the features were made, as far as the file says: model, frames a second, pooling and so on."""
        return {}

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
        return type(self), (self.path,)

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
