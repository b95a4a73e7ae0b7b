"""The records that every importer gives, whatever the file looks like."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["video", "subtitle", "both"]  # what a description was written from
Durations = Mapping[str, tuple[float, int]]  # video name -> (length in seconds, index in the corpus)


class ImportFileError(Exception):
    """The file as a whole cannot be used; the message says why in plain words."""


@dataclass(frozen=True)
class VideoRecord:
    """One video of a corpus: its length in seconds and its index in the published lists."""

    name: str
    duration_s: float
    index: int


@dataclass(frozen=True)
class DescriptionRecord:
    """One description of a moment, ``0 <= start_s < end_s``; ``line`` counts from 1, ``source_id`` is the source's."""

    line: int
    source_id: int
    video_name: str
    start_s: float
    end_s: float
    text: str
    kind: Kind


@dataclass(frozen=True)
class BadLine:
    """A line that gives no record, and why in plain words; ``line`` counts from 1."""

    line: int
    reason: str


@dataclass(frozen=True)
class Format:
    """A form of annotation file: its short name, what people call it, and its reader.

    ``read`` takes the file's lines and the videos' durations, and raises for no line.
    """

    name: str
    label: str
    read: Callable[[Iterable[str], Durations], Iterator[DescriptionRecord | BadLine]]
