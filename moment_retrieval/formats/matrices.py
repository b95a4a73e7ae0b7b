"""Matrices of text and video retrieval: ``.npy``, or ``.npz`` with named arrays.

A system's is called ``similarity`` [videos, captions]. Ground truth is called ``relevance`` [videos, captions], and may
come with ``owners`` [captions], the number of each caption's video.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import InvalidRecord, MalformedFile, ScoringError, UnreadableFile, at
from moment_retrieval.jsonfiles import BROKEN_ZIP, MAX_BYTES, ZIP_MAGIC, read_bytes, read_whole, zip_of
from moment_retrieval.tables import Floats, Ints

NPY_MAGIC = b"\x93NUMPY"
ROUNDING = 1e-6  # a cosine of 32 bits may lie this far above 1
MAX_CELLS = 64 * 2**20  # of a matrix: 512 MB once they are float64


@dataclass(frozen=True)
class Relevance:
    """How relevant each caption is to each video, and, where known, whose each caption is."""

    matrix: Floats
    owners: Ints | None


def read_similarity(path: Path) -> Floats:
    """A system's matrix. Raises ScoringError."""
    data = read_bytes(path)
    with at(str(path)):
        return parse_similarity(data)


def parse_similarity(data: bytes, *, shape: tuple[int, ...] | None = None, most: int = MAX_CELLS) -> Floats:
    """As ``read_similarity``, from bytes: an upload, for example; of the ``shape`` of the ground truth, if given, and
    of ``most`` cells."""
    return numeric(arrays_of(data), "similarity", shape=shape, most=most)


def read_relevance(path: Path) -> Relevance:
    """Ground truth. Raises ScoringError."""
    data = read_bytes(path)
    with at(str(path)):
        return parse_relevance(data)


def parse_relevance(data: bytes, *, most: int = MAX_CELLS) -> Relevance:
    """As ``read_relevance``, from bytes; of ``most`` cells."""
    arrays = arrays_of(data)
    owners = arrays.pop("owners", None)
    if "similarity" in arrays and "relevance" not in arrays:
        raise InvalidRecord(
            "the array similarity is a system's and no ground truth; upload or name it as a run, and give the labels "
            "as an array relevance [videos, captions]"
        )
    matrix = numeric(arrays, "relevance", most=most)
    outside = np.argwhere((matrix < 0) | (matrix > 1 + ROUNDING))
    if len(outside):
        row, column = outside[0].tolist()
        raise InvalidRecord(
            f"row {row + 1}, column {column + 1}: relevance must be from 0 to 1, got {matrix[row, column]:g}; divide "
            "the labels by the highest, or score a matrix of similarity as a run"
        )
    return Relevance(matrix, owners)


def is_matrix(data: bytes) -> bool:
    """Whether the bytes are a ``.npy`` file, or an archive of such files and of nothing else."""
    if not data.startswith(ZIP_MAGIC):
        return data.startswith(NPY_MAGIC)
    try:
        with zip_of(data) as archive:
            names = archive.namelist()
    except (ScoringError, *BROKEN_ZIP):
        return False
    return bool(names) and all(name.endswith(".npy") for name in names)


def numeric(
    arrays: dict[str, NDArray[Any]], name: str, *, shape: tuple[int, ...] | None = None, most: int = MAX_CELLS
) -> Floats:
    """The array of this name, or the only one: a matrix of at most ``most`` numbers, and of ``shape`` if that is given.

    It is cast to float64 once all that is checked: small integers take eight times their memory then.
    """
    array = arrays.get(name, next(iter(arrays.values())) if len(arrays) == 1 else None)
    if array is None:
        raise InvalidRecord(f"no array {name}, only {', '.join(arrays) or 'none at all'}")
    if not np.issubdtype(array.dtype, np.number) or np.issubdtype(array.dtype, np.complexfloating):
        raise InvalidRecord(f"{name} must be numbers, got {array.dtype}")
    if array.ndim != 2:
        raise InvalidRecord(f"{name} must be a matrix [videos, captions], got an array of shape {array.shape}")
    if shape is not None and array.shape != shape:
        raise InvalidRecord(f"expected two matrices of one shape, got {array.shape} and {shape}")
    if array.size > most:
        raise UnreadableFile(f"{name} has {array.size:,} cells, more than {most:,}")
    return array.astype(np.float64, copy=False)


def arrays_of(data: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of a file by name; the one of a ``.npy`` file has none. Raises UnreadableFile, MalformedFile."""
    try:
        if not data.startswith(ZIP_MAGIC):
            return {"": array_of(data)}
        with zip_of(data) as archive:
            if sum(member.file_size for member in archive.infolist()) > MAX_BYTES:
                raise UnreadableFile(f"larger than {MAX_BYTES // 1024**2} MiB")
            names = archive.namelist()
            return {name.removesuffix(".npy"): array_of(read_whole(archive.open(name))) for name in names}
    except ScoringError:
        raise
    except (*BROKEN_ZIP, MemoryError, TokenError, SyntaxError) as error:  # the last two: of an array's header
        raise MalformedFile(f"not a file of numpy: {error}") from error


def array_of(data: bytes) -> NDArray[Any]:
    """The array of a ``.npy`` file; Python objects are refused, since reading one may run anything."""
    return np.asarray(np.lib.format.read_array(io.BytesIO(data), allow_pickle=False))
