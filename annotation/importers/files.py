"""Opens what is to be imported: a file, a packed file, or a folder or archive of many; never more than was allowed."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO
from zipfile import BadZipFile, ZipFile, ZipInfo

from annotation.importers.base import BadLine, Format, Given, ImportFileError, Item
from annotation.importers.fields import LONGEST_LINE

PIECE = 1 << 16
MOST_BYTES = 8 * 2**30  # of text, unpacked
MOST_FILES = 100_000
GZIP, ZIP = b"\x1f\x8b", (b"PK\x03\x04", b"PK\x05\x06")
IS_ZIP = "The file is a zip archive; unpack it first."
UTF_16 = (b"\xff\xfe", b"\xfe\xff")

OnBytes = Callable[[int], None]  # called with how much was read since the last call


def read_path(form: Format, path: Path, given: Given) -> Iterator[Item]:
    """Every item of a file or, where the form has many files, of a folder of them.

    Raises:
        ImportFileError: there is nothing of this form, or it cannot be opened.
    """
    if not path.is_dir():
        with path.open("rb") as source:
            yield from read_file(form, source, path.name, given)
        return
    if not form.suffix:
        raise ImportFileError(f"{path} is a folder; the form {form.name} is one file.")
    files = sorted(file for file in path.iterdir() if file.suffix.lower() == form.suffix and file.is_file())
    if not files:
        raise ImportFileError(f"There is no {form.suffix} file in {path}.")
    reading = _Reading(form, given, _Left(MOST_BYTES))
    for file in files:
        with file.open("rb") as source:
            yield from reading.one_of_many(source, file.name)


def read_file(
    form: Format,
    source: IO[bytes],
    name: str,
    given: Given,
    *,
    most: int = MOST_BYTES,
    on_bytes: OnBytes | None = None,
) -> Iterator[Item]:
    """Every item of one open file; gzip is unpacked on the way, and so is zip where the form has many files.

    Raises:
        ImportFileError: it is packed in another way, is not UTF-8, or unpacks to more than ``most`` bytes.
    """
    reading = _Reading(form, given, _Left(most), on_bytes)
    if _head(source).startswith(ZIP):
        return reading.archive(source)
    return reading.one_of_many(source, name) if form.suffix else reading.items(source, given)


class _Left:
    """Bytes that may still be unpacked, over all files of an archive."""

    def __init__(self, most: int) -> None:
        self.most = self.left = most

    def used(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise ImportFileError(f"Unpacked, the file is larger than {self.most / 2**20:g} MB.")


@dataclass
class _Reading:
    """One import: what is read, and how much of it may come."""

    form: Format
    given: Given
    left: _Left
    on_bytes: OnBytes | None = None

    def archive(self, source: IO[bytes]) -> Iterator[Item]:
        if not self.form.suffix:
            raise ImportFileError(IS_ZIP)
        try:
            with ZipFile(source) as archive:
                for entry in self._members(archive):
                    with archive.open(entry) as member:
                        yield from self.one_of_many(member, PurePosixPath(entry.filename).name)
        except (BadZipFile, NotImplementedError, RuntimeError, zlib.error) as error:
            raise ImportFileError(f"The archive cannot be read: {error}.") from error

    def _members(self, archive: ZipFile) -> list[ZipInfo]:
        members = [entry for entry in archive.infolist() if entry.filename.lower().endswith(self.form.suffix)]
        if not members:
            raise ImportFileError(f"There is no {self.form.suffix} file in the archive.")
        if len(members) > MOST_FILES:
            raise ImportFileError(f"The archive holds more than {MOST_FILES} files.")
        return members

    def one_of_many(self, source: IO[bytes], name: str) -> Iterator[Item]:
        """The items of a file whose name says what it is about: its bad lines name it."""
        for item in self.items(source, replace(self.given, stem=PurePosixPath(name).stem)):
            yield replace(item, file=name) if isinstance(item, BadLine) else item

    def items(self, source: IO[bytes], given: Given) -> Iterator[Item]:
        with _opened(source, self.left, self.on_bytes) as text:
            yield from self.form.read(_pieces(text) if self.form.whole else _lines(text), given)


def pieces_of(source: IO[bytes], *, most: int = MOST_BYTES, on_bytes: OnBytes | None = None) -> Iterator[str]:
    """The text of an open file in pieces; gzip is unpacked on the way.

    Raises:
        ImportFileError: it is packed in another way, is not UTF-8, or unpacks to more than ``most`` bytes.
    """
    if _head(source).startswith(ZIP):
        raise ImportFileError(IS_ZIP)
    with _opened(source, _Left(most), on_bytes) as text:
        yield from _pieces(text)


@contextmanager
def _opened(source: IO[bytes], left: _Left, on_bytes: OnBytes | None) -> Iterator[IO[str]]:
    head = _head(source)
    if head[:2] in UTF_16:
        raise ImportFileError("The file is UTF-16; save it as UTF-8.")
    counted = _Counted(source, on_bytes)
    stream = gzip.GzipFile(fileobj=counted) if head.startswith(GZIP) else counted
    try:
        buffered = io.BufferedReader(_Limited(stream, left), PIECE)
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


class _Counted(io.RawIOBase):
    """Tells how much was read, for the progress."""

    def __init__(self, source: IO[bytes], on_bytes: OnBytes | None) -> None:
        self.source, self.on_bytes = source, on_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        data = self.source.read(len(buffer))
        buffer[: len(data)] = data
        if self.on_bytes:
            self.on_bytes(len(data))
        return len(data)


class _Limited(io.RawIOBase):
    """Ends with an error where more comes out than was allowed, as from an archive made to fill a disk."""

    def __init__(self, source: "IO[bytes] | io.RawIOBase | gzip.GzipFile", left: _Left) -> None:
        self.source, self.left = source, left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        data = self.source.read(len(buffer)) or b""
        self.left.used(len(data))
        buffer[: len(data)] = data
        return len(data)
