"""Training samples: the query-moment pairs of a ``train_topN.json``, as columns.

The file of N = 40 has 2.8 million pairs in 800 MB, so it is read query by query and only numbers are kept.
"""

from __future__ import annotations

import gzip
import json
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.entries import MAX_VALUE
from moment_retrieval.errors import EmptyFile, InvalidRecord, MalformedFile, UnreadableFile, at
from moment_retrieval.formats.tvr_ranking import as_query_id
from moment_retrieval.jsonfiles import GZIP_MAGIC, as_array, as_number, as_object, member, shown
from moment_retrieval.records import MAX_TIME_S, VideoCorpus, video_name

BLOCK = 2**20  # characters read at once
BETWEEN = re.compile(r"[ \t\r\n,]*")
DECODER = json.JSONDecoder()
Ints: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]


class NoTrainingQueries(EmptyFile):
    """There is nothing to learn from."""


@dataclass(frozen=True, eq=False)
class TrainRows:
    """R pairs of a query and one of its moments, a query's best first."""

    query_ids: tuple[str, ...]  # how the numbers in ``query`` are called
    video_names: tuple[str, ...]  # how those in ``video`` are called
    query: Ints  # [R]
    video: Ints  # [R]
    start_s: Floats  # [R] seconds
    end_s: Floats  # [R] seconds
    similarity: Floats  # [R], 0 to 1

    def __len__(self) -> int:
        return len(self.query)

    def taken(self, rows: Any) -> TrainRows:
        """Some of the rows."""
        columns = {name: getattr(self, name)[rows] for name in ("query", "video", "start_s", "end_s", "similarity")}
        return replace(self, **columns)

    def shuffled_links(self, seed: int) -> TrainRows:
        """The same with every query given the moments of another, nobody its own (one query keeps them)."""
        order = np.random.default_rng([seed, 1]).permutation(len(self.query_ids))
        other = np.empty_like(order)
        other[order] = np.roll(order, 1)
        return replace(self, query=other[self.query])


@dataclass
class _Columns:
    """Rows while they are read."""

    top_n: int
    corpus: VideoCorpus | None
    queries: dict[str, int] = field(default_factory=dict)
    videos: dict[str, int] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    numbers: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))

    def add(self, record: dict[str, object]) -> None:
        """A query with its moments (July 2024), or one pair (April 2024)."""
        query_id = as_query_id(member(record, "query_id", "desc_id"))
        number = self.queries.setdefault(query_id, len(self.queries))
        if number == len(self.counts):
            self.counts.append(0)
        moments = as_array(record["relevant_moment"], "relevant_moment") if "relevant_moment" in record else [record]
        with at(f"query {query_id}"):
            for position, moment in enumerate(moments[: self.top_n - self.counts[number]], start=1):
                with at(f"moment {position}"):
                    self._add(number, as_object(moment, "a moment"))

    def _add(self, query: int, moment: dict[str, object]) -> None:
        name = video_name(member(moment, "video_name"), self.corpus)
        times = as_array(member(moment, "timestamp"), "timestamp")
        if len(times) != 2:
            raise InvalidRecord(f"timestamp must be [start, end], got {shown(times)}")
        start, end = (as_number(time, "a time") for time in times)
        similarity = as_number(moment.get("similarity", 1.0), "similarity")
        if not (0 <= start <= MAX_TIME_S and end <= MAX_TIME_S):
            raise InvalidRecord(f"times must be seconds from 0, got {shown(times)}")
        self.numbers.extend((query, self.videos.setdefault(name, len(self.videos))))
        self.values.extend((start, end, similarity))
        self.counts[query] += 1

    def rows(self) -> TrainRows:
        numbers = np.frombuffer(self.numbers, np.int64).reshape(-1, 2) if self.numbers else np.empty((0, 2), np.int64)
        values = np.frombuffer(self.values, np.float64).reshape(-1, 3) if self.values else np.empty((0, 3))
        query, video = (np.ascontiguousarray(column) for column in numbers.T)
        start, end, similarity = (np.ascontiguousarray(column) for column in values.T)
        return TrainRows(tuple(self.queries), tuple(self.videos), query, video, start, end, similarity)


def read_training(path: Path, top_n: int, corpus: VideoCorpus | None = None) -> TrainRows:
    """The ``top_n`` first moments of every query.

    Args:
        path: a file of N = ``top_n`` or more, plain or gzipped, of July (an array) or April 2024 (JSON lines).
        corpus: translates indexes of videos, and refuses names it does not have.

    Raises:
        NoTrainingQueries: there are none, or none has a moment.
        ScoringError: the file cannot be used; the message names file, query and moment.
    """
    columns = _Columns(top_n, corpus)
    with at(str(path)):
        try:
            with _opened(path) as stream:
                for number, record in enumerate(_objects(stream), start=1):
                    with at(f"entry {number}"):
                        columns.add(as_object(record, "an entry"))
        except (OSError, EOFError) as error:
            raise UnreadableFile(getattr(error, "strerror", None) or str(error)) from error
        except UnicodeDecodeError as error:
            raise MalformedFile(f"not UTF-8 text: {error.reason}") from error
        rows = columns.rows()
        if not len(rows):
            raise NoTrainingQueries("there are no training queries, or none of them has a moment")
        return rows


def _opened(path: Path) -> IO[str]:
    with path.open("rb") as file:
        packed = file.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    return gzip.open(path, "rt", encoding="utf-8-sig") if packed else path.open(encoding="utf-8-sig")


def _objects(stream: IO[str]) -> Iterator[object]:
    """The elements of a JSON array, or the values of JSON lines, few of them in memory at once."""
    text = stream.read(BLOCK)
    position = _beyond_gap(text, 0)
    in_array, ended = text.startswith("[", position), False
    position += in_array
    while True:
        position = _beyond_gap(text, position)
        if in_array and text.startswith("]", position):
            return
        try:
            value, end = DECODER.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError) as error:
            if ended and position == len(text) and not in_array:
                return
            if ended or len(text) - position > MAX_VALUE:
                raise MalformedFile("not JSON, cut off, or a value too large for a query with its moments") from error
            block = stream.read(BLOCK)  # the value may go on there
            text, position, ended = text[position:] + block, 0, not block
            continue
        yield value
        position = end


def _beyond_gap(text: str, position: int) -> int:
    match = BETWEEN.match(text, position)
    return position if match is None else match.end()
