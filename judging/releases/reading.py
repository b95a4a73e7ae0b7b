"""Read a release from outside, archive or folder: files are checked first, bad lines are reported together. Pure."""

import csv
import json
import math
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, TextIO, TypeVar
from zipfile import ZipFile, ZipInfo

from annotation.corpora.importers.base import ImportFileError
from annotation.corpora.importers.files import FREE_BYTES, MOST_RATIO, member_opened, zip_opened
from core.exceptions import ImportRefused
from judging.releases import layout
from judging.releases.layout import COLUMNS

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")  # of a file: it lies beside the others, nowhere else
LARGEST_MANIFEST = 16 * 2**20
PIECE = 1 << 20
NOT_NEEDED = {
    *layout.JUDGED_SPLITS.values(),
    *layout.TRAIN_FILES.values(),
    *(layout.RAW, layout.QRELS, layout.POOL, layout.VIDEO_CORPUS, layout.DATASHEET, layout.README, layout.CROISSANT),
}  # they follow from the others: checked, not unpacked


@contextmanager
def opened(path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """A folder with the files of the release that are needed to read it back, and its manifest. Raises ImportRefused
    where it is no release, or a file is missing, too many, outside the folder or not the one of the manifest."""
    if path.is_dir():
        listing = path / layout.MANIFEST
        if listing.is_file() and listing.stat().st_size > LARGEST_MANIFEST:
            raise ImportRefused(f"{layout.MANIFEST} is too large.")
        manifest = _manifest(listing.read_bytes() if listing.is_file() else b"")
        for name, facts in manifest["files"].items():
            file = path / name
            if file.is_symlink() or not file.is_file():
                raise ImportRefused(f"{name} is missing, or it is no plain file.")
            with file.open("rb") as source:
                _check(name, facts, file.stat().st_size, source, None)
        yield path, manifest
    else:
        with TemporaryDirectory(prefix="momentjudge-import-") as folder:
            try:
                with path.open("rb") as source, zip_opened(source) as archive:
                    manifest = _unpack(archive, Path(folder), path.stat().st_size)
            except (ImportFileError, OSError) as error:
                raise ImportRefused(f"{path.name} is no zip archive that can be read: {error}") from error
            yield Path(folder), manifest


def _manifest(content: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(content)
        files = manifest["files"]
        good = all(
            NAME.fullmatch(name) and isinstance(facts["bytes"], int) and isinstance(facts["sha256"], str)
            for name, facts in files.items()
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ImportRefused(f"It is no release: {layout.MANIFEST} is missing or cannot be read.") from error
    if not good:
        raise ImportRefused(f"{layout.MANIFEST} names a file that cannot lie beside it.")
    return dict(manifest)


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
    content, listing = b"", entries.get(layout.MANIFEST)
    if listing:
        if listing.file_size > LARGEST_MANIFEST:
            raise ImportRefused(f"{layout.MANIFEST} is too large.")
        with _refused_by_name(layout.MANIFEST), member_opened(archive, listing) as source:
            content = source.read(listing.file_size + 1)  # ``archive.read`` would unpack all there is
    manifest = _manifest(content)
    files = manifest["files"]
    if odd := sorted(set(files) ^ (set(entries) - {layout.MANIFEST, layout.SUMS})):
        raise ImportRefused(f"The archive and its manifest disagree about {', '.join(odd[:5])}.")
    size = sum(facts["bytes"] for name, facts in files.items() if name not in NOT_NEEDED)
    if size > (free := shutil.disk_usage(folder).free):
        raise ImportRefused(f"The archive unpacks to {size:,} bytes, and {free:,} are free.")
    for name, facts in files.items():
        with (
            _refused_by_name(name),
            member_opened(archive, entries[name]) as source,
            nullcontext() if name in NOT_NEEDED else (folder / name).open("wb") as target,
        ):
            _check(name, facts, entries[name].file_size, source, target)
    return manifest


@contextmanager
def _refused_by_name(name: str) -> Iterator[None]:
    """Refuse a file by its name for damage inside."""
    try:
        yield
    except (ImportFileError, OSError) as error:
        raise ImportRefused(f"{name} cannot be unpacked: {error}") from error


def _check(name: str, facts: Mapping[str, Any], size: int, source: IO[bytes], target: IO[bytes] | None) -> None:
    """Read the file to its end, copy it where asked, and compare its size and checksum."""
    if size != facts["bytes"]:
        raise ImportRefused(f"{name} has {size:,} bytes and not the {facts['bytes']:,} of the manifest.")
    digest = sha256()
    while piece := source.read(PIECE):
        digest.update(piece)
        if target:
            target.write(piece)
    if digest.hexdigest() != facts["sha256"]:
        raise ImportRefused(f"{name} is not the file of the manifest: its SHA-256 is another.")


SHOWN = 20
LARGEST_DOCUMENT, LONGEST_LINE = 2**24, 2**22  # bytes, characters: what is held in memory at once
FORMLESS = "it does not have the form of such a line"
LARGEST = 2**53  # numbers of files: what JSON readers hold exactly
T = TypeVar("T")


@dataclass
class BadLines:
    """Errors, line by line; the first are shown."""

    shown: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, name: str, line: int, reason: object) -> None:
        self.report(f"{name}, line {line}: {reason}")

    def report(self, error: str) -> None:
        self.count += 1
        if len(self.shown) < SHOWN:
            self.shown.append(error)

    def refuse(self, outcome: str = "Nothing was imported.") -> None:
        """Raises ImportRefused where there was one."""
        if self.count:
            more = [f"... and {self.count - SHOWN} more"] if self.count > SHOWN else []
            raise ImportRefused("\n".join([outcome, *self.shown, *more]))


class Cells:
    """One line of a CSV file, by the names of its columns."""

    def __init__(self, cells: Mapping[str, str]) -> None:
        self.cells = cells

    def text(self, name: str) -> str:
        value = self.cells[name]
        if "\0" in value:
            raise ValueError(f"{name} holds a null byte")
        return value

    def number(self, name: str, least: int = 0, most: int = LARGEST) -> int:
        value = self.maybe(name, least, most)
        if value is None:
            raise ValueError(f"{name} is empty")
        return value

    def maybe(self, name: str, least: int = 0, most: int = LARGEST) -> int | None:
        cell = self.cells[name]
        if not cell:
            return None
        if not (cell.isascii() and cell.isdigit()) or not least <= int(cell[:20]) <= most:
            raise ValueError(f"{name} is {cell[:40]!r}, no whole number from {least} to {most}")
        return int(cell)

    def real(self, name: str) -> float:
        try:
            value = float(self.cells[name])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(f"{name} is {self.cells[name][:40]!r}, no number")
        return value

    def one_of(self, name: str, *choices: str) -> str:
        if self.cells[name] not in choices:
            raise ValueError(f"{name} is {self.cells[name][:40]!r}, not one of {', '.join(filter(None, choices))}")
        return self.cells[name]

    def yes(self, name: str) -> bool:
        return self.one_of(name, "yes", "no") == "yes"

    def known(self, name: str, by_key: Mapping[Any, T], key: Any) -> T:
        """Return the value of ``by_key`` at the key that this cell gave."""
        if key not in by_key:
            raise ValueError(f"{name} {key} is not known")
        return by_key[key]

    def maybe_known(self, name: str, by_key: Mapping[Any, T]) -> T | None:
        """Return the value of ``by_key`` at the number of this cell; None where the cell is empty."""
        key = self.maybe(name)
        return None if key is None else self.known(name, by_key, key)


def rows(folder: Path, name: str, read: Callable[[Cells], T], bad: BadLines) -> Iterator[T]:
    """Each line of a CSV file as ``read`` makes of it; a line it refuses (ValueError) is bad and left out."""

    def check(columns: list[str]) -> None:
        if columns != list(COLUMNS[name]):
            raise ImportRefused(f"{name}: the first line must be {','.join(COLUMNS[name])}.")

    with _open(folder, name) as file:
        yield from csv_rows(file, name, check, read, partial(bad.add, name))


def csv_rows(
    file: TextIO,
    name: str,
    check: Callable[[list[str]], object],
    read: Callable[[Cells], T],
    report: Callable[[int, ValueError], object],
) -> Iterator[T]:
    """Each line as ``read`` makes of it, once ``check`` has seen the columns.

    Args:
        report: takes the number of a line that ``read`` refuses, and why.
    """
    lines = BoundedLines(file, name)
    reader = csv.reader(lines, strict=True)
    try:
        columns = next(reader, [])
        check(columns)
        for cells in reader:
            lines.begin()
            try:
                if len(cells) != len(columns):
                    raise ValueError(f"{len(cells)} cells instead of {len(columns)}")
                yield read(Cells(dict(zip(columns, cells, strict=True))))
            except ValueError as error:
                report(reader.line_num, error)
    except (csv.Error, UnicodeDecodeError) as error:
        raise ImportRefused(f"{name} cannot be read: {error}.") from error


def objects(folder: Path, name: str, read: Callable[[dict[str, Any]], T], bad: BadLines) -> Iterator[T]:
    """Each line of a file of JSON objects as ``read`` makes of it."""
    with _open(folder, name) as file:
        lines = BoundedLines(file, name)
        for number, line in enumerate(lines, start=1):
            lines.begin()
            try:
                yield read(json.loads(line, parse_float=_finite, parse_constant=_finite))
            except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
                bad.add(name, number, error if type(error) is ValueError else FORMLESS)


def document(folder: Path, name: str) -> dict[str, Any]:
    try:
        with _open(folder, name) as file:
            if (folder / name).stat().st_size > LARGEST_DOCUMENT:
                raise ImportRefused(f"{name} is too large.")
            value = json.load(file, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise ImportRefused(f"{name} cannot be read: {error}.") from error
    if not isinstance(value, dict):
        raise ImportRefused(f"{name} is no object.")
    return value


class BoundedLines:
    """The lines of a file, none so long that it fills the memory; a line of CSV may be several of the file."""

    def __init__(self, file: TextIO, name: str) -> None:
        self.file, self.name, self.n_read = file, name, 0

    def begin(self) -> None:
        """The lines so far have been read."""
        self.n_read = 0

    def __iter__(self) -> Iterator[str]:
        while line := self.file.readline(LONGEST_LINE + 1 - self.n_read):
            self.n_read += len(line)
            if self.n_read > LONGEST_LINE:
                raise ImportRefused(f"{self.name} has a line of more than {LONGEST_LINE:,} characters.")
            yield line


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is no number")
    return value


def _open(folder: Path, name: str) -> Any:
    path = folder / name
    if not path.is_file():
        raise ImportRefused(f"{name} is not in it: it is from a version that could not be imported back.")
    return path.open(newline="", encoding="utf-8")
