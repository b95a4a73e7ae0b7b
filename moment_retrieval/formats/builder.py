"""Base of all readers: moments are checked, collected into columns, and made a table."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from typing import IO, NamedTuple, TypeAlias

import numpy as np

from moment_retrieval.errors import DuplicateQuery, EmptyFile, InvalidRecord, UnreadableFile, at
from moment_retrieval.jsonfiles import as_number, as_text, read_whole, shown, text_of, unpacked
from moment_retrieval.records import MAX_RELEVANCE, MAX_TIME_S, VideoCorpus, video_name
from moment_retrieval.tables import Floats, Ints, JudgedTable, Note, RunTable, Spans

PLAIN_VIDEOS, PLAIN_NUMBERS = {str, int}, {int, float}
MAX_QUERIES, MAX_MOMENTS = 1_000_000, 5_000_000  # of a file; 100,000 queries with 40 moments have 4 million


def unwatched() -> None:
    """Let it be read to its end."""


@dataclass(frozen=True)
class SourceFile:
    """A file's bytes, and what is needed to make sense of them."""

    data: bytes
    corpus: VideoCorpus | None = None  # translates video indexes to names, and knows which videos there are
    strict: bool = True  # refuse retrieved moments that end before they start, and of unknown videos
    task: str = "VCMR"  # which of a TVR submission's lists
    most: int = MAX_MOMENTS  # how many moments a query may have
    watch: Callable[[], None] = unwatched  # called for every query and row; what it raises ends the reading
    top_grade: int = MAX_RELEVANCE  # the highest relevance that ground truth may have
    read: Callable[[IO[bytes]], bytes] = read_whole  # reads what a packed file holds, within limits of its own

    @cached_property
    def text(self) -> str:
        return text_of(self.plain)

    @cached_property
    def plain(self) -> bytes:
        return unpacked(self.data, self.read)


class Rows(NamedTuple):
    """The moments of one query as a file has them; ``weight`` is the score or the relevance."""

    video: Sequence[object]
    start: Sequence[object]
    end: Sequence[object]
    weight: Sequence[object]

    @classmethod
    def of(cls, moments: Sequence[Sequence[object]]) -> Rows:
        return cls(*zip(*moments, strict=True)) if moments else cls((), (), (), ())


Locate: TypeAlias = Callable[[int], at]  # of the row with this number


@dataclass
class Builder:
    """The moments of query after query, as columns."""

    source: SourceFile
    judged: bool = False  # whether the weights are relevance; then moments may not end before they start
    # a file's own names of its videos, in place of the source's corpus
    translate: Callable[[object], str] | None = None
    numbers: dict[str, int] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=lambda: [0])
    codes: dict[object, int] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    video: array[int] = field(default_factory=lambda: array("q"))
    numeric: tuple[array[float], ...] = field(default_factory=lambda: (array("d"), array("d"), array("d")))
    notes: list[Note] = field(default_factory=list)

    def query(self, query_id: str, text: str, line: int) -> None:
        """Begin a query. Raises DuplicateQuery."""
        self.source.watch()
        if query_id in self.numbers:
            raise DuplicateQuery(f"query {query_id} appeared before, in line {self.lines[self.numbers[query_id]]}")
        check_count(len(self.numbers), MAX_QUERIES, "queries")
        self.numbers[query_id] = len(self.numbers)
        self.texts.append(text)
        self.lines.append(line)
        self.sizes.append(0)

    def add(self, rows: Rows, locate: Locate, notes: Iterable[Note] = ()) -> None:
        """Take the moments of the query last begun. Raises ScoringError with the place of the row."""
        if len(rows.video) > self.source.most:
            with locate(self.source.most):
                raise UnreadableFile(f"more than {self.source.most} moments of one query")
        numeric = numbers_of(rows, judged=self.judged, source=self.source)
        if numeric is None:
            for number, row in enumerate(zip(*rows, strict=True)):
                with locate(number):
                    self.check(*row)
            numeric = np.array(rows[1:], np.float64)
        codes = [self.codes.get(video, -1) for video in rows.video]
        for number in (number for number, code in enumerate(codes) if code < 0):
            with locate(number):
                codes[number] = self.code(rows.video[number])
        check_count(len(self.video) + len(codes) - 1, MAX_MOMENTS, "moments")
        self.sizes[-1] += len(codes)
        self.video.extend(codes)
        self.notes.extend(notes)
        for buffer, column in zip(self.numeric, numeric, strict=True):
            buffer.frombytes(column.tobytes())

    def check(self, video: object, start: object, end: object, weight: object) -> None:
        """Raise InvalidRecord for what is no moment."""
        if isinstance(video, bool) or not isinstance(video, int):
            as_text(video, "video name")
        first, last = as_number(start, "start"), as_number(end, "end")
        value = as_number(weight, "relevance" if self.judged else "score")
        if not (abs(first) <= MAX_TIME_S and abs(last) <= MAX_TIME_S):
            raise InvalidRecord(f"times must be finite, in seconds, got {shown(start)} to {shown(end)}")
        if last < first and (self.judged or self.source.strict):
            raise InvalidRecord(f"the moment ends before it starts: {shown([start, end])}")
        if self.judged and not 0 <= value <= self.source.top_grade:
            raise InvalidRecord(f"relevance must be from 0 to {self.source.top_grade}, got {shown(weight)}")

    def code(self, video: object) -> int:
        """The number of a video, called as the file calls it."""
        strict = self.judged or self.source.strict
        name = self.translate(video) if self.translate else video_name(video, self.source.corpus, strict=strict)
        return self.codes.setdefault(video, self.names.setdefault(name, len(self.names)))

    def run(self) -> RunTable:
        """The table of a run. Raises EmptyFile."""
        return RunTable(*self.columns())

    def truth(self, kinds: Iterable[str] = ()) -> JudgedTable:
        """The table of judged moments. Raises EmptyFile."""
        return JudgedTable(*self.columns(), tuple(kinds), tuple(self.notes))

    def columns(self) -> tuple[tuple[str, ...], Ints, Spans, Floats, tuple[str, ...], tuple[int, ...]]:
        if not self.numbers:
            raise EmptyFile("no queries")
        start, end, weights = (np.array(column, np.float64) for column in self.numeric)
        spans = Spans(np.array(self.video, np.int64), tuple(self.names), start, end)
        return tuple(self.numbers), np.cumsum(self.sizes), spans, weights, tuple(self.texts), tuple(self.lines)


