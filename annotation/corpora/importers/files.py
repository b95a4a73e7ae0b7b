"""Opens what is to be imported: a file, a packed file, or a folder or archive of many; never more than was allowed.

A file of a megabyte can unpack to a thousand, and a blank line costs a byte: neither the size of an upload nor the size
of its text says how much work it is. So every reader of uploads counts bytes, lines, the packing ratio and seconds.
"""

import gzip
import io
import math
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from annotation.corpora.importers.base import BadLine, Format, Given, ImportFileError, Item
from annotation.corpora.importers.fields import LONGEST_LINE

FREE_BYTES = 2**20  # of text, for which no ratio is asked: a small file may repeat itself
MOST_RATIO = 200  # texts of annotations and runs pack to a fifth or a twentieth
OnBytes = Callable[[int], None]


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
    on_bytes: OnBytes | None = None  # called with how much was read of the file itself, packed as it is
    size: int = 0
    lines: int = 0
    packed_size: int = 0  # of files that are packed; 0 where none is

    def __post_init__(self) -> None:
        self.began = self.clock()

    def add(self, data: bytes) -> None:
        """Count a piece of text. Raises ImportFileError where it is more than may come; the message says the limit and
        what to do."""
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
        """Count a file that is in memory: its text, or what it is packed to until ``read`` unpacks it. Raises
        ImportFileError where it is more than may come."""
        if packed:
            self.packed_size += len(data)
            return
        for start in range(0, len(data), PIECE):
            self.add(data[start : start + PIECE])

    def read(self, stream: IO[bytes]) -> bytes:
        """All that ``stream`` unpacks to. Raises ImportFileError where it is more than may come."""
        pieces = []
        while piece := stream.read(PIECE):
            self.add(piece)
            pieces.append(piece)
        return b"".join(pieces)


class CountedReader(io.RawIOBase):
    """The bytes of ``source``; ``count`` gets each piece, and may refuse it."""

    def __init__(self, source: "IO[bytes] | io.RawIOBase", count: Callable[[bytes], None]) -> None:
        self.source, self.count = source, count

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        data = self.source.read(len(buffer)) or b""
        self.count(data)
        buffer[: len(data)] = data
        return len(data)


PACKED = (ZIP_STORED, ZIP_DEFLATED)  # other methods take as much memory as an entry says that they need
LARGEST_DIRECTORY = 24 * 2**20  # bytes; that of 100,000 files takes about 17 million
BROKEN = (BadZipFile, EOFError, OSError, zlib.error)  # what reading an entry raises that is damaged
DAMAGED = (*BROKEN, NotImplementedError, RuntimeError, ValueError)  # ... and opening one, or the archive
PIECE = 1 << 16
MOST_FILES = 100_000
GZIP, ZIP = b"\x1f\x8b", (b"PK\x03\x04", b"PK\x05\x06")
IS_ZIP = "The file is a zip archive; unpack it first."
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@contextmanager
def zip_opened(source: IO[bytes]) -> Iterator[ZipFile]:
    """The archive, for the block. Raises ImportFileError where it is damaged, its directory is too large, or it packs
    an entry in another way."""
    bounded = _Bounded(source)
    with _as_import_error(*DAMAGED):
        archive = ZipFile(cast(IO[bytes], bounded))
    with archive:
        bounded.most = None
        for entry in archive.infolist():
            if entry.compress_type not in PACKED:
                raise ImportFileError(f"{entry.filename[:100]} is packed in a way that is not read.")
        yield archive


@contextmanager
def member_opened(archive: ZipFile, entry: ZipInfo | str) -> Iterator[IO[bytes]]:
    """One file of the archive, for the block. Raises ImportFileError where it is damaged, or encrypted."""
    with _as_import_error(*DAMAGED):
        member = archive.open(entry)
    with member, _as_import_error(*BROKEN):
        yield member


@contextmanager
def _as_import_error(*errors: type[Exception]) -> Iterator[None]:
    try:
        yield
    except errors as error:
        raise ImportFileError(f"The archive cannot be read: {error or type(error).__name__}.") from error


class _Bounded:
    """A file of which no more than ``most`` bytes are read at once: an archive says how large its directory is."""

    def __init__(self, source: IO[bytes]) -> None:
        self.source = source
        self.most: int | None = LARGEST_DIRECTORY

    def read(self, size: int = -1) -> bytes:
        if self.most is not None and size > self.most:
            raise ImportFileError("The archive holds too many files.")
        return self.source.read(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)


