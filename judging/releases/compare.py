"""Differences between two releases, by their archives: rows as they are now are not read. Pure but for the archive.

Candidates are frozen, so a query's rank names the same pair in both; the lists are sorted by it and merged.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, NamedTuple, TextIO
from zipfile import ZipFile

from annotation.corpora.importers.base import ImportFileError
from annotation.corpora.importers.files import member_opened, zip_opened
from core.exceptions import ImportRefused
from judging.releases.layout import PAIRS
from judging.releases.reading import BoundedLines, Cells

SETTLED = "settled"
NEEDED = ("query_id", "rank", "pair_id", "query", "video_name", "start", "end", "state", "relevance")
KINDS = {
    "added": "pairs that only the later one has",
    "changed": "in both, with another relevance or state",
    "dropped": "settled before, not any more",
    "settled": "not settled before",
    "removed": "pairs that only the earlier one has",
}


class PairLine(NamedTuple):
    """Values of a line of pairs.csv for comparing."""

    query_id: int
    rank: int
    pair_id: int
    query: str
    moment: str
    state: str
    relevance: str

    @property
    def position(self) -> tuple[int, int]:
        return self.query_id, self.rank

    @property
    def outcome(self) -> str:
        return self.relevance if self.state == SETTLED else self.state


class Change(NamedTuple):
    """One pair that is not in both as it was; ``before`` and ``after`` are relevance or state, empty where it is not
    in that release."""

    kind: str
    query_id: int
    query: str
    pair_id: int
    moment: str
    rank: int
    before: str
    after: str


class Compared:
    """The pairs of two archives, side by side."""

    def __init__(self, before: IO[bytes], after: IO[bytes]) -> None:
        self.sources = (before, after)
        self.kinds: Counter[str | None] = Counter()  # None: the same in both
        self.queries: tuple[set[int], set[int]] = (set(), set())

    def facts(self) -> dict[str, int]:
        """Return the counts of all changes, and of queries that only one of them holds."""
        before, after = self.queries
        changed = {kind: self.kinds[kind] for kind in KINDS}
        queries = {"queries_added": len(after - before), "queries_removed": len(before - after)}
        return {"same": self.kinds[None], **changed, **queries}

    def changes(self) -> Iterator[Change]:
        """Yield every change, by query and rank; ``facts`` are complete when they have been gone through."""
        with ExitStack() as stack:
            for pair in merged(*(pair_lines(stack.enter_context(_archive(source))) for source in self.sources)):
                for numbers, line in zip(self.queries, pair, strict=True):
                    if line:
                        numbers.add(line.query_id)
                kind = kind_of(*pair)
                self.kinds[kind] += 1
                if kind is not None:
                    line = pair[1] or pair[0]
                    assert line is not None  # one of them is there
                    outcomes = (one.outcome if one else "" for one in pair)
                    yield Change(kind, line.query_id, line.query, line.pair_id, line.moment, line.rank, *outcomes)


@contextmanager
def _archive(source: IO[bytes]) -> Iterator[ZipFile]:
    try:
        with zip_opened(source) as archive:
            yield archive
    except ImportFileError as error:
        raise ImportRefused(str(error)) from error


def pair_lines(archive: ZipFile) -> Iterator[PairLine]:
    """The lines of pairs.csv, by query and rank. Raises ImportRefused where there is none in the archive, or a line of
    it cannot be read."""
    try:
        with member_opened(archive, PAIRS) as source, io.TextIOWrapper(source, "utf-8", newline="") as text:
            yield from _pair_lines(text)
    except KeyError as error:
        raise ImportRefused(f"There is no {PAIRS} in the archive.") from error
    except (ImportFileError, csv.Error, UnicodeDecodeError) as error:
        raise ImportRefused(f"{PAIRS} cannot be read: {error}") from error


def _pair_lines(text: TextIO) -> Iterator[PairLine]:
    lines = BoundedLines(text, PAIRS)
    reader = csv.reader(lines)
    columns = next(reader, [])
    if missing := [name for name in NEEDED if name not in columns]:
        raise ImportRefused(f"{PAIRS} has no column {', '.join(missing)}.")
    for cells in reader:
        lines.begin()
        try:
            yield _pair_line(Cells(dict(zip(columns, cells, strict=True))))
        except ValueError as error:
            raise ImportRefused(f"{PAIRS}, line {reader.line_num}: {error}.") from error


def _pair_line(cells: Cells) -> PairLine:
    video, start, end = (cells.text(name) for name in ("video_name", "start", "end"))
    return PairLine(
        query_id=cells.number("query_id"),
        rank=cells.number("rank"),
        pair_id=cells.number("pair_id"),
        query=cells.text("query"),
        moment=f"{video} {start}-{end}" if video else "",
        state=cells.text("state"),
        relevance=cells.text("relevance"),
    )


def merged(before: Iterable[PairLine], after: Iterable[PairLine]) -> Iterator[tuple[PairLine | None, PairLine | None]]:
    """Both lists side by side."""
    before_lines, after_lines = iter(before), iter(after)
    one, two = next(before_lines, None), next(after_lines, None)
    while one or two:
        if two is None or (one and one.position < two.position):
            yield one, None
            one = next(before_lines, None)
        elif one is None or two.position < one.position:
            yield None, two
            two = next(after_lines, None)
        else:
            yield one, two
            one, two = next(before_lines, None), next(after_lines, None)


def kind_of(before: PairLine | None, after: PairLine | None) -> str | None:
    """Return the change of a pair; None where there is none."""
    if before is None or after is None:
        return "added" if before is None else "removed"
    if before.outcome == after.outcome:
        return None
    if before.state == after.state == SETTLED:
        return "changed"
    if before.state == SETTLED:
        return "dropped"
    return "settled" if after.state == SETTLED else "changed"
