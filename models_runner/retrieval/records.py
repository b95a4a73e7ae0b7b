"""What is scored and against what: spans, judged and retrieved moments, and their published file forms.

Ground truth is read in both TVR-Ranking forms (docs/data-formats.md) and written in the July 2024 one:

* July 2024, a JSON array: ``{query_id, query, relevant_moment: [{pair_id, video_name, timestamp, duration, caption,
  similarity, relevance}]}``. A query with no moments is kept: it counts 0.
* April 2024, JSON lines: the same keys flat, one query-moment pair per line.

A run is a JSON array of ``{query_id, query, predictions: [[video, start, end, score]]}``, best first; older runs say
``desc_id`` and ``desc``. The video is a name, or an index into ``video_corpus.json``. Files may be gzipped.

In ground truth and run alike, query ids are strings here; those that look like integers are written as integers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

from models_runner.retrieval.errors import CorpusNeeded, DuplicateQuery, EmptyFile, InvalidRecord, UnknownVideo, at
from models_runner.retrieval.jsonfiles import (
    as_array,
    as_number,
    as_object,
    as_text,
    decode,
    member,
    parse_json,
    parse_json_lines,
    read_bytes,
    shown,
    write_atomically,
)

MAX_RELEVANCE = 4
MAX_TIME_S = 1e9  # beyond any video, and far from where sums overflow
INTEGER_ID = re.compile(r"0|-?[1-9][0-9]{0,17}")  # written back as a number without loss


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
    """A qrel: a moment and its relevance to one query, 0 (unrelated) to 4; fractions are allowed.

    Raises:
        InvalidRecord: a time is no time, or the relevance is outside 0..4.
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


JudgedQuery: TypeAlias = QueryMoments[JudgedMoment]
RankedQuery: TypeAlias = QueryMoments[ScoredMoment]


@dataclass(frozen=True, slots=True)
class VideoCorpus:
    """The videos of a collection: name to duration in seconds, and index to name where the file has indexes."""

    durations_s: Mapping[str, float]
    names: Mapping[int, str]

    def name_of(self, index: int) -> str:
        """The name of the video with ``index``.

        Raises:
            CorpusNeeded: the corpus file gives durations only.
            UnknownVideo: no video has this index.
        """
        if not self.names:
            raise CorpusNeeded(f"video index {index} cannot be translated: this corpus has durations, but no indexes")
        if index not in self.names:
            raise UnknownVideo(f"the corpus has no video with index {shown(index)}")
        return self.names[index]


def moments_by_query(queries: Iterable[QueryMoments[MomentT]]) -> dict[str, tuple[MomentT, ...]]:
    """Query id to moments: what ``metrics.report.evaluate`` takes. Raises DuplicateQuery."""
    moments: dict[str, tuple[MomentT, ...]] = {}
    for query in queries:
        if query.query_id in moments:
            raise DuplicateQuery(f"query {query.query_id} appears more than once")
        moments[query.query_id] = query.moments
    return moments


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


def read_ground_truth(path: Path) -> list[JudgedQuery]:
    """The judged queries of a file, in its order; the form is seen from the first character.

    Raises:
        ScoringError: the file cannot be read, is malformed or is empty; the message names file and place.
    """
    data = read_bytes(path)
    with at(str(path)):
        return parse_ground_truth(data)


def parse_ground_truth(data: bytes) -> list[JudgedQuery]:
    """As ``read_ground_truth``, from plain or gzipped bytes."""
    text = decode(data)
    queries = judged_lines(text) if text.lstrip().startswith("{") else judged_array(text)
    if not queries:
        raise EmptyFile("no queries")
    return queries


def judged_array(text: str) -> list[JudgedQuery]:
    """The July 2024 form."""
    queries: dict[str, JudgedQuery] = {}
    for number, entry in enumerate(query_entries(text, "ground truth"), start=1):
        with at(f"entry {number}"):
            record = as_object(entry, "an entry")
            query_id = as_query_id(member(record, "query_id"))
            if query_id in queries:
                raise DuplicateQuery(f"query {query_id} appeared before")
            with at(f"query {query_id}"):
                moments = judged_moments(as_array(member(record, "relevant_moment"), "relevant_moment"))
                queries[query_id] = QueryMoments(query_id, as_text(member(record, "query"), "query"), moments)
    return list(queries.values())


def judged_moments(rows: list[object]) -> tuple[JudgedMoment, ...]:
    """The moments of one query, in order."""
    moments = []
    for number, row in enumerate(rows, start=1):
        with at(f"moment {number}"):
            moments.append(judged_moment(as_object(row, "a moment")))
    return tuple(moments)


def judged_lines(text: str) -> list[JudgedQuery]:
    """The April 2024 form; a query's lines need not be neighbours."""
    texts: dict[str, str] = {}
    moments: dict[str, list[JudgedMoment]] = {}
    for number, value in parse_json_lines(text):
        with at(f"line {number}"):
            record = as_object(value, "a line")
            query_id = as_query_id(member(record, "query_id", "desc_id"))
            query_text = as_text(member(record, "query", "desc"), "query")
            if texts.setdefault(query_id, query_text) != query_text:
                raise InvalidRecord(f"query {query_id} had another text before")
            moments.setdefault(query_id, []).append(judged_moment(record))
    return [QueryMoments(query_id, texts[query_id], tuple(rows)) for query_id, rows in moments.items()]


