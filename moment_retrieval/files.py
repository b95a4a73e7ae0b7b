"""Files that must outlive a power cut, and checksums that tell one from another."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from functools import lru_cache
from pathlib import Path

from moment_retrieval.errors import UnreadableFile, at

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
            found = path.stat()
            return _read(str(path.resolve()), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        except OSError as error:
            raise UnreadableFile(error.strerror or type(error).__name__) from error


@lru_cache(maxsize=1000)
def _read(path: str, *state: int) -> str:
    with open(path, "rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
