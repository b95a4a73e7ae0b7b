"""The files of a training set, written block by block: the published JSON, and the same rows as Parquet."""

import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from json.encoder import encode_basestring as quoted
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import numpy as np

from annotation.pools.rules import SCALE
from annotation.train_sets.ranks import COLUMNS, Block, TrainMoments

if TYPE_CHECKING:
    import pyarrow as pa

COMPRESSION = "zstd"


class JsonArrayFile:
    """An array, entry by entry, as ``json.dumps(entries, ensure_ascii=False, indent=1)`` would write it."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("w", encoding="utf-8", newline="\n")
        self.before = "[\n"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self.file:
            if error is None:
                self.file.write("[]\n" if self.before == "[\n" else "\n]\n")
                self.file.flush()
                os.fsync(self.file.fileno())

    def add_entry(self, entry: object) -> None:
        self.file.write(self.before + json.dumps([entry], ensure_ascii=False, indent=1)[2:-2])
        self.before = ",\n"


class JsonTrainFile(JsonArrayFile):
    """The published form: as ``json.dumps(queries, ensure_ascii=False, indent=1)`` would write it.

    Args:
        depth: moments of a query, the best; blocks may hold more.
        first: the number (``pair_id``) of the first row; every rank of a block takes one.
    """

    def __init__(self, path: Path, moments: TrainMoments, *, depth: int, first: int = 1) -> None:
        super().__init__(path)
        self.fragments, self.depth, self.next = moments.fragments, depth, first

    def add(self, block: Block) -> None:
        moments = block.ranks.moments[:, : self.depth].tolist()
        similarities = (block.ranks.millionths[:, : self.depth] / SCALE).tolist()
        step = block.ranks.moments.shape[1]
        for number, text, ours, theirs in zip(block.numbers, block.texts, moments, similarities, strict=True):
            rows = ",\n   ".join(
                f'{{\n    "pair_id": {row}{self.fragments[moment]}{similarity!r}\n   }}'
                for row, (moment, similarity) in enumerate(zip(ours, theirs, strict=True), start=self.next)
            )
            head = f' {{\n  "query_id": {number},\n  "query": {quoted(text)},\n  "relevant_moment": [\n   '
            self.file.write(f"{self.before}{head}{rows}\n  ]\n }}")
            self.before, self.next = ",\n", self.next + step


class ParquetTrainFile(AbstractContextManager["ParquetTrainFile"]):
    """One row for each query and moment, by query and rank; a row group for each block.

    ``depth`` and ``first`` are as of JsonTrainFile; ``about`` goes into the file's own description.
    """

    def __init__(
        self, path: Path, moments: TrainMoments, *, depth: int, about: Mapping[str, str], first: int = 1
    ) -> None:
        from pyarrow import parquet

        self.path, self.columns, self.depth, self.next = path, moments.columns, depth, first
        self.schema = schema().with_metadata(dict(about))
        self.writer = parquet.ParquetWriter(path, self.schema, compression=COMPRESSION)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.writer.close()
        if error is None:
            with self.path.open("rb+") as file:
                os.fsync(file.fileno())

    def add(self, block: Block) -> None:
        import pyarrow as pa

        queries, step = block.ranks.moments.shape
        depth = min(self.depth, step)
        moments = pa.array(block.ranks.moments[:, :depth].ravel())
        query = pa.array(np.repeat(np.arange(queries), depth))
        rank = np.tile(np.arange(1, depth + 1, dtype=np.int32), queries)
        number = self.next + np.arange(queries)[:, None] * step + np.arange(depth)
        columns = {
            "query_id": pa.array(block.numbers, pa.int64()).take(query),
            "query": pa.array(block.texts, pa.string()).take(query),
            "rank": pa.array(rank),
            "pair_id": pa.array(number.ravel(), pa.int64()),
            "similarity": pa.array((block.ranks.millionths[:, :depth] / SCALE).ravel()),
            **{name: column.take(moments) for name, column in self.columns.items()},
        }
        table = pa.table([columns[name] for name in self.schema.names], schema=self.schema)
        self.writer.write_table(table, row_group_size=max(1, len(table)))
        self.next += queries * step


def schema() -> "pa.Schema":
    """Columns of the Parquet form; docs/data-formats.md says what they hold."""
    import pyarrow as pa

    kinds = {
        **dict.fromkeys(("query_id", "pair_id"), pa.int64()),
        "rank": pa.int32(),
        **dict.fromkeys(("query", "video_name", "caption"), pa.string()),
    }
    names = ("query_id", "query", "rank", "pair_id", *COLUMNS, "caption", "similarity")
    return pa.schema([pa.field(name, kinds.get(name, pa.float64()), nullable=False) for name in names])
