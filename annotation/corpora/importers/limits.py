"""How much one upload may make us read: bytes, lines, how well it is packed, seconds. Every reader of uploads counts.

A file of a megabyte can unpack to a thousand, and a blank line costs a byte: neither the size of an upload nor the size
of its text says how much work it is.
"""

import io
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Protocol

from annotation.corpora.importers.base import ImportFileError

FREE_BYTES = 2**20  # of text, for which no ratio is asked: a small file may repeat itself
MOST_RATIO = 200  # texts of annotations and runs pack to a fifth or a twentieth
PIECE = 1 << 16
OnBytes = Callable[[int], None]  # called with how much was read since the last call


@dataclass(frozen=True)
class Limits:
    """The limits of one file, or of all files of an archive together; by default those of commands, whose files an
    operator has chosen.

    ``size`` (in bytes) and ``lines`` are of the text once unpacked, ``ratio`` is its size beside the packed one.
    ``size_setting`` and ``advice`` are for messages.
    """

    size: int = 8 * 2**30
    lines: float = math.inf
    ratio: float = MOST_RATIO
    seconds: float = math.inf
    size_setting: str = "IMPORT_MAX_UNPACKED_MB"
    advice: str = "split it into several files"


@dataclass
class Budget:
    """Counts what is read of one upload; reading on beyond its limits raises an error.

    Time counts from the making, and includes what is done with the text between two pieces.
    """

    limits: Limits = field(default_factory=Limits)
    clock: Callable[[], float] = time.monotonic
    size: int = 0
    lines: int = 0
    packed_size: int = 0  # of files that are packed; 0 where none is

    def __post_init__(self) -> None:
        self.began = self.clock()

    def add(self, data: bytes) -> None:
        """Count a piece of text.

        Raises:
            ImportFileError: it is more than may come; the message says the limit and what to do.
        """
        self.size += len(data)
        self.lines += data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")
        limits = self.limits
        if self.size > limits.size:
            raise ImportFileError(
                f"Unpacked, the file is larger than {limits.size / 2**20:g} MB; {self._advice(limits.size_setting)}"
            )
        if self.packed_size and self.size > max(FREE_BYTES, limits.ratio * self.packed_size):
            raise ImportFileError(
                f"The file unpacks to more than {limits.ratio:g} times its size, as no annotations do; "
                f"unpack it and send the text itself. Who runs the site can raise UPLOAD_MAX_RATIO."
            )
        if self.lines > limits.lines:
            raise ImportFileError(f"The file has more than {limits.lines:,} lines; {self._advice('UPLOAD_MAX_LINES')}")
        self.check_time()

    def check_time(self) -> None:
        """Raises: ImportFileError: the time is up."""
        if self.clock() - self.began > self.limits.seconds:
            raise ImportFileError(
                f"Reading the file takes longer than {self.limits.seconds:g} s; {self._advice('UPLOAD_MAX_S')}"
            )

    def _advice(self, setting: str) -> str:
        return f"{self.limits.advice}." + (f" Who runs the site can raise {setting}." if setting else "")

    def begin(self, data: bytes, *, packed: bool) -> None:
        """Count a file that is in memory: its text, or what it is packed to until ``read`` unpacks it.

        Raises:
            ImportFileError: it is more than may come.
        """
        if packed:
            self.packed_size += len(data)
            return
        for start in range(0, len(data), PIECE):
            self.add(data[start : start + PIECE])

    def read(self, stream: IO[bytes]) -> bytes:
        """All that ``stream`` unpacks to.

        Raises:
            ImportFileError: it is more than may come.
        """
        pieces = []
        while piece := stream.read(PIECE):
            self.add(piece)
            pieces.append(piece)
        return b"".join(pieces)


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes | None: ...


class BoundedReader(io.RawIOBase):
    """Text out of ``source``, packed or not, as long as the budget allows it."""

    def __init__(self, source: Readable, budget: Budget) -> None:
        self.source, self.budget = source, budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        data = self.source.read(len(buffer)) or b""
        self.budget.add(data)
        buffer[: len(data)] = data
        return len(data)


class PackedReader(io.RawIOBase):
    """The packed bytes of ``source``, counted: for the ratio where they are ``packed``, and for a progress."""

    def __init__(self, source: IO[bytes], budget: Budget, *, packed: bool, on_bytes: OnBytes | None = None) -> None:
        self.source, self.budget, self.packed, self.on_bytes = source, budget, packed, on_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        data = self.source.read(len(buffer))
        buffer[: len(data)] = data
        if self.packed:
            self.budget.packed_size += len(data)
        if self.on_bytes:
            self.on_bytes(len(data))
        return len(data)