def check_count(count: int, most: int, what: str) -> None:
    """Raise UnreadableFile unless one more may come."""
    if count >= most:
        raise UnreadableFile(f"more than {most} {what}")


def numbers_of(rows: Rows, *, judged: bool, source: SourceFile) -> Floats | None:
    """[3, rows] times and weights where all are plainly right; None asks for a look at each row."""
    plain = set(map(type, rows.video)) <= PLAIN_VIDEOS
    if not (plain and set(map(type, chain(rows.start, rows.end, rows.weight))) <= PLAIN_NUMBERS):
        return None
    try:
        numbers = np.array(rows[1:], np.float64)
    except OverflowError:
        return None
    start, end, weight = numbers
    good = (np.abs(numbers[:2]) <= MAX_TIME_S).all() and np.isfinite(weight).all()
    if judged:
        good = good and ((weight >= 0) & (weight <= source.top_grade)).all()
    return numbers if good and (not (judged or source.strict) or (start <= end).all()) else None


@dataclass
class Groups:
    """The moments of a file with one a row, whose rows need not be neighbours: columns, sorted by query at the end."""

    kind: str = "line"  # what a row is called: line, or row
    watch: Callable[[], None] = unwatched  # called for every row, as that of the source
    # query id to its number; ``texts`` and ``first`` (rows) are by that
    numbers: dict[str, int] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    query: array[int] = field(default_factory=lambda: array("q"))
    row: array[int] = field(default_factory=lambda: array("q"))
    video: list[object] = field(default_factory=list)
    videos: dict[str, str] = field(default_factory=dict)  # each name once, however often it is said
    numeric: tuple[array[float], ...] = field(default_factory=lambda: (array("d"), array("d"), array("d")))
    # what the moments of a query are sorted by, first the first; equals stay as they stand
    keys: tuple[array[float], ...] = field(default_factory=lambda: (array("d"), array("d")))
    notes: list[Note] = field(default_factory=list)

    def add(
        self,
        query_id: str,
        text: str,
        row: int,
        moment: tuple[object, float, float, float],
        *notes: Note,
        key: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        """Take video, start, end, weight. Raises InvalidRecord if the query had another text before."""
        self.watch()
        check_count(len(self.row), MAX_MOMENTS, "moments")
        number = self.numbers.get(query_id)
        if number is None:
            check_count(len(self.numbers), MAX_QUERIES, "queries")
            number = self.numbers[query_id] = len(self.numbers)
            self.texts.append(text)
            self.first.append(row)
        if self.texts[number] != text:
            raise InvalidRecord(f"query {query_id} had another text before, in {self.kind} {self.first[number]}")
        video, *values = moment
        self.video.append(self.videos.setdefault(video, video) if isinstance(video, str) else video)
        self.query.append(number)
        self.row.append(row)
        for column, value in zip((*self.numeric, *self.keys), (*values, *key), strict=True):
            column.append(value)
        self.notes.extend(notes)

    def filled(self, builder: Builder) -> Builder:
        """The builder with every query's moments."""
        query = np.array(self.query, np.int64)
        order = np.lexsort((*(np.array(key, np.float64) for key in reversed(self.keys)), query))
        ends = np.cumsum(np.bincount(query, minlength=len(self.numbers)))
        columns = [np.array(column, np.float64)[order] for column in self.numeric]
        start = 0
        for number, (query_id, end) in enumerate(zip(self.numbers, ends.tolist(), strict=True)):
            some = order[start:end].tolist()
            rows = Rows([self.video[row] for row in some], *(column[start:end].tolist() for column in columns))
            builder.query(query_id, self.texts[number], self.first[number])
            builder.add(rows, partial(self.locate, some), [self.notes[row] for row in some] if self.notes else ())
            start = end
        return builder

    def locate(self, some: Sequence[int], number: int) -> at:
        return at(f"{self.kind} {self.row[some[number]]}")
