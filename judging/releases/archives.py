"""The archive of a release as it was released: another of its name is not read."""

import lzma
import zlib
from hashlib import sha256
from typing import IO
from zipfile import BadZipFile, ZipFile

from judging.exceptions import NotPossibleNow
from judging.models import Release
from judging.releases.forms import DATASHEET

MISSING = "The archive is not in the storage."
ALTERED = "The archive in the storage is not the one that was released."
PIECE = 1 << 20
# what reading an archive raises that is no archive, or not the one its directory says
DAMAGED = (BadZipFile, KeyError, EOFError, NotImplementedError, RuntimeError, zlib.error, lzma.LZMAError)


def archive_opened(release: Release) -> IO[bytes]:
    """The archive at its first byte, after all of it was compared with the checksum that is kept of it.

    One from before that was kept is compared with the checksums that it holds itself.

    Raises:
        NotPossibleNow: it is not in the storage, or it is another.
    """
    try:
        source: IO[bytes] = release.archive.open("rb")
        good = _is_as_told(release, source) if release.archive_sha256 else _is_whole(source)
        source.seek(0)
    except (OSError, ValueError) as error:  # ValueError: the row names none
        raise NotPossibleNow(MISSING) from error
    if not good:
        source.close()
        raise NotPossibleNow(ALTERED)
    return source


def _is_as_told(release: Release, source: IO[bytes]) -> bool:
    digest = sha256()
    while piece := source.read(PIECE):
        digest.update(piece)
    return digest.hexdigest() == release.archive_sha256


def _is_whole(source: IO[bytes]) -> bool:
    try:
        with ZipFile(source) as archive:
            return archive.testzip() is None
    except DAMAGED:
        return False


def datasheet_of(release: Release) -> str | None:
    """Its datasheet; None where it cannot be read, or is not the one of the manifest."""
    told = release.manifest.get("files", {}).get(DATASHEET)
    if not told:
        return None
    try:
        with release.archive.open("rb") as source, ZipFile(source) as archive, archive.open(DATASHEET) as file:
            held = file.read(told["bytes"] + 1)
    except (OSError, ValueError, *DAMAGED):
        return None
    return held.decode("utf-8", "replace") if sha256(held).hexdigest() == told["sha256"] else None
