"""Bytes, JSON and checksums on disk: reading that names the place of an error, writing that is all or nothing."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import IO, cast
from uuid import uuid4

from moment_retrieval.errors import InvalidRecord, MalformedFile, ScoringError, UnreadableFile, at

PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
LARGEST_DIRECTORY = 2**20  # bytes of a zip archive that hold no file
BROKEN_ZIP = (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError)
GZIP_MAGIC, ZIP_MAGIC = b"\x1f\x8b", b"PK\x03\x04"
MAX_BYTES = 256 * 1024 * 1024  # after unpacking; the test set's 80,060 judged pairs take about 24 MiB


def read_bytes(path: Path) -> bytes:
    """The bytes of ``path`` as they lie on disk, still packed if they are.

    Raises:
        UnreadableFile: the file is missing, may not be read, or is larger than MAX_BYTES.
    """
    with at(str(path)):
        try:
            with path.open("rb") as stream:
                data = stream.read(MAX_BYTES + 1)
        except OSError as error:
            raise UnreadableFile(error.strerror or type(error).__name__) from error
        return check_size(data)


def read_whole(stream: IO[bytes]) -> bytes:
    """All bytes of ``stream``. Raises UnreadableFile for more than MAX_BYTES."""
    return check_size(stream.read(MAX_BYTES + 1))


def decode(data: bytes) -> str:
    """Text of bytes, plain or packed.

    Raises:
        MalformedFile: a broken archive, or not UTF-8.
        UnreadableFile: more than MAX_BYTES when unpacked.
    """
    return text_of(unpacked(data))


def text_of(data: bytes) -> str:
    """Text of plain bytes. Raises MalformedFile: not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MalformedFile(f"not UTF-8 text: byte {error.start} {error.reason}") from error


def is_packed(data: bytes) -> bool:
    """Whether it begins as gzip or a zip archive does."""
    return data.startswith((GZIP_MAGIC, ZIP_MAGIC))


def unpacked(data: bytes, read: Callable[[IO[bytes]], bytes] = read_whole) -> bytes:
    """Plain bytes of a gzip file or of a zip archive that holds one file; known by their first bytes.

    A few kilobytes can unpack to gigabytes: ``read`` reads what comes out, and says how much may.
    """
    if not is_packed(data):
        return data
    try:
        is_gzip = data.startswith(GZIP_MAGIC)
        with cast("IO[bytes]", gzip.GzipFile(fileobj=io.BytesIO(data))) if is_gzip else only_file(data) as stream:
            return read(stream)
    except ScoringError:
        raise
    except BROKEN_ZIP as error:
        raise MalformedFile(f"a broken archive: {error}") from error


def only_file(data: bytes) -> IO[bytes]:
    """The file that a zip archive holds."""
    archive = zip_of(data)
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if len(names) != 1:
        some = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        raise MalformedFile(f"the archive must hold one file, it holds {len(names)}: {some}")
    return archive.open(names[0])


def zip_of(data: bytes) -> zipfile.ZipFile:
    """A zip archive, of entries that are plain or deflated: others say how much memory it takes to unpack them.

    Raises:
        MalformedFile: it has others. What it lets out where it is broken is in BROKEN_ZIP.
    """
    bounded = _Bounded(data)
    archive = zipfile.ZipFile(bounded)
    bounded.most = None
    if any(entry.compress_type not in PACKED for entry in archive.infolist()):
        raise MalformedFile("the archive is packed in a way that is not read; use zip's usual one")
    return archive


class _Bounded(io.BytesIO):
    """Bytes of which no more is read at once than ``most``: how large its directory is, an archive says itself."""

    most: int | None = LARGEST_DIRECTORY

    def read(self, size: int | None = -1) -> bytes:
        if self.most is not None and size is not None and size > self.most:
            raise MalformedFile("the archive holds too many files")
        return super().read(size)


def check_size(data: bytes) -> bytes:
    """``data``, or UnreadableFile if there are more than MAX_BYTES."""
    if len(data) > MAX_BYTES:
        raise UnreadableFile(f"larger than {MAX_BYTES // 1024**2} MiB")
    return data


