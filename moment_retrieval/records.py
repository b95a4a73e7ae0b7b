"""Records for scoring: videos, spans, judged and retrieved moments, queries with theirs.

``formats`` reads and writes them in every form of the field, as tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from moment_retrieval.errors import CorpusNeeded, EmptyFile, InvalidRecord, UnknownVideo, at
from moment_retrieval.jsonfiles import as_number, as_object, as_text, decode, parse_json, read_bytes, shown


@dataclass(frozen=True, slots=True)
class VideoCorpus:
    durations_s: Mapping[str, float]  # by name, in seconds
    names: Mapping[int, str]  # by index, where there are indexes
    without_names: str = "this corpus has durations, but no indexes"  # why there are none

    def name_of(self, index: int) -> str:
        """The name of the video with ``index``.

        Raises:
            CorpusNeeded: the corpus file gives durations only.
            UnknownVideo: no video has this index.
        """
        if not self.names:
            raise CorpusNeeded(f"video index {index} cannot be translated: {self.without_names}")
        if index not in self.names:
            raise UnknownVideo(f"the corpus has no video with index {shown(index)}")
        return self.names[index]


def read_corpus(path: Path) -> VideoCorpus:
    """The videos of a ``video_corpus.json`` with ``name: duration`` or ``name: [duration, index]``.

    Raises:
        ScoringError: the file cannot be read, is malformed, is empty, or gives two videos one index.
    """
    data = read_bytes(path)
    with at(str(path)):
        return parse_corpus(data)


def parse_corpus(data: bytes) -> VideoCorpus:
    """As ``read_corpus``, from bytes."""
    durations: dict[str, float] = {}
    names: dict[int, str] = {}
    for name, value in as_object(parse_json(decode(data)), "the corpus").items():
        with at(f"video {name}"):
            duration, index = corpus_entry(value)
            durations[name] = duration
            if index is None:
                continue
            if index in names:
                raise InvalidRecord(f"index {index} belongs to {names[index]} already")
            names[index] = name
    if not durations:
        raise EmptyFile("no videos")
    return VideoCorpus(durations, names)


def corpus_entry(value: object) -> tuple[float, int | None]:
    """(duration, index or None) from ``duration`` or ``[duration, index]``."""
    if not isinstance(value, list):
        return as_number(value, "duration"), None
    if len(value) != 2 or isinstance(value[1], bool) or not isinstance(value[1], int):
        raise InvalidRecord(f"expected duration or [duration, index], got {shown(value)}")
    return as_number(value[0], "duration"), value[1]


def video_name(value: object, corpus: VideoCorpus | None, *, strict: bool = True) -> str:
    """A video's name from what a file calls it, name or index; not ``strict``: the corpus may lack the name.

    Raises:
        CorpusNeeded: it is an index, and there is no corpus.
        UnknownVideo: the corpus has no such video.
        InvalidRecord: it is neither.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        name = as_text(value, "video name")
        if strict and corpus is not None and name not in corpus.durations_s:
            raise UnknownVideo(f"the corpus has no video {shown(name)}")
        return name
    if corpus is None:
        raise CorpusNeeded(f"video {shown(value)} is an index; give the video corpus that translates it (--corpus)")
    return corpus.name_of(value)


MAX_RELEVANCE = 9  # of the longest scale; TVR-Ranking's goes to 4
MAX_TIME_S = 1e9  # beyond any video, and far from where sums overflow


@dataclass(frozen=True, slots=True)
class Span:
    """An interval of a video, in seconds.

    ``end_s < start_s`` is allowed, since runs hold such rows; it overlaps nothing.

    Raises:
        InvalidRecord: a time is NaN, infinite or absurdly large.
    """

    video: str
    start_s: float
    end_s: float

    def __post_init__(self) -> None:
        if not (abs(self.start_s) <= MAX_TIME_S and abs(self.end_s) <= MAX_TIME_S):  # also false for NaN
            raise InvalidRecord(f"times must be finite, in seconds, got {shown(self.start_s)} to {shown(self.end_s)}")


@dataclass(frozen=True, slots=True)
class ScoredMoment(Span):
    """A retrieved moment. Its place in the run is its rank; ``score`` is carried along and never read."""

    score: float


@dataclass(frozen=True, slots=True)
class JudgedMoment(Span):
    """A qrel: a moment and its relevance to one query, 0 (unrelated) to the highest grade; fractions are allowed.

    Raises:
        InvalidRecord: a time is no time, or the relevance is outside 0..9.
    """

    relevance: float
    pair_id: int | str | None = None
    duration_s: float | None = None
    caption: str | None = None
    similarity: float | None = None

    def __post_init__(self) -> None:
        Span.__post_init__(self)  # super() is broken in slotted dataclasses
        if not 0 <= self.relevance <= MAX_RELEVANCE:  # also false for NaN
            raise InvalidRecord(f"relevance must be from 0 to {MAX_RELEVANCE}, got {shown(self.relevance)}")


MomentT = TypeVar("MomentT", bound=Span)


@dataclass(frozen=True, slots=True)
class QueryMoments(Generic[MomentT]):
    """A query with its judged moments, or with its retrieved ones, best first."""

    query_id: str
    text: str
    moments: tuple[MomentT, ...]


RankedQuery: TypeAlias = QueryMoments[ScoredMoment]
