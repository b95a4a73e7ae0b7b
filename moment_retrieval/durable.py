"""What must outlive a power cut: on the disk, not only in the kernel's memory."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

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
