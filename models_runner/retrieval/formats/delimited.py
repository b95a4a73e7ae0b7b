"""Our own form, as CSV and as Parquet: one row for each moment, under names of columns.

Needed are ``query_id``, ``video_name``, ``start``, ``end`` and, in a run, ``score``, in ground truth ``relevance``. A
query's rows need not be neighbours; their order is the ranking, unless there is a column ``rank``. ``query`` (the text)
and ``type`` (TVR: v, t, vt) may be there; other columns are not read. A query without moments has no row.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from models_runner.retrieval.entries import lines_of
from models_runner.retrieval.errors import EmptyFile, InvalidRecord, MalformedFile, UnreadableFile, at
from models_runner.retrieval.formats.builder import Builder, Groups, Source
from models_runner.retrieval.jsonfiles import MAX_BYTES, as_text, number_from, shown
from models_runner.retrieval.tables import JudgedTable, RunTable

MOMENT = ("query_id", "video_name", "start", "end")
RUN, TRUTH = (*MOMENT, "score"), (*MOMENT, "relevance")
BATCH = 10_000
OPTIONAL = ("query", "type", "rank")
TEXTS = ("query_id", "video_name", "query", "type")
Row = tuple[int, Mapping[str, object]]  # its number, its cells


def read_run(source: Source) -> RunTable:
    """A run of CSV. Raises ScoringError with the line."""
    return run_of(csv_rows(source.text, RUN), Groups(), source)


def read_ground_truth(source: Source) -> JudgedTable:
    """Judged moments of CSV. Raises ScoringError with the line."""
    return truth_of(csv_rows(source.text, TRUTH), Groups(), source)


def read_run_parquet(source: Source) -> RunTable:
    """A run of Parquet. Raises ScoringError with the row."""
    return run_of(parquet_rows(source.plain, RUN), Groups("row"), source)


def read_ground_truth_parquet(source: Source) -> JudgedTable:
    """Judged moments of Parquet. Raises ScoringError with the row."""
    return truth_of(parquet_rows(source.plain, TRUTH), Groups("row"), source)


def run_of(rows: Iterable[Row], groups: Groups, source: Source) -> RunTable:
    for row, cells in rows:
        with at(f"{groups.kind} {row}"):
            added(groups, row, cells, "score")
    return groups.filled(Builder(source)).run()


def truth_of(rows: Iterable[Row], groups: Groups, source: Source) -> JudgedTable:
    kinds: dict[str, str] = {}
    for row, cells in rows:
        with at(f"{groups.kind} {row}"):
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


def parquet_rows(data: bytes, needed: Sequence[str]) -> Iterator[Row]:
    """The rows of a Parquet file.

    Texts stay packed as they are in the file: a long one, said once for many rows, would unpack to fill the memory.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        there = parquet.read_schema(pyarrow.BufferReader(data)).names
        check_names(there, needed)
        texts = [name for name in TEXTS if name in there]
        file = parquet.ParquetFile(pyarrow.BufferReader(data), read_dictionary=texts)
        sizes = (file.metadata.row_group(group).total_byte_size for group in range(file.num_row_groups))
        if sum(sizes) > MAX_BYTES:
            raise UnreadableFile(f"larger than {MAX_BYTES // 1024**2} MiB")
        names = [name for name in there if name in (*needed, *OPTIONAL)]
        row = 0
        for batch in file.iter_batches(columns=names, batch_size=BATCH):
            for cells in zip(*(values_of(column) for column in batch.columns), strict=True):
                row += 1
                yield row, dict(zip(names, cells, strict=True))
    except pyarrow.ArrowException as error:
        raise MalformedFile(f"not Parquet: {error}") from error


def values_of(column: Any) -> list[Any]:
    """The cells of a column; those of one that is packed share their texts."""
    if not hasattr(column, "dictionary"):
        return list(column.to_pylist())
    held = column.dictionary.to_pylist()
    return [None if place is None else held[place] for place in column.indices.to_pylist()]


def check_names(names: Sequence[str], needed: Sequence[str]) -> None:
    """Raise InvalidRecord unless the needed columns are there and none is there twice."""
    missing = [name for name in needed if name not in names]
    if missing:
        raise InvalidRecord(f"line 1: no column {', '.join(missing)}; there are {shown(', '.join(names))}")
    if len(set(names)) < len(names):
        raise InvalidRecord(f"line 1: a column appears twice: {shown(', '.join(names))}")


def write_run(run: RunTable) -> str:
    return csv_text(columns(run, "score"))


def write_ground_truth(judged: JudgedTable) -> str:
    return csv_text(columns(judged, "relevance"))


def write_run_parquet(run: RunTable) -> bytes:
    return parquet_bytes(columns(run, "score"))


def write_ground_truth_parquet(judged: JudgedTable) -> bytes:
    return parquet_bytes(columns(judged, "relevance"))


def columns(table: RunTable | JudgedTable, weight: str) -> dict[str, list[Any]]:
    """The columns of a table, with texts and types where they are known."""
    sizes = np.diff(table.offsets).tolist()
    spans = table.spans
    held: dict[str, list[Any]] = {
        "query_id": spread(table.query_ids, sizes),
        "video_name": [spans.names[video] for video in spans.video.tolist()],
        "start": spans.start_s.tolist(),
        "end": spans.end_s.tolist(),
        weight: table.weights.tolist(),
    }
    if any(table.texts):
        held["query"] = spread(table.texts, sizes)
    if isinstance(table, JudgedTable) and table.kinds:
        held["type"] = spread(table.kinds, sizes)
    return held


def spread(values: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """Each value as often as its query has moments."""
    return [value for value, size in zip(values, sizes, strict=True) for value in repeat(value, size)]


def csv_text(held: dict[str, list[Any]]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(held)
    writer.writerows(zip(*held.values(), strict=True))
    return out.getvalue()


def parquet_bytes(held: dict[str, list[Any]]) -> bytes:
    import pyarrow
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(pyarrow.table(held), out, compression="zstd")
    return out.getvalue()
