"""Checks single values, and reads large JSON entry by entry, for every importer.

A check gives the value, or refuses or remarks in plain words.
"""

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, TypeVar

from annotation.corpora.importers.base import BadLine, DescriptionRecord, Given, Item, Kind, VideoRecord
from core.exceptions import MomentJudgeError
from core.texts import is_storable

FOREIGN = 0.3  # share of letters outside the Latin script from which a text is taken for another language
MOST_OF_A_NAME = 4  # words
HTML = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|&(?:[a-zA-Z]{2,8}|#\d{1,6}|#x[0-9a-fA-F]{1,6});")
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")

END_SLACK_S = 1.0  # an end this much after its video's is a rounding of the annotation, and is clipped
COUNTED_S = 1e-6  # what frames or sums of floats make of an end at the video's end is not past it
LARGEST_ID = 2**63 - 1  # what the database holds
LONGEST_TEXT = 5000
LONGEST_NAME = 200
LONGEST_LINE = 1_000_000
UPLOAD, LENGTHS = "upload it first (Corpus, Add videos)", "or add a column duration or a table of video lengths"
T = TypeVar("T")
Window = tuple[float, float, bool]  # start and end in seconds, and whether it ended after its video


def notes_of(text: str) -> tuple[str, ...]:
    """List oddities of a description that is accepted all the same."""
    checks = [
        ("is only a name or a word", is_only_a_name(text)),
        ("holds no word", not any(character.isalpha() for character in text)),
        ("is mostly not in Latin letters", foreign_share(text) > FOREIGN),
        ("holds HTML", ("<" in text or "&" in text) and HTML.search(text) is not None),
        ("holds emoji or other symbols", not text.isascii() and "So" in map(unicodedata.category, text)),
        ("holds control characters", CONTROLS.search(text) is not None),
    ]
    return tuple(note for note, holds in checks if holds)


def is_only_a_name(text: str) -> bool:
    """Whether nothing but a few capitalised words stands there: "Rachel Green.", not "Rachel and Ross."."""
    words = re.findall(r"[^\W\d_][\w'’.-]*", text)
    return 0 < len(words) <= MOST_OF_A_NAME and all(word[0].isupper() for word in words)


def foreign_share(text: str) -> float:
    """How many of the letters are outside the Latin script, from 0 to 1; 0 for a text without letters."""
    if text.isascii():
        return 0.0
    letters = [character for character in text if character.isalpha()]
    return sum(not _is_latin(letter) for letter in letters) / len(letters) if letters else 0.0


def shown(text: str) -> str:
    """A text from outside, safe and short enough for a message."""
    return ascii(text[:80])


@cache
def _is_latin(letter: str) -> bool:
    return unicodedata.name(letter, "").startswith("LATIN")


class Refused(MomentJudgeError):
    """This item gives no record; the message says why."""


def lines(parts: Iterable[str], read: Callable[[int, str], Iterable[Item]]) -> Iterator[Item]:
    """Yield what ``read`` gives of each line that is not blank; a line that it refuses becomes a bad one."""
    for number, line in enumerate(parts, start=1):
        if not line.strip():
            continue
        try:
            yield from read(number, line)
        except Refused as refusal:
            yield BadLine(number, str(refusal))


def json_lines(
    parts: Iterable[str], fields: tuple[str, ...], read: Callable[[int, dict[str, Any]], Iterable[Item]]
) -> Iterator[Item]:
    """Yield what ``read`` gives of each line's number and JSON object, as ``lines`` does."""
    return lines(parts, lambda number, line: read(number, json_object(line, fields)))


def items(line: int, values: Iterable[tuple[str, T]], read: Callable[[str, T], Item]) -> Iterator[Item]:
    """Yield what ``read`` gives of each item of a line, by name and value; one that it refuses becomes a bad line."""
    for name, value in values:
        try:
            yield read(name, value)
        except Refused as refusal:
            yield BadLine(line, str(refusal), name)


def json_object(line: str, fields: tuple[str, ...]) -> dict[str, Any]:
    """The line's JSON object with every one of ``fields`` present."""
    if len(line) > LONGEST_LINE:
        raise Refused(f"longer than {LONGEST_LINE} characters")
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise Refused("not JSON") from None
    if not isinstance(value, dict):
        raise Refused("not an object")
    missing = [field for field in fields if field not in value]
    if missing:
        raise Refused(f"missing {', '.join(missing)}")
    return value


def seconds(value: object) -> float | None:
    """A finite number as float, or None for anything else, true and false included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def number(digits: str) -> float | None:
    """A number written as text, or None."""
    try:
        return seconds(float(digits))
    except ValueError:
        return None


def source_id(value: object, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Refused(f"{field} is not a whole number")
    digits = str(value).strip() if isinstance(value, str) else f"{value}" if abs(value) <= LARGEST_ID else ""
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20 and int(digits) <= LARGEST_ID):
        raise Refused(f"{field} must be a whole number from 0 to {LARGEST_ID}")
    return int(digits)


def text(value: object, field: str, longest: int = LONGEST_TEXT) -> str:
    """The text without the white space around it."""
    if not isinstance(value, str):
        raise Refused(f"{field} is not a text")
    if not is_storable(value):
        raise Refused(f"{field} holds a null byte, a broken character, or bytes that are not UTF-8")
    if not (stripped := value.strip()):
        raise Refused(f"{field} is empty")
    if len(stripped) > longest:
        raise Refused(f"{field} has {len(stripped)} characters, more than {longest}")
    return stripped


def text_with_blanks(value: object, field: str) -> str:
    """The text with the blanks around it, as an export of the corpus writes it; other white space is left out."""
    stripped = text(value, field)
    is_as_written = isinstance(value, str) and value.strip(" ") == stripped and len(value) <= LONGEST_TEXT
    return str(value) if is_as_written else stripped


def described(
    line: int, video: str, window: Window, text: str, *, number: int | None = None, kind: Kind = "video", item: str = ""
) -> DescriptionRecord:
    """Return the record of a description, with what is unusual about its text."""
    return DescriptionRecord(line, video, *window, item, source_id=number, text=text, kind=kind, notes=notes_of(text))


class Source:
    """Reads what one file may say: its videos, their windows, and its numbers.

    Its videos are those of the corpus and of the table of lengths; without a table, also those whose length it says
    itself. Either all its items have a number, or none.
    """

    def __init__(self, options: Given, name_field: str = "video", number_field: str = "id") -> None:
        self.options, self.name_field, self.number_field = options, name_field, number_field
        self.lengths: dict[str, float] = {}  # of videos, in seconds, as the file says them
        self.numbers: set[int] = set()
        self.is_numbered: bool | None = None  # not known before the first item

    def video(self, name: object, duration: object = None) -> tuple[str, float, VideoRecord | None]:
        """Return name and length of a video, and its record where the file had not said its length before."""
        if not isinstance(name, str):
            raise Refused(f"{self.name_field} is not a text")
        if (video := self.options.corpus_videos.get(stripped := name.strip())) is not None:
            return stripped, video[0], None
        if known := self.options.durations:
            if name not in known:
                raise Refused(f"unknown video {shown(name)}; {UPLOAD}")
            return name, known[name][0], None
        name = text(name, self.name_field, LONGEST_NAME)
        if duration is None:
            if name not in self.lengths:
                raise Refused(f"the length of video {shown(name)} is not known; {UPLOAD}, {LENGTHS}")
            return name, self.lengths[name], None
        length = seconds(duration)
        if length is None or length <= 0:
            raise Refused("duration is not a positive number")
        is_first = name not in self.lengths
        if self.lengths.setdefault(name, length) != length:
            raise Refused(f"duration of video {shown(name)} is another on an earlier line")
        return name, length, VideoRecord(name, length) if is_first else None

    def window(self, value: object, field: str, duration_s: float, *, rate: float = 1.0) -> Window:
        """Return the window of a pair of numbers, ``rate`` of them a second; it ends with its video at the latest."""
        pair = [seconds(part) for part in value] if isinstance(value, list | tuple) else []
        if len(pair) != 2 or pair[0] is None or pair[1] is None:
            raise Refused(f"{field} is not a pair of numbers")
        start_s, end_s = pair[0] / rate, pair[1] / rate
        if start_s < 0:
            raise Refused(f"{field} starts at {start_s:g} s, before the video")
        if start_s >= end_s:
            raise Refused(f"{field} starts at {start_s:g} s, not before its end at {end_s:g} s")
        if not self.options.clip and end_s > duration_s + END_SLACK_S:
            raise Refused(f"{field} ends at {end_s:g} s, but the video is {duration_s:g} s long")
        if start_s >= duration_s:
            raise Refused(f"{field} starts at {start_s:g} s, not before its end at {min(end_s, duration_s):g} s")
        return start_s, min(end_s, duration_s), end_s > duration_s + COUNTED_S

    def take_number(self, number: int | None) -> None:
        """Refuse a number that an earlier item had; called last, so that a refused item's number stays free."""
        is_given = number is not None
        if self.is_numbered is None:
            self.is_numbered = is_given
        if is_given != self.is_numbered:
            field = self.number_field
            raise Refused(f"{field} stands here but not before" if is_given else f"missing {field}")
        if number in self.numbers:
            raise Refused(f"{self.number_field} {number} was used by an earlier line")
        if number is not None:
            self.numbers.add(number)


LARGEST_ENTRY = 8_000_000  # characters; the largest known entry, of TACoS, has 30,000
BLANK = re.compile(r"[ \t\n\r]*")


class BrokenJson(MomentJudgeError):
    """The text is no such JSON from this line on."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


class _Text:
    """Text that was read and not used yet, and the number of the line it starts on."""

    def __init__(self, parts: Iterable[str]) -> None:
        self.parts = iter(parts)
        self.buffer = ""
        self.at = 0
        self.line = 1
        self.ended = False
        self.decoder = json.JSONDecoder()

    def more(self) -> bool:
        """Read on, at least as much again as is waiting: an entry is not tried again for every small piece."""
        waiting = self.buffer[self.at :]
        pieces, size = [waiting], 0
        while not self.ended and size <= len(waiting):
            piece = next(self.parts, None)
            self.ended = piece is None
            pieces.append(piece or "")
            size += len(pieces[-1])
        self.buffer, self.at = "".join(pieces), 0
        return size > 0

    def past(self, end: int) -> None:
        self.line += self.buffer.count("\n", self.at, end)
        self.at = end

    def next_character(self) -> str:
        """The next that is not blank, or nothing at the end; it is not passed."""
        while True:
            match = BLANK.match(self.buffer, self.at)
            self.past(match.end() if match else self.at)
            if self.at < len(self.buffer):
                return self.buffer[self.at]
            if not self.more():
                return ""

    def take(self, character: str) -> None:
        if (actual := self.next_character()) != character:
            reason = f"not JSON: {character!r} was expected" if actual else "the file ends too early"
            raise BrokenJson(self.line, reason)
        self.past(self.at + 1)

    def members(self, opening: str, closing: str) -> Iterator[str]:
        """Yield the first character of each member of an object or list; whoever iterates reads the member."""
        self.take(opening)
        if self.next_character() == closing:
            return
        while True:
            yield self.next_character()
            if self.next_character() == closing:
                return
            self.take(",")

    def value(self) -> Any:
        """The value that comes next; a number counts as read once something follows it."""
        self.next_character()
        while True:
            try:
                value, end = self.decoder.raw_decode(self.buffer, self.at)
            except RecursionError:
                raise BrokenJson(self.line, "not JSON: nested too deep") from None
            except ValueError:
                end = None
            # what comes behind a number may change its meaning: 12 becomes 123
            if end is not None and (end < len(self.buffer) or self.buffer[end - 1] in '}]"' or not self.more()):
                self.past(end)
                return value
            if len(self.buffer) - self.at > LARGEST_ENTRY:
                raise BrokenJson(self.line, "not JSON, or an entry too large to read")
            if end is None and not self.more():
                raise BrokenJson(self.line, "not JSON from here on")


def entries(parts: Iterable[str]) -> Iterator[tuple[int, str, Any]]:
    """Line, key and value of each entry of the object that the text is, keys repeated as they are. Raises BrokenJson
    after the last entry that could be read."""
    text = _Text(parts)
    for first in text.members("{", "}"):
        if first != '"':
            raise BrokenJson(text.line, "not JSON: a name in quotes was expected")
        line, key = text.line, text.value()
        text.take(":")
        yield line, key, text.value()


def elements(parts: Iterable[str]) -> Iterator[tuple[int, Any]]:
    """Line and value of each element of the list that the text is. Raises BrokenJson after the last element that could
    be read."""
    text = _Text(parts)
    for _ in text.members("[", "]"):
        line = text.line
        yield line, text.value()


def lines_of_pieces(parts: Iterable[str]) -> Iterator[str]:
    """The lines of a text that comes in pieces of any size."""
    buffer = ""
    for piece in parts:
        *whole, buffer = (buffer + piece).split("\n")
        yield from whole
        if len(buffer) > LARGEST_ENTRY:
            yield buffer
            buffer = ""
    if buffer:
        yield buffer
