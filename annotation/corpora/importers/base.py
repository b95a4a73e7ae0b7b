"""The records that every importer gives, whatever the file looks like."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from core.exceptions import MomentJudgeError

Kind = Literal["video", "subtitle", "both"]  # what a description was written from
Durations = Mapping[str, tuple[float, int]]  # video name -> (length in seconds, index in the corpus)


class ImportFileError(MomentJudgeError):
    """The file as a whole cannot be used; the message says why in plain words."""


@dataclass(frozen=True)
class VideoRecord:
    """One video of a corpus: its length in seconds and its index in the published lists, if they number it."""

    name: str
    duration_s: float
    index: int | None = None


@dataclass(frozen=True)
class SpanRecord:
    """A stretch of a video, ``0 <= start_s < end_s``; ``line`` counts from 1.

    ``item`` names the position within the line, for files that hold many on one. ``past_end`` says that the window was
    cut at the video's end.
    """

    line: int
    video_name: str
    start_s: float
    end_s: float
    past_end: bool = False
    item: str = ""


class MomentRecord(SpanRecord):
    """A moment that nobody has described, as in test sets without captions."""


@dataclass(frozen=True, kw_only=True)
class DescriptionRecord(SpanRecord):
    """One description of a moment.

    ``source_id`` is the source's, None where it numbers nothing. ``notes`` are what a person should look at, though
    nothing is wrong.
    """

    source_id: int | None
    text: str
    kind: Kind
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SubtitleRecord(SpanRecord):
    """One line of speech of a video."""

    text: str


@dataclass(frozen=True)
class BadLine:
    """A line, or an ``item`` on it, that gives no record, and why in plain words; ``line`` counts from 1."""

    line: int
    reason: str
    item: str = ""
    file: str = ""

    def __str__(self) -> str:
        position = f"line {self.line}, {self.item}" if self.item else f"line {self.line}"
        return f"{self.file}, {position}: {self.reason}" if self.file else f"{position}: {self.reason}"


Record = VideoRecord | DescriptionRecord | MomentRecord | SubtitleRecord
Item = Record | BadLine


@dataclass(frozen=True)
class Given:
    """Input of a reader beside the file's text.

    ``corpus_videos`` are those that the corpus has: their lengths are not asked again. ``durations`` is a table of
    the others; where there is none, the file's own lengths count. With ``clip`` a window may end any time after its
    video and is cut; without, only what rounding explains. ``stem`` is the file's name without its suffix.
    """

    durations: Durations = field(default_factory=dict)
    clip: bool = False
    stem: str = ""
    corpus_videos: Durations = field(default_factory=dict)


# Reads a file of one form; the file's faults become bad lines, and nothing is raised for them.
Reader = Callable[[Iterable[str], Given], Iterator[Item]]


@dataclass(frozen=True)
class Format:
    """A form of annotation file: its short name, what people call it, and its reader.

    ``whole`` readers take the text in pieces of any size, the others line by line. ``holds`` says what the records are.
    ``suffix`` is what its files are called where one import may take a folder of them.
    """

    name: str
    label: str
    read: Reader
    whole: bool = False
    holds: Literal["moments", "subtitles"] = "moments"
    suffix: str = ""