def parse_json(text: str) -> object:
    """The value of a JSON text. Raises MalformedFile: not JSON; the message holds line and column."""
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise MalformedFile(f"line {error.lineno} column {error.colno}: not JSON: {error.msg}") from error
    except (RecursionError, ValueError) as error:  # nested too deep; an integer of thousands of digits
        raise MalformedFile(f"not usable JSON: {error}") from error
    return value


def write_atomically(path: Path, content: str | bytes) -> None:
    """Put ``content`` at ``path``, gzipped if the name ends in ``.gz``: readers see the old file or the new, no half.

    The same content always gives the same bytes (the gzip header holds no time).

    Raises:
        UnreadableFile: the folder is missing or may not be written to.
    """
    data = content.encode() if isinstance(content, str) else content
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    part = path.with_name(f".{path.name}.{uuid4().hex}.part")  # same folder: a rename cannot cross file systems
    with at(str(path)):
        try:
            with part.open("xb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            part.replace(path)
        except OSError as error:
            raise UnreadableFile(f"cannot be written: {error.strerror}") from error
        finally:
            part.unlink(missing_ok=True)


# Checks of single values. All raise InvalidRecord; ``name`` is the key as the file spells it.


def as_object(value: object, name: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise InvalidRecord(f"{name} must be an object, got {shown(value)}")
    return value


def as_array(value: object, name: str) -> list[object]:
    if not isinstance(value, list):
        raise InvalidRecord(f"{name} must be an array, got {shown(value)}")
    return value


def as_text(value: object, name: str) -> str:
    """``value`` as a string that is not blank and that UTF-8 can hold (JSON escapes allow half characters)."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidRecord(f"{name} must be a string that is not blank, got {shown(value)}")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise InvalidRecord(f"{name} holds half a character: {shown(value)}")
    return value


def as_number(value: object, name: str) -> float:
    """``value`` as a finite number; an integer stays one, so that it is written back as it was read."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not is_finite(value):
        raise InvalidRecord(f"{name} must be a finite number, got {shown(value)}")
    return value


def number_from(value: object, name: str) -> float:
    """``value``, a number or the text of one, as a finite number."""
    try:
        return as_number(float(value) if isinstance(value, str) else value, name)
    except ValueError as error:
        raise InvalidRecord(f"{name} must be a finite number, got {shown(value)}") from error


def is_finite(value: float) -> bool:
    """Whether ``value`` is a number that a float can hold: not NaN, not infinite, not a giant integer."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def member(record: dict[str, object], *names: str) -> object:
    """The value of the first of ``names`` that ``record`` has (older files spell some keys differently)."""
    for name in names:
        if name in record:
            return record[name]
    raise InvalidRecord(f"no key {' or '.join(names)}")


def shown(value: object) -> str:
    """``value`` for a message, cut to one short line."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer too long to print, a value nested too deep
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."


NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
CUT_SHORT = re.compile(r"\d+ requested and \d+ written")  # numpy does not say why


def flush(path: Path) -> None:
    """Have a file's content, or a folder's names, on the disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def flush_folder(folder: Path) -> None:
    """The files of a folder, then their names."""
    for path in sorted(folder.iterdir()):
        flush(path)
    flush(folder)


def is_out_of_room(error: BaseException) -> bool:
    """Whether a disk was full; not every library says so by an OSError's number."""
    words = str(error)
    if isinstance(error, OSError) and (error.errno in NO_ROOM or CUT_SHORT.fullmatch(words)):
        return True
    return any(os.strerror(number) in words for number in NO_ROOM)


def checksum(path: Path) -> str:
    """Of all bytes of a file, which a process reads once unless the file has changed since.

    Raises:
        UnreadableFile: it is missing or may not be read.
    """
    with at(str(path)):
        try:
            file_stat = path.stat()
            return _read(
                str(path.resolve()), file_stat.st_dev, file_stat.st_ino, file_stat.st_size, file_stat.st_mtime_ns
            )
        except OSError as error:
            raise UnreadableFile(error.strerror or type(error).__name__) from error


@lru_cache(maxsize=1000)
def _read(path: str, *state: int) -> str:
    with open(path, "rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
