"""Differences between two releases, by their archives: rows as they are now are not read. Pure but for the archive.

Candidates are frozen, so a query's rank names the same pair in both.
"""

import io
from collections import Counter
from collections.abc import Iterator
from typing import IO, NamedTuple

from annotation.corpora.importers.base import ImportFileError
from annotation.corpora.importers.files import member_opened, zip_opened
from core.exceptions import ImportRefused
from judging.releases.layout import PAIRS
from judging.releases.reading import Cells, csv_rows

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
        before, after = ({(line.query_id, line.rank): line for line in pair_lines(source)} for source in self.sources)
        self.queries = ({query for query, _ in before}, {query for query, _ in after})
        for position in sorted(before.keys() | after.keys()):
            old, new = before.get(position), after.get(position)
            kind = kind_of(old, new)
            self.kinds[kind] += 1
            line = new or old
            if kind is not None and line is not None:
                outcomes = (old.outcome if old else "", new.outcome if new else "")
                yield Change(kind, line.query_id, line.query, line.pair_id, line.moment, line.rank, *outcomes)


def pair_lines(source: IO[bytes]) -> Iterator[PairLine]:
    """The lines of pairs.csv in an archive. Raises ImportRefused where there is none, or a line cannot be read."""
    try:
        with (
            zip_opened(source) as archive,
            member_opened(archive, PAIRS) as member,
            io.TextIOWrapper(member, "utf-8", newline="") as text,
        ):
            yield from csv_rows(text, PAIRS, _check_columns, _pair_line, _refuse)
    except KeyError as error:
        raise ImportRefused(f"There is no {PAIRS} in the archive.") from error
    except ImportFileError as error:
        raise ImportRefused(f"{PAIRS} cannot be read: {error}") from error


def _check_columns(columns: list[str]) -> None:
    if missing := [name for name in NEEDED if name not in columns]:
        raise ImportRefused(f"{PAIRS} has no column {', '.join(missing)}.")


def _refuse(line: int, error: ValueError) -> None:
    raise ImportRefused(f"{PAIRS}, line {line}: {error}.") from error


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
