"""A small disk that can be filled and emptied: a tmpfs, which only root may mount."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PIECE = b"\0" * 4096


class SmallDisk:
    def __init__(self, folder: Path) -> None:
        self.folder, self.ballast = folder, folder / "ballast"

    def fill(self) -> None:
        """Not one byte more can be written."""
        with self.ballast.open("ab", buffering=0) as file:
            try:
                while file.write(PIECE):
                    pass
            except OSError:
                return

    def make_room(self) -> None:
        self.ballast.unlink()


@contextmanager
def small_disk(folder: Path, *, megabytes: int = 8) -> Iterator[SmallDisk]:
    """``folder`` lies on a disk of this size inside the block.

    The test is skipped where none can be mounted, in CI too: few containers let even root do it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={megabytes}m,mode=0755"
    result = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        pytest.skip(f"what a full disk does was not tried: no small one can be mounted here: {result.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, capture_output=True)
