"""Moments of many queries as columns: what scoring computes on.

A table is a mapping from query id to moments, so whatever reads one moment at a time reads a table too; its columns are
for numpy. ``metrics.report.evaluate`` takes either.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, repeat
from operator import attrgetter
from typing import Any, Generic, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from moment_retrieval.errors import DuplicateQuery, InvalidRecord, at
from moment_retrieval.records import (
    MAX_RELEVANCE,
    MAX_TIME_S,
    JudgedMoment,
    MomentT,
    QueryMoments,
    ScoredMoment,
)

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Names: TypeAlias = Sequence[str] | Mapping[int, str]


class Spans(NamedTuple):
    """Columns [R]: the video, as a number of the tuple ``names``, and the times."""

    video: Ints
    names: tuple[str, ...]
    start_s: Floats
    end_s: Floats


class Note(NamedTuple):
    """Optional data of a judged moment beside its relevance, see ``JudgedMoment``."""

    pair_id: int | str | None = None
    duration_s: float | None = None
    caption: str | None = None
    similarity: float | None = None


@dataclass(frozen=True, eq=False)
class MomentTable(Mapping[str, tuple[MomentT, ...]], Generic[MomentT]):
    """The moments of Q queries, R rows in all, one query after the other.

    Raises:
        DuplicateQuery: a query id appears twice.
        InvalidRecord: a time or relevance is out of range (the message names query and place), or the columns
            differ in length.
    """

    query_ids: tuple[str, ...]  # [Q], each once
    offsets: Ints  # [Q + 1]; query ``i`` has the rows from ``offsets[i]`` up to ``offsets[i + 1]``
    spans: Spans  # columns [R]
    weights: Floats  # [R], the score of a retrieved moment, the relevance of a judged one
    texts: tuple[str, ...] = ()  # [Q], what the queries say; empty where they are not known
    lines: tuple[int, ...] = ()  # [Q], where each query begins in its file; empty where there was none

    row_name = "moment"
    weight_name = "relevance"

    def __post_init__(self) -> None:
        columns = (self.spans.video, self.spans.start_s, self.spans.end_s, self.weights)
        if {len(column) for column in columns} != {int(self.offsets[-1])}:
            raise InvalidRecord("the columns of a table differ in length")
        if len(self.offsets) != len(self.query_ids) + 1 or len(self.texts) not in (0, len(self.query_ids)):
            raise InvalidRecord("the table has not one entry for each query")
        if len(self.row_of) < len(self.query_ids):
            twice = next(name for number, name in enumerate(self.query_ids) if self.row_of[name] != number)
            raise DuplicateQuery(f"query {twice} appears more than once")
        for times in (self.spans.start_s, self.spans.end_s):
            self.check(np.abs(times) <= MAX_TIME_S, "times must be finite, in seconds", times)

    def check(self, good: Flags, rule: str, column: Floats) -> None:
        """Raise InvalidRecord for the first row that is not good; NaN never is."""
        if good.all():
            return
        row = int(np.argmin(good))
        query = int(np.searchsorted(self.offsets, row, side="right")) - 1
        with at(f"query {self.query_ids[query]}"), at(f"{self.row_name} {row - int(self.offsets[query]) + 1}"):
            raise InvalidRecord(f"{rule}, got {column[row]}")

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Query id to its number."""
        return {query_id: number for number, query_id in enumerate(self.query_ids)}

    @cached_property
    def query(self) -> Ints:
        """[R] the number of each row's query."""
        return np.repeat(np.arange(len(self.query_ids)), np.diff(self.offsets))

    @cached_property
    def order(self) -> Ints:
        """[R] the place of each row in its query, from 0."""
        return np.arange(int(self.offsets[-1])) - np.repeat(self.offsets[:-1], np.diff(self.offsets))

    def __getitem__(self, query_id: str) -> tuple[MomentT, ...]:
        return tuple(map(self.moment, self.rows_of(query_id)))

    def __contains__(self, query_id: object) -> bool:
        return query_id in self.row_of  # the mapping's own would make the moments

    def __iter__(self) -> Iterator[str]:
        return iter(self.query_ids)

    def __len__(self) -> int:
        return len(self.query_ids)

    def rows_of(self, query_id: str) -> range:
        number = self.row_of[query_id]
        return range(int(self.offsets[number]), int(self.offsets[number + 1]))

    @abstractmethod
    def moment(self, row: int) -> MomentT:
        """One row as a record."""

    def taken(self, rows: Ints | Flags) -> Self:
        """The same queries with some of their rows: their numbers, sorted by query, or a flag for each row."""
        sizes = np.bincount(self.query[rows], minlength=len(self))
        spans = Spans(self.spans.video[rows], self.spans.names, self.spans.start_s[rows], self.spans.end_s[rows])
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return replace(self, offsets=offsets, spans=spans, weights=self.weights[rows])

    def span(self, row: int) -> tuple[str, float, float]:
        """(video, start, end) of one row."""
        spans = self.spans
        return spans.names[spans.video[row]], float(spans.start_s[row]), float(spans.end_s[row])

    @classmethod
    def from_arrays(
        cls,
        query_ids: Iterable[object],
        videos: ArrayLike,
        start_s: ArrayLike,
        end_s: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        names: Names | None = None,
    ) -> Self:
        """A table from arrays, as a training loop holds them.

        Args:
            query_ids: [Q], numbers or strings.
            videos: [Q, N] whole numbers, best first; a negative one says that there is no moment.
            start_s, end_s: [Q, N] seconds.
            weights: [Q, N] relevance, or scores, which a run may leave out.
            names: how the videos are called; without it, by their numbers.
        """
        ids, number = tuple(map(str, query_ids)), np.asarray(videos)
        columns = [np.asarray(column, np.float64) for column in (start_s, end_s)]
        columns.append(np.zeros(number.shape) if weights is None else np.asarray(weights, np.float64))
        if number.ndim != 2 or len(number) != len(ids) or any(column.shape != number.shape for column in columns):
            shapes = [array.shape for array in (number, *columns)]
            raise InvalidRecord(f"expected arrays of {len(ids)} queries by moments, got the shapes {shapes}")
        mask = number >= 0
        video, video_names = coded(number[mask], names)
        start, end, weight = (column[mask] for column in columns)
        return cls(ids, np.cumsum([0, *mask.sum(axis=1)]), Spans(video, video_names, start, end), weight)

    @classmethod
    def from_moments(cls, queries: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Self:
        """A table from records by query id, or from arrays [N, 3 or 4] of video number, start, end, weight."""
        if isinstance(queries, cls):
            return queries
        offsets = np.cumsum([0, *map(len, queries.values())])
        if any(isinstance(rows, np.ndarray) for rows in queries.values()):
            return cls(tuple(queries), offsets, *columns_of_arrays(queries))
        moments = list(chain.from_iterable(queries.values()))
        names = list(dict.fromkeys(moment.video for moment in moments))
        codes = {name: code for code, name in enumerate(names)}
        video = np.fromiter((codes[moment.video] for moment in moments), np.int64, len(moments))
        spans = Spans(video, tuple(names), column(moments, "start_s"), column(moments, "end_s"))
        weighed = not moments or hasattr(moments[0], cls.weight_name)  # plain spans have no score
        weights = column(moments, cls.weight_name) if weighed else np.zeros(len(moments))
        return cls(tuple(queries), offsets, spans, weights)

    @classmethod
    def from_queries(cls, queries: Iterable[QueryMoments[MomentT]]) -> Self:
        """A table with the texts of the queries. Raises DuplicateQuery."""
        moments: dict[str, tuple[MomentT, ...]] = {}
        texts = []
        for query in queries:
            if query.query_id in moments:
                raise DuplicateQuery(f"query {query.query_id} appears more than once")
            moments[query.query_id] = query.moments
            texts.append(query.text)
        return replace(cls.from_moments(moments), texts=tuple(texts))


def queries_of(table: MomentTable[MomentT]) -> list[QueryMoments[MomentT]]:
    texts = table.texts or ("",) * len(table)
    return [QueryMoments(query_id, text, table[query_id]) for query_id, text in zip(table, texts, strict=True)]


class RunTable(MomentTable[ScoredMoment]):
    """Predictions of a system, best first; ``weights`` are the scores, carried along and never read."""

    row_name = "prediction"
    weight_name = "score"

    def moment(self, row: int) -> ScoredMoment:
        return ScoredMoment(*self.span(row), float(self.weights[row]))


@dataclass(frozen=True, eq=False)
class JudgedTable(MomentTable[JudgedMoment]):
    """Judged moments; ``weights`` are the relevance."""

    kinds: tuple[str, ...] = ()  # [Q], the type of each query (TVR: v, t, vt); empty where they have none
    notes: tuple[Note, ...] = ()  # [R], what else a file says of each moment; empty where it says nothing

    def __post_init__(self) -> None:
        super().__post_init__()
        good = (self.weights >= 0) & (self.weights <= MAX_RELEVANCE)
        self.check(good, f"relevance must be from 0 to {MAX_RELEVANCE}", self.weights)

    def taken(self, rows: Ints | Flags) -> Self:
        numbers = np.arange(len(self.weights))[rows].tolist()
        return replace(super().taken(rows), notes=tuple(self.notes[row] for row in numbers) if self.notes else ())

    def moment(self, row: int) -> JudgedMoment:
        relevance = float(self.weights[row])
        moment = JudgedMoment(*self.span(row), int(relevance) if relevance.is_integer() else relevance)
        return replace(moment, **self.notes[row]._asdict()) if self.notes else moment

    @classmethod
    def from_queries(cls, queries: Iterable[QueryMoments[JudgedMoment]]) -> Self:
        """A table with texts and notes. Raises DuplicateQuery."""
        query_list = list(queries)
        notes = (Note(m.pair_id, m.duration_s, m.caption, m.similarity) for query in query_list for m in query.moments)
        return replace(super().from_queries(query_list), notes=tuple(notes))


def column(moments: Sequence[Any], name: str) -> Floats:
    """One attribute of every record."""
    return np.fromiter(map(attrgetter(name), moments), np.float64, len(moments))


def coded(numbers: NDArray[Any], names: Names | None) -> tuple[Ints, tuple[str, ...]]:
    """Video numbers as codes from 0, and how each code is called."""
    if numbers.size and not np.issubdtype(numbers.dtype, np.integer):
        raise InvalidRecord(f"videos must be whole numbers, got {numbers.dtype}")
    unique, codes = np.unique(numbers, return_inverse=True)
    if names is None:
        return codes, tuple(map(str, unique.tolist()))
    try:
        return codes, tuple(names[number] for number in unique.tolist())
    except (IndexError, KeyError) as error:
        raise InvalidRecord(f"no name for the video with the number {error.args[0]}") from error


def columns_of_arrays(queries: Mapping[str, Any]) -> tuple[Spans, Floats]:
    """Spans and weights of arrays [N, 3 or 4]; without a fourth column every weight is 0."""
    parts = [np.empty((0, 4))]
    for query_id, rows in queries.items():
        array = np.asarray(rows, np.float64)
        if len(array) and (array.ndim != 2 or array.shape[1] not in (3, 4)):
            raise InvalidRecord(f"query {query_id}: expected video, start, end, weight, got the shape {array.shape}")
        if len(array):
            parts.append(np.pad(array, ((0, 0), (0, 4 - array.shape[1]))))
    flat = np.concatenate(parts)
    if not (flat[:, 0] % 1 == 0).all():  # also for NaN and infinity
        raise InvalidRecord("videos must be whole numbers")
    spans = Spans(*coded(flat[:, 0].astype(np.int64), None), flat[:, 1].copy(), flat[:, 2].copy())
    return spans, flat[:, 3].copy()


def recoded(spans: Spans, names: Sequence[str]) -> Ints:
    """The videos of ``spans`` as numbers of ``names``; -1 for one that is not among them."""
    if spans.names == names:
        return spans.video
    code_by_name = {name: code for code, name in enumerate(names)}
    codes = np.fromiter(map(code_by_name.get, spans.names, repeat(-1)), np.int64, len(spans.names))
    return codes[spans.video] if len(codes) else spans.video


def similarity_labelled(judged: JudgedTable) -> JudgedTable:
    """The same moments with other grades: of all pairs of the table, the most similar get the highest.

    So pseudo labels would grade what people judged (docs/benchmark-tables.md).

    Each grade is given as often as people gave it; pairs that are equally similar get the same, the lowest of those
    that are due to them. A pair without a similarity comes last.
    """
    similarities = [note.similarity for note in judged.notes] if judged.notes else [None] * len(judged.weights)
    return replace(judged, weights=graded(similarities, judged.weights))


def graded(similarities: Iterable[float | None], grades: Floats) -> Floats:
    """[R] the grades, handed out anew by similarity.

    Args:
        similarities: [R]; None where it is not known.
        grades: [R], how often each is given.
    """
    by = np.array([-np.inf if value is None else value for value in similarities], np.float64)
    order = np.argsort(-by, kind="stable")
    due = np.empty(len(by))
    due[order] = np.sort(grades)[::-1]
    _, group = np.unique(by, return_inverse=True)
    lowest = np.full(len(by), np.inf)
    np.minimum.at(lowest, group, due)
    return lowest[group]
