"""Parquet, read by a child process: a few kilobytes unpack to gigabytes, and say of themselves that they do not.

The child sends the columns that are needed batch by batch, each batch as a line of JSON. A text is sent once, and rows
name it by its number, as in the file: a long text of many rows would unpack to fill the memory.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from moment_retrieval.errors import InvalidRecord, MalformedFile, ScoringError, UnreadableFile
from moment_retrieval.jsonfiles import MAX_BYTES, shown
from moment_retrieval.limited import Limits, ReaderEnded, reader

LIMITS = Limits(memory_mb=2048, cpu_s=300)
BATCH = 10_000
NO_TEXT = -1
TEXT, REAL = "texts", "numbers"
LONGEST_PROBLEM = 300
ERRORS: dict[str, type[ScoringError]] = {
    error.__name__: error for error in (InvalidRecord, MalformedFile, UnreadableFile)
}
Row = tuple[int, Mapping[str, object]]  # its number, its cells
Cells = tuple[list[str] | None, list[Any]]  # of a column: texts that are new, None of numbers; and codes or numbers


def parquet_rows(data: bytes, needed: Sequence[str], optional: Sequence[str], texts: Sequence[str]) -> Iterator[Row]:
    """The rows of a Parquet file, by their number.

    Args:
        needed: columns that must be there. optional: others that are read. texts: which of both hold texts.

    Raises:
        ScoringError: it is no Parquet, lacks a column, ends its reader, or takes more than LIMITS.
    """
    request = {"needed": list(needed), "optional": list(optional), "texts": list(texts)}
    texts_by_name: dict[str, list[str]] = {}
    row = 0
    try:
        with reader(__name__, json.dumps(request).encode() + b"\n" + data, LIMITS) as output:
            for line in output:
                if not line.endswith(b"\n"):
                    break  # the child was ended while it wrote
                columns = json.loads(line)
                if "error" in columns:
                    raise ERRORS[columns["error"]](columns["problem"])
                for name, (new, cells) in columns.items():
                    if new is not None:
                        texts = texts_by_name.setdefault(name, [])
                        texts += new
                        columns[name] = [None if code == NO_TEXT else texts[code] for code in cells]
                    else:
                        columns[name] = cells
                for cells in zip(*columns.values(), strict=True):
                    row += 1
                    yield row, dict(zip(columns, cells, strict=True))
    except ReaderEnded as error:
        raise UnreadableFile(str(error)) from error


def serve(request: IO[bytes], output: IO[bytes]) -> None:
    """The child: a line of JSON for every batch, or a line that says what is wrong."""
    import pyarrow

    try:
        for batch in _batches(json.loads(request.readline()), request.read()):
            output.write(json.dumps(batch).encode() + b"\n")
    except MemoryError:
        raise
    except ScoringError as error:
        _refuse(output, type(error).__name__, error.problem)
    except (pyarrow.ArrowException, OSError, ValueError) as error:  # what pyarrow lets out of a broken file
        _refuse(output, MalformedFile.__name__, f"not Parquet: {shown_line(error)}")


def _refuse(output: IO[bytes], error: str, problem: str) -> None:
    output.write(json.dumps({"error": error, "problem": problem}).encode() + b"\n")


def shown_line(error: Exception) -> str:
    """The first line of what a library says, without bytes of the file that are no text."""
    line = str(error).strip().partition("\n")[0][:LONGEST_PROBLEM]
    return "".join(letter if letter.isprintable() else "?" for letter in line)


def _batches(request: dict[str, Any], data: bytes) -> Iterator[dict[str, Cells]]:
    import pyarrow
    from pyarrow import parquet

    schema = parquet.read_schema(pyarrow.BufferReader(data))
    check_names(schema.names, request["needed"])
    names = [name for name in schema.names if name in (*request["needed"], *request["optional"])]
    read = {name: _column(name, schema.field(name).type, is_text=name in request["texts"]) for name in names}
    packed = [name for name, column in read.items() if isinstance(column, _Texts)]
    file = parquet.ParquetFile(pyarrow.BufferReader(data), read_dictionary=packed)
    sizes = [file.metadata.row_group(group).total_byte_size for group in range(file.num_row_groups)]
    if min(sizes, default=0) < 0 or sum(sizes) > MAX_BYTES:
        raise UnreadableFile(f"larger than {MAX_BYTES // 1024**2} MiB")
    for batch in file.iter_batches(columns=names, batch_size=BATCH):
        batch.validate(full=True)  # texts that are no UTF-8, codes of no text
        yield {name: read[name].of(batch.column(index)) for index, name in enumerate(batch.schema.names)}


def _column(name: str, kind: Any, *, is_text: bool) -> _Texts | _Numbers:
    """Choose a reader for this column. Raises InvalidRecord for one that cannot hold what is expected."""
    from pyarrow import types

    plain = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_string(plain) or types.is_large_string(plain):
        return _Texts()
    if types.is_integer(kind) or types.is_null(kind) or (types.is_floating(kind) and not is_text):
        return _Texts() if is_text else _Numbers()
    raise InvalidRecord(f"the column {name} holds {shown(str(kind))}, where {TEXT if is_text else REAL} are expected")


@dataclass
class _Texts:
    """A column of texts: those that are new, and the number of each row's."""

    codes: dict[str, int] = field(default_factory=dict)
    size: int = 0

    def of(self, column: Any) -> Cells:
        from pyarrow import compute, types

        if types.is_integer(column.type) or types.is_null(column.type):
            column = compute.cast(column, "string")
        packed = column if types.is_dictionary(column.type) else column.dictionary_encode()
        new: list[str] = []
        codes = [self._code(word, new) for word in packed.dictionary.to_pylist()]
        return new, [NO_TEXT if index is None else codes[index] for index in packed.indices.to_pylist()]

    def _code(self, word: str | None, new: list[str]) -> int:
        if word is None:
            return NO_TEXT
        if word not in self.codes:
            self.size += len(word)
            if self.size > MAX_BYTES:
                raise UnreadableFile(f"larger than {MAX_BYTES // 1024**2} MiB")
            self.codes[word] = len(self.codes)
            new.append(word)
        return self.codes[word]


class _Numbers:
    """A column of numbers; a missing one is not a number."""

    def of(self, column: Any) -> Cells:
        from pyarrow import compute

        return None, compute.fill_null(compute.cast(column, "float64", safe=False), float("nan")).to_pylist()


def check_names(names: Sequence[str], needed: Sequence[str]) -> None:
    """Raise InvalidRecord unless the needed columns are there and none is there twice."""
    missing = [name for name in needed if name not in names]
    if missing:
        raise InvalidRecord(f"line 1: no column {', '.join(missing)}; there are {shown(', '.join(names))}")
    if len(set(names)) < len(names):
        raise InvalidRecord(f"line 1: a column appears twice: {shown(', '.join(names))}")


def parquet_bytes(columns: dict[str, list[Any]]) -> bytes:
    import pyarrow
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), out, compression="zstd")
    return out.getvalue()
