"""JSON, JSON lines and gzip on disk: reading that complains by place, writing that is all or nothing.

Lines are cut at ``\\n`` only: a query may hold U+2028, which ``str.splitlines`` would cut too.
"""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from models_runner.retrieval.errors import InvalidRecord, MalformedFile, UnreadableFile, at

GZIP_MAGIC = b"\x1f\x8b"
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


def decode(data: bytes) -> str:
    """Text of plain or gzipped bytes; gzip is known by its first bytes, whatever the file is called.

    Raises:
        MalformedFile: broken gzip, or not UTF-8.
        UnreadableFile: more than MAX_BYTES when unpacked.
    """
    if data.startswith(GZIP_MAGIC):
        data = unpack(data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise MalformedFile(f"not UTF-8 text: byte {error.start} {error.reason}") from error


def unpack(data: bytes) -> bytes:
    """Gunzip, at most MAX_BYTES (a few kilobytes can unpack to gigabytes)."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            return check_size(stream.read(MAX_BYTES + 1))
    except (OSError, EOFError, zlib.error) as error:
        raise MalformedFile(f"broken gzip: {error}") from error


def check_size(data: bytes) -> bytes:
    """``data``, or UnreadableFile if there are more than MAX_BYTES."""
    if len(data) > MAX_BYTES:
        raise UnreadableFile(f"larger than {MAX_BYTES // 1024**2} MiB")
    return data


def parse_json(text: str) -> object:
    """The value of a JSON text.

    Raises:
        MalformedFile: not JSON; the message holds line and column.
    """
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise MalformedFile(f"line {error.lineno} column {error.colno}: not JSON: {error.msg}") from error
    except (RecursionError, ValueError) as error:  # nested too deep; an integer of thousands of digits
        raise MalformedFile(f"not usable JSON: {error}") from error
    return value


def parse_json_lines(text: str) -> Iterator[tuple[int, object]]:
    """(line number from 1, value) of every line that is not blank.

    Raises:
        MalformedFile: a line is not JSON.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value: object = json.loads(line)
        except json.JSONDecodeError as error:
            raise MalformedFile(f"line {number} column {error.colno}: not JSON: {error.msg}") from error
        except (RecursionError, ValueError) as error:
            raise MalformedFile(f"line {number}: not usable JSON: {error}") from error
        yield number, value


def write_atomically(path: Path, text: str) -> None:
    """Put ``text`` at ``path``, gzipped if the name ends in ``.gz``: readers see the old file or the new, never half.

    The same text always gives the same bytes (the gzip header holds no time).

    Raises:
        UnreadableFile: the folder is missing or may not be written to.
    """
    data = text.encode()
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
    """``value`` as a JSON object."""
    if not isinstance(value, dict):
        raise InvalidRecord(f"{name} must be an object, got {shown(value)}")
    return value


def as_array(value: object, name: str) -> list[object]:
    """``value`` as a JSON array."""
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
