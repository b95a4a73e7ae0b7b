"""Opens a release that comes from outside: an archive or a folder, every file checked before one is believed. Pure."""

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any
from zipfile import ZipFile, ZipInfo

from annotation.corpora.importers import ImportFileError
from annotation.corpora.importers.files import member_opened, zip_opened
from annotation.corpora.importers.limits import FREE_BYTES, MOST_RATIO
from core.exceptions import ImportRefused
from judging.releases import layout

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")  # of a file: it lies beside the others, nowhere else
LARGEST_MANIFEST = 16 * 2**20
PIECE = 1 << 20
NOT_NEEDED = {
    *layout.JUDGED_SPLITS.values(),
    *layout.TRAIN_FILES.values(),
    *(layout.RAW, layout.QRELS, layout.VIDEO_CORPUS, layout.DATASHEET, layout.README, layout.CROISSANT),
}  # they follow from the others: checked, not unpacked


@contextmanager
def opened(path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A folder with the files of the release that are needed to read it back, and its manifest.

    Raises:
        ImportRefused: it is no release, a file is missing, too many, outside or not the one of the manifest.
    """
    if path.is_dir():
        manifest = _manifest(_small(path / layout.MANIFEST))
        _folder_check(path, manifest["files"])
        yield path, manifest
    else:
        with TemporaryDirectory(prefix="momentjudge-import-") as made:
            try:
                with path.open("rb") as source, zip_opened(source) as archive:
                    manifest = _unpack(archive, Path(made), path.stat().st_size)
            except (ImportFileError, OSError) as error:
                raise ImportRefused(f"{path.name} is no zip archive that can be read: {error}") from error
            yield Path(made), manifest


def _small(path: Path) -> bytes:
    if not path.is_file():
        return b""
    if path.stat().st_size > LARGEST_MANIFEST:
        raise ImportRefused(f"{path.name} is too large.")
    return path.read_bytes()


def _manifest(content: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(content)
        files = manifest["files"]
        good = all(
            NAME.fullmatch(name) and isinstance(told["bytes"], int) and isinstance(told["sha256"], str)
            for name, told in files.items()
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ImportRefused(f"It is no release: {layout.MANIFEST} is missing or cannot be read.") from error
    if not good:
        raise ImportRefused(f"{layout.MANIFEST} names a file that cannot lie beside it.")
    return dict(manifest)


def _folder_check(folder: Path, files: Mapping[str, Any]) -> None:
    for name, told in files.items():
        path = folder / name
        if path.is_symlink() or not path.is_file():
            raise ImportRefused(f"{name} is missing, or it is no plain file.")
        with path.open("rb") as source:
            _check(name, told, path.stat().st_size, source, None)


def _unpack(archive: ZipFile, folder: Path, packed_size: int) -> dict[str, Any]:
    entries: dict[str, ZipInfo] = {}
    whole = sum(entry.file_size for entry in archive.infolist())
    if whole > FREE_BYTES + MOST_RATIO * packed_size:  # entries may share their bytes
        raise ImportRefused(f"The archive would unpack to {whole:,} bytes; it is not unpacked.")
    for entry in archive.infolist():
        if not NAME.fullmatch(entry.filename):
            raise ImportRefused(f"The archive holds {entry.filename[:100]!r}, which does not lie beside its manifest.")
        if entry.filename in entries:
            raise ImportRefused(f"The archive holds {entry.filename} twice.")
        if entry.flag_bits & 1:
            raise ImportRefused(f"{entry.filename} is encrypted.")
        if entry.file_size > max(FREE_BYTES, MOST_RATIO * entry.compress_size):
            raise ImportRefused(f"{entry.filename} would unpack to {entry.file_size:,} bytes; it is not unpacked.")
        entries[entry.filename] = entry
    held = entries.get(layout.MANIFEST)
    if held and held.file_size > LARGEST_MANIFEST:
        raise ImportRefused(f"{layout.MANIFEST} is too large.")
    manifest = _manifest(_read(archive, held) if held else b"")
    files = manifest["files"]
    if odd := sorted(set(files) ^ (set(entries) - {layout.MANIFEST, layout.SUMS})):
        raise ImportRefused(f"The archive and its manifest disagree about {', '.join(odd[:5])}.")
    _check_room(folder, sum(told["bytes"] for name, told in files.items() if name not in NOT_NEEDED))
    for name, told in files.items():
        with _told_of(name):
            _unpack_one(archive, entries[name], told, folder)
    return manifest


def _unpack_one(archive: ZipFile, entry: ZipInfo, told: Mapping[str, Any], folder: Path) -> None:
    with member_opened(archive, entry) as source:
        if entry.filename in NOT_NEEDED:
            _check(entry.filename, told, entry.file_size, source, None)
        else:
            with (folder / entry.filename).open("wb") as target:
                _check(entry.filename, told, entry.file_size, source, target)


def _read(archive: ZipFile, entry: ZipInfo) -> bytes:
    with _told_of(entry.filename), member_opened(archive, entry) as source:
        return source.read(entry.file_size + 1)  # ``archive.read`` would unpack all there is, whatever its size


@contextmanager
def _told_of(name: str) -> Iterator[None]:
    """What is damaged inside is said of the file."""
    try:
        yield
    except (ImportFileError, OSError) as error:
        raise ImportRefused(f"{name} cannot be unpacked: {error}") from error


def _check(name: str, told: Mapping[str, Any], size: int, source: IO[bytes], target: IO[bytes] | None) -> None:
    """Read the file to its end, copy it where asked, and compare its size and checksum."""
    if size != told["bytes"]:
        raise ImportRefused(f"{name} has {size:,} bytes and not the {told['bytes']:,} of the manifest.")
    digest = sha256()
    while piece := source.read(PIECE):
        digest.update(piece)
        if target:
            target.write(piece)
    if digest.hexdigest() != told["sha256"]:
        raise ImportRefused(f"{name} is not the file of the manifest: its SHA-256 is another.")


def _check_room(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        raise ImportRefused(f"The archive unpacks to {size:,} bytes, and {free:,} are free.")
