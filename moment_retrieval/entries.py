"""JSON piece by piece, each piece with the line it stands in.

A run of a hundred thousand queries is never read as one value, and errors name their line. A few bytes of
text make a Python object of a hundred, so no single value may be longer than MAX_VALUE: what is packed to do harm is
refused before it fills the memory.

Lines are cut at ``\\n`` only: a query may hold U+2028, which ``str.splitlines`` would cut too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from moment_retrieval.errors import EmptyFile, InvalidRecord, MalformedFile, ScoringError, UnreadableFile
from moment_retrieval.jsonfiles import shown

BLANK = re.compile(r"[ \t\n\r]*")
DECODER = json.JSONDecoder()
MAX_LINES = 10_000_000
CUT_OFF = 16  # characters within which an error is due to the cut
MAX_KEYS = 1_000_000  # of an object that is a whole file
MAX_VALUE = 16 * 1024 * 1024  # characters of a query with its moments; one of 100,000 moments has about 5 million


@dataclass(frozen=True, slots=True)
class Entry:
    """One value of a file: an element of its array, or a line."""

    location: str  # where it stands, for people: its line, and its number in an array
    line: int  # from 1
    value: object  # the JSON value
    start: int  # where its text begins


def entries(text: str, name: str) -> Iterator[Entry]:
    """The elements of a JSON array, or the values of JSON lines, whichever ``text`` is.

    Raises:
        EmptyFile: there is nothing in it.
        MalformedFile: not JSON; the message holds line and column.
        InvalidRecord: neither an array nor lines of objects.
    """
    start = skip_blank(text, 0)
    if start == len(text):
        raise EmptyFile("no content")
    if text[start] == "[":
        yield from array_entries(text, start)
    elif text[start] == "{":
        yield from line_entries(text)
    else:
        value, _ = decoded(text, start)
        raise InvalidRecord(f"the {name} must be an array, got {shown(value)}")


def array_entries(text: str, start: int, *, whole: bool = True) -> Iterator[Entry]:
    """The elements of the array that begins at ``start``; ``whole`` allows nothing behind it."""
    line, previous = 1, 0
    for number, (position, value) in enumerate(elements(Window(text), start, whole=whole), start=1):
        line, previous = line + text.count("\n", previous, position), position
        yield Entry(f"entry {number}", line, value, position)


def elements(window: Window, start: int, *, whole: bool = False) -> Generator[tuple[int, object], None, int]:
    """Position and value of every element of the array at ``start``; returns where the array ends.

    ``whole`` allows nothing behind it.
    """
    text = window.text
    position = skip_blank(text, start + 1)
    while text[position : position + 1] != "]":
        value, end = window.decoded(position)
        yield position, value
        position = skip_blank(text, end)
        if text[position : position + 1] == ",":
            position = skip_blank(text, position + 1)
            if text[position : position + 1] == "]":
                raise not_json(text, position, "Expecting value")
        elif text[position : position + 1] != "]":
            raise not_json(text, position, "Expecting ',' delimiter")
    if whole and (rest := skip_blank(text, position + 1)) < len(text):
        raise not_json(text, rest, "Extra data")
    return position + 1


def line_entries(text: str) -> Iterator[Entry]:
    """The values of all lines that are not blank."""
    for number, (start, line) in enumerate(lines_of(text), start=1):
        position = skip_blank(line, 0)
        if position < len(line):
            value, stop = decoded(line, position, before=number - 1)
            if (rest := skip_blank(line, stop)) < len(line):
                raise not_json(line, rest, "Extra data", before=number - 1)
            yield Entry("", number, value, start + position)


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """Start and text of every line, with its end, one after the other. Raises UnreadableFile for too many."""
    if text.count("\n") > MAX_LINES:
        raise UnreadableFile(f"more than {MAX_LINES} lines")
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield start, text[start:end]
        start = end


@dataclass
class Window:
    """A part of a text, from which values are decoded until one reaches beyond it."""

    text: str
    base: int = 0
    part: str = ""

    def decoded(self, position: int) -> tuple[object, int]:
        """As the function ``decoded``; neighbours share a copy of their part of the text."""
        if len(self.text) <= MAX_VALUE:
            return decoded(self.text, position)
        if self.base <= position < self.base + len(self.part):
            try:
                value, end = DECODER.raw_decode(self.part, position - self.base)
                if end < len(self.part):
                    return value, self.base + end
            except (ValueError, RecursionError):  # cut off, perhaps: once more from here
                pass
        self.base, self.part = position, self.text[position : position + MAX_VALUE]
        return decoded(self.text, position, part=self.part)


def decoded(text: str, start: int, *, before: int = 0, part: str = "") -> tuple[object, int]:
    """The value that begins at ``start`` and where it ends. Raises MalformedFile.

    Args:
        before: how many lines precede ``text``.
        part: the text from ``start``, as far as a value may reach.
    """
    is_clipped = len(text) - start > MAX_VALUE
    base = start if part or is_clipped else 0
    part = part or (text[start : start + MAX_VALUE] if is_clipped else text)
    try:
        value, end = DECODER.raw_decode(part, start - base)
    except json.JSONDecodeError as error:
        if is_clipped and error.pos > len(part) - CUT_OFF:
            raise too_large(text, start, before) from error
        raise not_json(text, base + error.pos, error.msg, before=before) from error
    except (RecursionError, ValueError) as error:  # nested too deep; an integer of thousands of digits
        raise MalformedFile(f"line {before + line_at(text, start)}: not usable JSON: {error}") from error
    if is_clipped and end == len(part):  # a number may go on
        raise too_large(text, start, before)
    return value, base + end


def too_large(text: str, start: int, before: int) -> UnreadableFile:
    return UnreadableFile(f"line {before + line_at(text, start)}: a value of more than {MAX_VALUE // 1024**2} MiB")


def not_json(text: str, position: int, problem: str, *, before: int = 0) -> MalformedFile:
    line, column = before + line_at(text, position), position - text.rfind("\n", 0, position)
    return MalformedFile(f"line {line} column {column}: not JSON: {problem}")


def skip_blank(text: str, start: int) -> int:
    match = BLANK.match(text, start)
    return start if match is None else match.end()


def line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


class located:
    """Context manager: errors that pass through get the line of the piece they are about.

    It follows their steps from the value that begins at ``start``.
    """

    __slots__ = ("entry", "text")

    def __init__(self, text: str, entry: Entry) -> None:
        self.text = text
        self.entry = entry

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, ScoringError):
            line = line_at(self.text, position_of(self.text, self.entry.start, error.steps))
            error.locations[:0] = [f"line {line}", *([self.entry.location] if self.entry.location else [])]


def position_of(text: str, start: int, steps: list[str | int]) -> int:
    """Where the part of the value at ``start`` begins to which ``steps`` lead; as far as they go."""
    window = Window(text)
    for step in steps:
        if text[start] == "{":
            positions = [position for key, position in members(window, start) if key == step]
        else:
            positions = [position for number, (position, _) in enumerate(elements(window, start)) if number == step]
        if not positions:
            return start
        start = positions[-1]
    return start


def members(window: Window, start: int, *, whole: bool = False) -> Generator[tuple[str, int], None, int]:
    """Key and position of every value of the object at ``start``; returns where the object ends.

    ``whole`` allows nothing behind it.
    """
    text = window.text
    position = skip_blank(text, start + 1)
    while text[position : position + 1] != "}":
        key, end = window.decoded(position)
        colon = skip_blank(text, end)
        if not isinstance(key, str) or text[colon : colon + 1] != ":":
            raise not_json(text, colon, "Expecting a key with ':' delimiter")
        position = skip_blank(text, colon + 1)
        yield key, position
        position = skip_blank(text, skip_value(window, position))
        if text[position : position + 1] == ",":
            position = skip_blank(text, position + 1)
        elif text[position : position + 1] != "}":
            raise not_json(text, position, "Expecting ',' delimiter")
    if whole and (rest := skip_blank(text, position + 1)) < len(text):
        raise not_json(text, rest, "Extra data")
    return position + 1


def skip_value(window: Window, start: int) -> int:
    """Where the value at ``start`` ends; one too large to be decoded is walked through, as far as it is in pieces."""
    try:
        return window.decoded(start)[1]
    except UnreadableFile:
        if window.text[start] not in "[{":
            raise
    walk: Generator[object, None, int]
    walk = elements(window, start) if window.text[start] == "[" else members(window, start)
    while True:
        try:
            next(walk)
        except StopIteration as stop:
            return int(stop.value)


def value_positions(text: str, name: str) -> dict[str, int]:
    """Where each value of the object begins that ``text`` is.

    Raises:
        EmptyFile, MalformedFile, InvalidRecord: it is none.
        UnreadableFile: it has more than MAX_KEYS.
    """
    start = skip_blank(text, 0)
    if start == len(text):
        raise EmptyFile("no content")
    if text[start] != "{":
        raise InvalidRecord(f"the {name} must be an object, got {shown(decoded(text, start)[0])}")
    positions: dict[str, int] = {}
    for key, position in members(Window(text), start, whole=True):
        positions[key] = position
        if len(positions) > MAX_KEYS:
            raise UnreadableFile(f"line {line_at(text, position)}: more than {MAX_KEYS} keys")
    return positions
