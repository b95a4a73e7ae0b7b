"""Our own form, as CSV and as Parquet: one row for each moment, under names of columns.

Needed are ``query_id``, ``video_name``, ``start``, ``end`` and, in a run, ``score``, in ground truth ``relevance``. A
query's rows need not be neighbours; their order is the ranking, unless there is a column ``rank``. ``query`` (the text)
and ``type`` (TVR: v, t, vt) may be there; other columns are not read. A query without moments has no row.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from moment_retrieval.entries import lines_of
from moment_retrieval.errors import EmptyFile, InvalidRecord, MalformedFile, at
from moment_retrieval.formats.builder import Builder, Groups, SourceFile
from moment_retrieval.formats.parquet import Row, check_names, parquet_bytes, parquet_rows
from moment_retrieval.jsonfiles import as_text, number_from
from moment_retrieval.tables import JudgedTable, RunTable

MOMENT = ("query_id", "video_name", "start", "end")
RUN, TRUTH = (*MOMENT, "score"), (*MOMENT, "relevance")
OPTIONAL = ("query", "type", "rank")
TEXTS = ("query_id", "video_name", "query", "type")


def rows_of(source: SourceFile, needed: Sequence[str], kind: str) -> Iterator[Row]:
    """The rows of a file; ``kind`` is how they are called: lines are those of CSV, rows those of Parquet."""
    if kind == "line":
        return csv_rows(source.text, needed)
    return parquet_rows(source.plain, needed, OPTIONAL, TEXTS)


def read_run(source: SourceFile, kind: str = "line") -> RunTable:
    """A run. Raises ScoringError with the line or row."""
    groups = Groups(kind, source.watch)
    for row, cells in rows_of(source, RUN, kind):
        with at(f"{kind} {row}"):
            added(groups, row, cells, "score")
    return groups.filled(Builder(source)).run()


def read_ground_truth(source: SourceFile, kind: str = "line") -> JudgedTable:
    """Judged moments. Raises ScoringError with the line or row."""
    groups = Groups(kind, source.watch)
    kinds: dict[str, str] = {}
    for row, cells in rows_of(source, TRUTH, kind):
        with at(f"{kind} {row}"):
            query_id = added(groups, row, cells, "relevance")
            kinds[query_id] = str(cells.get("type") or "")
    return groups.filled(Builder(source, judged=True)).truth(kinds.values() if all(kinds.values()) else ())


def added(groups: Groups, row: int, cells: Mapping[str, object], weight: str) -> str:
    """Take the moment of one row; returns its query's id."""
    name = cells["query_id"]
    query_id = str(name) if type(name) is int else as_text(name, "query_id")
    start, end, value = (number_from(cells[column], column) for column in ("start", "end", weight))
    moment = (as_text(cells["video_name"], "video_name"), start, end, value)
    rank = number_from(cells["rank"], "rank") if weight == "score" and "rank" in cells else 0.0
    groups.add(query_id, str(cells.get("query") or ""), row, moment, key=(rank, 0.0))
    return query_id


def csv_rows(text: str, needed: Sequence[str]) -> Iterator[Row]:
    """The rows of a CSV text, by the line each ends in."""
    reader = csv.reader((line for _, line in lines_of(text)), strict=True)
    names: list[str] = []
    try:
        for cells in reader:
            if not names:
                names = [cell.strip() for cell in cells]
                check_names(names, needed)
            elif cells and len(cells) != len(names):
                raise InvalidRecord(f"line {reader.line_num}: expected {len(names)} columns, got {len(cells)}")
            elif cells:
                yield reader.line_num, dict(zip(names, cells, strict=True))
    except csv.Error as error:
        raise MalformedFile(f"line {reader.line_num}: not CSV: {error}") from error
    if not names:
        raise EmptyFile("no content")


def columns(table: RunTable | JudgedTable) -> dict[str, list[Any]]:
    """The columns of a table, with texts and types where they are known."""
    sizes = np.diff(table.offsets).tolist()
    spans = table.spans
    cells: dict[str, list[Any]] = {
        "query_id": spread(table.query_ids, sizes),
        "video_name": [spans.names[video] for video in spans.video.tolist()],
        "start": spans.start_s.tolist(),
        "end": spans.end_s.tolist(),
        table.weight_name: table.weights.tolist(),
    }
    if any(table.texts):
        cells["query"] = spread(table.texts, sizes)
    if isinstance(table, JudgedTable) and table.kinds:
        cells["type"] = spread(table.kinds, sizes)
    return cells


def spread(values: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """Each value as often as its query has moments."""
    return [value for value, size in zip(values, sizes, strict=True) for value in repeat(value, size)]


def write_csv(table: RunTable | JudgedTable) -> str:
    out, cells = io.StringIO(newline=""), columns(table)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(cells)
    writer.writerows(zip(*cells.values(), strict=True))
    return out.getvalue()


def write_parquet(table: RunTable | JudgedTable) -> bytes:
    return parquet_bytes(columns(table))
