"""What tells a file from others."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from moment_retrieval.errors import UnreadableFile, at


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
