"""What must outlive a power cut: on the disk, not only in the kernel's memory."""

from __future__ import annotations

import os
from pathlib import Path


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
