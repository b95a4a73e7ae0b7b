"""LMDB, as CONQUER's features are published: under each name a message {features}, msgpack of clips or npz of words."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import BrokenFeatures, at
from moment_retrieval.features.stores import (
    LMDB_FILE,
    FeatureStore,
    check_bytes,
    check_declared,
    reading,
    without_masks,
)

FEATURES = "features"
ZIP = b"PK\x03\x04"
MEMBER = f"{FEATURES}.npy"
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
META = struct.Struct("<16xI20xI92xQQ")  # of its first two pages: mark, size of a page, the last one, count of changes
MARK = 0xBEEFC0DE
PAGES = {1 << power for power in range(9, 17)}  # sizes that a page may have
WALK = Path(__file__).with_name("lmdb_walk.py")
FileIdentity = tuple[int, int, int]  # the process that opened it, and the device and number of the file it opened
_open: dict[str, tuple[Any, FileIdentity]] = {}  # LMDB allows a process to open a folder only once


class LmdbStore(FeatureStore):
    """An LMDB folder of features."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with at(path.name):
            _check_header(self.content)

    @property
    def names(self) -> list[str]:
        with at(self.path.name), reading("its names cannot be read"), _environment(self.path).begin() as transaction:
            keys = [bytes(key).decode("utf-8", "replace") for key in transaction.cursor().iternext(values=False)]
        return without_masks([key for key in keys if not (key.startswith("__") and key.endswith("__"))])

    @property
    def content(self) -> Path:
        return self.path / LMDB_FILE

    def close(self) -> None:
        """Nothing: other stores of this process may read the same folder."""

    def _read(self, name: str) -> NDArray[Any]:
        with reading("cannot be read"), _environment(self.path).begin() as transaction:
            message = transaction.get(name.encode())
        if message is None:
            raise BrokenFeatures("the name is there and its value is not")
        return _from_npz(message) if message[:4] == ZIP else _from_msgpack(message)


def _environment(path: Path) -> Any:
    """The folder as this process opened it."""
    import lmdb

    folder, now = str(path.resolve()), _file_identity(path)
    if folder in _open:
        environment, then = _open[folder]
        if then == now:
            return environment
        environment.close()  # inherited from the parent, or of files that were replaced since
        del _open[folder]
    _look_through(folder, *now[1:])
    try:
        new_environment = lmdb.open(folder, readonly=True, lock=False, readahead=False)
    except lmdb.Error as error:
        raise BrokenFeatures(f"not a readable LMDB folder: {str(error).rpartition(': ')[2]}") from error
    _open[folder] = new_environment, now
    return new_environment


def _file_identity(path: Path) -> FileIdentity:
    try:
        file = (path / LMDB_FILE).stat()
    except OSError as error:
        raise BrokenFeatures(f"{path.name} is gone: {error.strerror}") from error
    return os.getpid(), file.st_dev, file.st_ino


def _check_header(file: Path) -> None:
    """Whether all pages are there, by what the file says itself; it is not mapped for that."""
    with reading("not a readable LMDB folder"), file.open("rb") as stream:
        first = META.unpack(stream.read(META.size))
        if first[0] != MARK or first[1] not in PAGES:
            raise BrokenFeatures("not a readable LMDB folder: it does not begin as one")
        stream.seek(first[1])
        _, page, last, _ = max(first, META.unpack(stream.read(META.size)), key=lambda meta: meta[-1])
        if (last + 1) * page > os.fstat(stream.fileno()).st_size:
            raise BrokenFeatures("the file is cut short")


@lru_cache(maxsize=100)
def _look_through(folder: str, *file: int) -> None:
    """Have another process walk through a folder first: LMDB maps the file, and damage may end whoever reads it."""
    ended = subprocess.run([sys.executable, "-I", WALK, folder], capture_output=True, text=True, check=False)  # noqa: S603
    if ended.returncode < 0:
        raise BrokenFeatures("it is damaged: whoever reads it is ended by the system")
    if ended.returncode:
        raise BrokenFeatures(f"its pages cannot be read: {ended.stderr.strip().rpartition(chr(10))[2]}")


def _from_npz(message: bytes) -> NDArray[Any]:
    with reading("not a readable npz of plain numbers"):
        _check_npz(message)
        with np.load(io.BytesIO(message), allow_pickle=False) as archive:
            return np.asarray(archive[FEATURES])


def _check_npz(message: bytes) -> None:
    """Look at what the array says of itself; its bytes may be packed a thousandfold."""
    with zipfile.ZipFile(io.BytesIO(message)) as archive:
        if MEMBER not in archive.namelist():
            raise BrokenFeatures(f"there is no {FEATURES!r} in it")
        check_bytes(archive.getinfo(MEMBER).file_size)
        with archive.open(MEMBER) as file:
            shape, _, kind = HEADERS[np.lib.format.read_magic(file)](file)
    check_declared(shape, kind)


def _from_msgpack(message: bytes) -> NDArray[Any]:
    import msgpack

    with reading("not a readable message"):
        content = msgpack.unpackb(message, raw=True, strict_map_key=False)
    features = content.get(FEATURES.encode()) if isinstance(content, Mapping) else None
    if features is None:
        raise BrokenFeatures(f"there is no {FEATURES!r} in it")
    with reading("its features are no table of numbers"):
        return _packed(features) if isinstance(features, Mapping) else np.asarray(features, np.float32)


def _packed(array: Mapping[bytes, Any]) -> NDArray[Any]:
    """An array as msgpack-numpy writes it; its pickled objects are refused, as everything but numbers is."""
    if array.get(b"kind") or not array.get(b"nd"):
        raise ValueError("objects or records")
    kind = np.dtype(array[b"type"].decode())
    if kind.hasobject:
        raise ValueError("objects")
    return np.frombuffer(array[b"data"], kind).reshape(array[b"shape"])