def judged_moment(record: dict[str, object]) -> JudgedMoment:
    """One moment of either form; what scoring does not need may be absent."""
    timestamp = as_array(member(record, "timestamp"), "timestamp")
    if len(timestamp) != 2:
        raise InvalidRecord(f"timestamp must be [start, end], got {shown(timestamp)}")
    start, end = (as_number(time, "timestamp") for time in timestamp)
    if end < start:
        raise InvalidRecord(f"the moment ends before it starts: {shown(timestamp)}")
    duration, similarity, caption = record.get("duration"), record.get("similarity"), record.get("caption")
    return JudgedMoment(
        video=as_text(member(record, "video_name"), "video_name"),
        start_s=start,
        end_s=end,
        relevance=as_number(member(record, "relevance"), "relevance"),
        pair_id=as_pair_id(record.get("pair_id")),
        duration_s=None if duration is None else as_number(duration, "duration"),
        caption=None if caption is None else as_text(caption, "caption"),
        similarity=None if similarity is None else as_number(similarity, "similarity"),
    )


def read_run(path: Path, *, corpus: VideoCorpus | None = None) -> list[RankedQuery]:
    """The ranked lists of a run, in the file's order.

    Args:
        path: plain or gzipped JSON.
        corpus: translates video indexes to names; names in the run are taken as they are.

    Raises:
        CorpusNeeded: the run names videos by index and ``corpus`` is missing or has none.
        UnknownVideo: an index is not in the corpus.
        ScoringError: the file cannot be read, is malformed or is empty; the message names file and place.
    """
    data = read_bytes(path)
    with at(str(path)):
        return parse_run(data, corpus=corpus)


def parse_run(data: bytes, *, corpus: VideoCorpus | None = None) -> list[RankedQuery]:
    """As ``read_run``, from bytes: an upload, for example."""
    queries: dict[str, RankedQuery] = {}
    for number, entry in enumerate(query_entries(decode(data), "run"), start=1):
        with at(f"entry {number}"):
            record = as_object(entry, "an entry")
            query_id = as_query_id(member(record, "query_id", "desc_id"))
            if query_id in queries:
                raise DuplicateQuery(f"query {query_id} appeared before")
            with at(f"query {query_id}"):
                moments = scored_moments(as_array(member(record, "predictions"), "predictions"), corpus)
                queries[query_id] = QueryMoments(query_id, as_text(member(record, "query", "desc"), "query"), moments)
    if not queries:
        raise EmptyFile("no queries")
    return list(queries.values())


def scored_moments(rows: list[object], corpus: VideoCorpus | None) -> tuple[ScoredMoment, ...]:
    """The ranked list of one query."""
    moments = []
    for number, row in enumerate(rows, start=1):
        with at(f"prediction {number}"):
            if not isinstance(row, list) or len(row) != 4:
                raise InvalidRecord(f"expected [video, start, end, score], got {shown(row)}")
            start, end = as_number(row[1], "start"), as_number(row[2], "end")
            moments.append(ScoredMoment(video_name(row[0], corpus), start, end, as_number(row[3], "score")))
    return tuple(moments)


def video_name(value: object, corpus: VideoCorpus | None) -> str:
    """A video's name from what a run calls it, name or index."""
    if isinstance(value, bool) or not isinstance(value, int):
        return as_text(value, "video name")
    if corpus is None:
        raise CorpusNeeded(f"video {shown(value)} is an index; give the video corpus that translates it (--corpus)")
    return corpus.name_of(value)


def query_entries(text: str, name: str) -> list[object]:
    """The entries of a file that is one JSON array."""
    if not text.strip():
        raise EmptyFile("no content")
    return as_array(parse_json(text), f"the {name}")


def as_query_id(value: object) -> str:
    """A query id, whole number or string, as a string."""
    if isinstance(value, int) and not isinstance(value, bool):
        return shown(value)
    return as_text(value, "query_id")


def as_pair_id(value: object) -> int | str | None:
    """A pair id as it stands; files number pairs, our own exports name them."""
    if value is None or (isinstance(value, int | str) and not isinstance(value, bool)):
        return value
    raise InvalidRecord(f"pair_id must be a whole number or a string, got {shown(value)}")


def write_run(path: Path, queries: Iterable[RankedQuery]) -> None:
    """Write a run with video names; all or nothing. Raises UnreadableFile."""
    entries = [
        {
            "query_id": written_id(query.query_id),
            "query": query.text,
            "predictions": [[moment.video, moment.start_s, moment.end_s, moment.score] for moment in query.moments],
        }
        for query in queries
    ]
    write_atomically(path, json_lines_array(entries))


def write_ground_truth(path: Path, queries: Iterable[JudgedQuery]) -> None:
    """Write judged queries in the July 2024 form; all or nothing. Raises UnreadableFile."""
    entries = [
        {
            "query_id": written_id(query.query_id),
            "query": query.text,
            "relevant_moment": [written_moment(moment) for moment in query.moments],
        }
        for query in queries
    ]
    write_atomically(path, json_lines_array(entries))


def written_moment(moment: JudgedMoment) -> dict[str, object]:
    """One moment in the July 2024 form, without the keys it has no value for."""
    keys: dict[str, object] = {
        "pair_id": moment.pair_id,
        "video_name": moment.video,
        "timestamp": [moment.start_s, moment.end_s],
        "duration": moment.duration_s,
        "caption": moment.caption,
        "similarity": moment.similarity,
        "relevance": moment.relevance,
    }
    return {key: value for key, value in keys.items() if value is not None}


def written_id(query_id: str) -> int | str:
    """The id as published files spell it: a number where it is one."""
    return int(query_id) if INTEGER_ID.fullmatch(query_id) else query_id


def json_lines_array(entries: Iterable[Mapping[str, object]]) -> str:
    """A JSON array with one entry per line: one file for programs, and diffs that people can read."""
    lines = (json.dumps(entry, ensure_ascii=False, allow_nan=False) for entry in entries)
    return "[\n" + ",\n".join(lines) + "\n]\n"
