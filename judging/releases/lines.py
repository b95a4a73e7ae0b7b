"""The lines of a release's files, each cell as what it stands for; lines that cannot be are told together. Pure."""

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO, TypeVar

from core.exceptions import ImportRefused
from judging.releases.layout import COLUMNS

SHOWN = 20
LARGEST_DOCUMENT, LONGEST_LINE = 2**24, 2**22  # bytes, characters: what is held in memory at once
FORMLESS = "it does not have the form of such a line"
LARGEST = 2**53  # numbers of files: what JSON readers hold exactly
T = TypeVar("T")


@dataclass
class BadLines:
    """What is wrong, line by line; the first are shown."""

    shown: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, name: str, line: int, reason: object) -> None:
        self.count += 1
        if len(self.shown) < SHOWN:
            self.shown.append(f"{name}, line {line}: {reason}")

    def refuse(self) -> None:
        """Raises ImportRefused where there was one."""
        if self.count:
            more = [f"... and {self.count - SHOWN} more"] if self.count > SHOWN else []
            raise ImportRefused("\n".join(["Nothing was imported.", *self.shown, *more]))


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

    def one_of(self, name: str, *known: str) -> str:
        if self.cells[name] not in known:
            raise ValueError(f"{name} is {self.cells[name][:40]!r}, not one of {', '.join(filter(None, known))}")
        return self.cells[name]

    def yes(self, name: str) -> bool:
        return self.one_of(name, "yes", "no") == "yes"

    def known(self, name: str, held: Mapping[Any, T], key: Any) -> T:
        """What ``held`` has under the key that this cell gave."""
        if key not in held:
            raise ValueError(f"{name} {key} is not known")
        return held[key]


def rows(folder: Path, name: str, read: Callable[[Cells], T], bad: BadLines) -> Iterator[T]:
    """Each line of a CSV file as ``read`` makes of it; a line it refuses (ValueError) is bad and left out."""
    columns = COLUMNS[name]
    try:
        with _open(folder, name) as file:
            lines = BoundedLines(file, name)
            reader = csv.reader(lines, strict=True)
            if next(reader, None) != list(columns):
                raise ImportRefused(f"{name}: the first line must be {','.join(columns)}.")
            for cells in reader:
                lines.begin()
                try:
                    if len(cells) != len(columns):
                        raise ValueError(f"{len(cells)} cells instead of {len(columns)}")
                    yield read(Cells(dict(zip(columns, cells, strict=True))))
                except ValueError as error:
                    bad.add(name, reader.line_num, error)
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
            held = json.load(file, parse_float=_finite, parse_constant=_finite)
    except (ValueError, RecursionError) as error:
        raise ImportRefused(f"{name} cannot be read: {error}.") from error
    if not isinstance(held, dict):
        raise ImportRefused(f"{name} is no object.")
    return held


class BoundedLines:
    """The lines of a file, none so long that it fills the memory; a line of CSV may be several of the file."""

    def __init__(self, file: TextIO, name: str) -> None:
        self.file, self.name, self.held = file, name, 0

    def begin(self) -> None:
        """The lines so far have been read."""
        self.held = 0

    def __iter__(self) -> Iterator[str]:
        while line := self.file.readline(LONGEST_LINE + 1 - self.held):
            self.held += len(line)
            if self.held > LONGEST_LINE:
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
