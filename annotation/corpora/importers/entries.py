"""Reads one large JSON object or list entry by entry, so that no more than one entry is held at a time."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

LARGEST_ENTRY = 8_000_000  # characters; the largest known entry, of TACoS, has 30,000
BLANK = re.compile(r"[ \t\n\r]*")


class BrokenJson(Exception):
    """The text is no such JSON from this line on."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


class _Text:
    """What was read and not used yet, and the number of the line it starts on."""

    def __init__(self, parts: Iterable[str]) -> None:
        self.parts = iter(parts)
        self.held = ""
        self.at = 0
        self.line = 1
        self.ended = False
        self.decoder = json.JSONDecoder()

    def more(self) -> bool:
        """Read on, at least as much again as is waiting: an entry is not tried again for every small piece."""
        waiting = self.held[self.at :]
        pieces, size = [waiting], 0
        while not self.ended and size <= len(waiting):
            piece = next(self.parts, None)
            self.ended = piece is None
            pieces.append(piece or "")
            size += len(pieces[-1])
        self.held, self.at = "".join(pieces), 0
        return size > 0

    def past(self, end: int) -> None:
        self.line += self.held.count("\n", self.at, end)
        self.at = end

    def next_character(self) -> str:
        """The next that is not blank, or nothing at the end; it is not passed."""
        while True:
            match = BLANK.match(self.held, self.at)
            self.past(match.end() if match else self.at)
            if self.at < len(self.held):
                return self.held[self.at]
            if not self.more():
                return ""

    def take(self, wanted: str) -> None:
        if (found := self.next_character()) != wanted:
            raise BrokenJson(self.line, f"not JSON: {wanted!r} was expected" if found else "the file ends too early")
        self.past(self.at + 1)

    def value(self) -> Any:
        """The value that comes next; a number counts as read once something follows it."""
        self.next_character()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.held, self.at)
            except RecursionError:
                raise BrokenJson(self.line, "not JSON: nested too deep") from None
            except ValueError:
                end = None
            if end is not None and (end < len(self.held) or not self.more_after(end)):
                self.past(end)
                return value
            if len(self.held) - self.at > LARGEST_ENTRY:
                raise BrokenJson(self.line, "not JSON, or an entry too large to read")
            if end is None and not self.more():
                raise BrokenJson(self.line, "not JSON from here on")

    def more_after(self, end: int) -> bool:
        """Whether there is more text behind what was just read, which may change its meaning: 12 becomes 123."""
        return self.held[end - 1] not in '}]"' and self.more()


def entries(parts: Iterable[str]) -> Iterator[tuple[int, str, Any]]:
    """Line, key and value of each entry of the object that the text is, keys repeated as they are.

    Raises:
        BrokenJson: after the last entry that could be read.
    """
    text = _Text(parts)
    text.take("{")
    if text.next_character() == "}":
        return
    while True:
        if text.next_character() != '"':
            raise BrokenJson(text.line, "not JSON: a name in quotes was expected")
        line, key = text.line, text.value()
        text.take(":")
        yield line, key, text.value()
        if text.next_character() == "}":
            return
        text.take(",")


def elements(parts: Iterable[str]) -> Iterator[tuple[int, Any]]:
    """Line and value of each element of the list that the text is.

    Raises:
        BrokenJson: after the last element that could be read.
    """
    text = _Text(parts)
    text.take("[")
    if text.next_character() == "]":
        return
    while True:
        text.next_character()
        line = text.line
        yield line, text.value()
        if text.next_character() == "]":
            return
        text.take(",")


def lines_of_pieces(parts: Iterable[str]) -> Iterator[str]:
    """The lines of a text that comes in pieces of any size."""
    held = ""
    for piece in parts:
        *whole, held = (held + piece).split("\n")
        yield from whole
        if len(held) > LARGEST_ENTRY:
            yield held
            held = ""
    if held:
        yield held
