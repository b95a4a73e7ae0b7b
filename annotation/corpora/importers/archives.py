"""Opens a zip archive from outside: plain or deflated entries alone, and no directory that fills the memory."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from annotation.corpora.importers.base import ImportFileError

PACKED = (ZIP_STORED, ZIP_DEFLATED)  # other methods take as much memory as an entry says that they need
LARGEST_DIRECTORY = 24 * 2**20  # bytes; that of 100,000 files takes about 17 million
BROKEN = (BadZipFile, EOFError, OSError, zlib.error)  # what reading an entry raises that is damaged
DAMAGED = (*BROKEN, NotImplementedError, RuntimeError, ValueError)  # ... and opening one, or the archive


@contextmanager
def zip_opened(source: IO[bytes]) -> Iterator[ZipFile]:
    """The archive, for the block.

    Raises:
        ImportFileError: it is damaged, its directory is too large, or it packs an entry in another way.
    """
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
