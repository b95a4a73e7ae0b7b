"""Walks through an LMDB folder, as a program: one that is damaged may end the process that reads it.

Everything is touched that a reader would touch but the insides of values. Says what is wrong, if it can.
"""

import sys
from pathlib import Path

import lmdb

LEAST = 8  # bytes that an entry takes at least; there are no more of them than the file can hold


def walk(folder: str, size: int) -> None:
    """Raises ValueError or an error of LMDB."""
    with lmdb.open(folder, readonly=True, lock=False, readahead=False).begin(buffers=True) as transaction:
        for number, (key, value) in enumerate(transaction.cursor()):
            if number > size // LEAST or len(key) + len(value) > size:
                raise ValueError("it is damaged: it leads to more than it holds")
            bytes(key), bytes(value[:1]), bytes(value[-1:])


if __name__ == "__main__":
    folder = sys.argv[1]
    try:
        walk(folder, (Path(folder) / "data.mdb").stat().st_size)
    except (lmdb.Error, OSError, ValueError) as error:
        sys.exit(str(error))