def read_path(form: Format, path: Path, options: Given) -> Iterator[Item]:
    """Every item of a file or, where the form has many files, of a folder of them. Raises ImportFileError where there
    is nothing of this form, or it cannot be opened."""
    if not path.is_dir():
        with path.open("rb") as source:
            yield from read_file(form, source, path.name, options)
        return
    if not form.suffix:
        raise ImportFileError(f"{path} is a folder; the form {form.name} is one file.")
    files = sorted(file for file in path.iterdir() if file.suffix.lower() == form.suffix and file.is_file())
    if not files:
        raise ImportFileError(f"There is no {form.suffix} file in {path}.")
    reading = _Reading(form, options, Budget())
    for file in files:
        with file.open("rb") as source:
            yield from reading.one_of_many(source, file.name)


def read_file(
    form: Format, source: IO[bytes], name: str, options: Given, *, budget: Budget | None = None
) -> Iterator[Item]:
    """Every item of one open file; gzip is unpacked on the way, and so is zip where the form has many files. Raises
    ImportFileError where it is packed in another way, is not UTF-8, or goes beyond the limits of ``budget``."""
    reading = _Reading(form, options, budget or Budget())
    if _head(source).startswith(ZIP):
        return reading.archive(source)
    return reading.one_of_many(source, name) if form.suffix else reading.items(source, options)


@dataclass
class _Reading:
    """One import: what is read, and how much of it may come."""

    form: Format
    given: Given
    budget: Budget

    def archive(self, source: IO[bytes]) -> Iterator[Item]:
        if not self.form.suffix:
            raise ImportFileError(IS_ZIP)
        with zip_opened(source) as archive:
            members = [entry for entry in archive.infolist() if entry.filename.lower().endswith(self.form.suffix)]
            if not members:
                raise ImportFileError(f"There is no {self.form.suffix} file in the archive.")
            if len(members) > MOST_FILES:
                raise ImportFileError(f"The archive holds more than {MOST_FILES} files.")
            for entry in members:
                self.budget.packed_size += entry.compress_size  # no more of it is unpacked
                with member_opened(archive, entry) as member:
                    yield from self.one_of_many(member, PurePosixPath(entry.filename).name)

    def one_of_many(self, source: IO[bytes], name: str) -> Iterator[Item]:
        """The items of a file whose name says what it is about: its bad lines name it."""
        for item in self.items(source, replace(self.given, stem=PurePosixPath(name).stem)):
            yield replace(item, file=name) if isinstance(item, BadLine) else item

    def items(self, source: IO[bytes], options: Given) -> Iterator[Item]:
        with _opened(source, self.budget) as text:
            yield from self.form.read(_pieces(text) if self.form.whole else _lines(text), options)


def pieces_of(source: IO[bytes], *, budget: Budget | None = None) -> Iterator[str]:
    """The text of an open file in pieces; gzip is unpacked on the way. Raises ImportFileError where it is packed in
    another way, is not UTF-8, or goes beyond the limits of ``budget``."""
    if _head(source).startswith(ZIP):
        raise ImportFileError(IS_ZIP)
    with _opened(source, budget or Budget()) as text:
        yield from _pieces(text)


@contextmanager
def _opened(source: IO[bytes], budget: Budget) -> Iterator[IO[str]]:
    head = _head(source)
    if head[:2] in UTF_16:
        raise ImportFileError("The file is UTF-16; save it as UTF-8.")
    is_packed = head.startswith(GZIP)

    def count(data: bytes) -> None:
        """Count what is read of the file itself: for the ratio where it is packed, and for a progress."""
        if is_packed:
            budget.packed_size += len(data)
        if budget.on_bytes:
            budget.on_bytes(len(data))

    reader = CountedReader(source, count)
    stream = cast(IO[bytes], gzip.GzipFile(fileobj=reader)) if is_packed else reader
    try:
        buffered = io.BufferedReader(CountedReader(stream, budget.add), PIECE)
        yield io.TextIOWrapper(buffered, encoding="utf-8-sig", errors="surrogateescape", newline="")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ImportFileError(f"The file is packed, and cannot be unpacked: {error}.") from error


def _head(source: IO[bytes]) -> bytes:
    head = source.read(4)
    source.seek(0)
    return head


def _lines(text: IO[str]) -> Iterator[str]:
    """Lines, one that is too long cut short so that its reader refuses it: the next line is still the next."""
    while line := text.readline(LONGEST_LINE + 2):
        rest = line
        while len(rest) > LONGEST_LINE and not rest.endswith("\n"):
            rest = text.readline(LONGEST_LINE + 2)
        yield line


def _pieces(text: IO[str]) -> Iterator[str]:
    while piece := text.read(PIECE):
        yield piece
