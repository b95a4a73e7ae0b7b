"""Differences between two releases, by their archives: rows as they are now are not read. Pure but for the archive.

Candidates are frozen, so a query's rank names the same pair in both; the lists are sorted by it and merged.
"""

import io
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from heapq import merge
from itertools import groupby
from operator import attrgetter
from typing import IO, NamedTuple
from zipfile import ZipFile

from annotation.corpora.importers.base import ImportFileError
from annotation.corpora.importers.files import member_opened, zip_opened
from core.exceptions import ImportRefused
from judging.releases.layout import PAIRS
from judging.releases.reading import Cells, csv_rows

SETTLED = "settled"
POSITION = attrgetter("query_id", "rank")
NEEDED = ("query_id", "rank", "pair_id", "query", "video_name", "start", "end", "state", "relevance")
KINDS = {
    "added": "pairs that only the later one has",
    "changed": "in both, with another relevance or state",
    "dropped": "settled before, not any more",
    "settled": "not settled before",
    "removed": "pairs that only the earlier one has",
}


class PairLine(NamedTuple):
    """Values of a line of pairs.csv for comparing; ``is_after``: of the later release."""

    is_after: bool
    query_id: int
    rank: int
    pair_id: int
    query: str
    moment: str
    state: str
    relevance: str

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
            before, after = (stack.enter_context(_archive(source)) for source in self.sources)
            lines = merge(pair_lines(before, is_after=False), pair_lines(after, is_after=True), key=POSITION)
            for _, pair in groupby(lines, key=POSITION):
                by_side = {line.is_after: line for line in pair}
                for is_after, line in by_side.items():
                    self.queries[is_after].add(line.query_id)
                kind = kind_of(by_side.get(False), by_side.get(True))
                self.kinds[kind] += 1
                if kind is not None:
                    line = by_side.get(True) or by_side[False]
                    outcomes = (by_side[side].outcome if side in by_side else "" for side in (False, True))
                    yield Change(kind, line.query_id, line.query, line.pair_id, line.moment, line.rank, *outcomes)


@contextmanager
def _archive(source: IO[bytes]) -> Iterator[ZipFile]:
    try:
        with zip_opened(source) as archive:
            yield archive
    except ImportFileError as error:
        raise ImportRefused(str(error)) from error


def pair_lines(archive: ZipFile, *, is_after: bool) -> Iterator[PairLine]:
    """The lines of pairs.csv, by query and rank. Raises ImportRefused where there is none in the archive, or a line of
    it cannot be read."""
    try:
        with member_opened(archive, PAIRS) as source, io.TextIOWrapper(source, "utf-8", newline="") as text:
            yield from csv_rows(text, PAIRS, _check_columns, partial(_pair_line, is_after), _refuse)
    except KeyError as error:
        raise ImportRefused(f"There is no {PAIRS} in the archive.") from error
    except ImportFileError as error:
        raise ImportRefused(f"{PAIRS} cannot be read: {error}") from error


def _check_columns(columns: list[str]) -> None:
    if missing := [name for name in NEEDED if name not in columns]:
        raise ImportRefused(f"{PAIRS} has no column {', '.join(missing)}.")


def _refuse(line: int, error: ValueError) -> None:
    raise ImportRefused(f"{PAIRS}, line {line}: {error}.") from error


def _pair_line(is_after: bool, cells: Cells) -> PairLine:
    video, start, end = (cells.text(name) for name in ("video_name", "start", "end"))
    return PairLine(
        is_after,
        query_id=cells.number("query_id"),
        rank=cells.number("rank"),
        pair_id=cells.number("pair_id"),
        query=cells.text("query"),
        moment=f"{video} {start}-{end}" if video else "",
        state=cells.text("state"),
        relevance=cells.text("relevance"),
    )


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
