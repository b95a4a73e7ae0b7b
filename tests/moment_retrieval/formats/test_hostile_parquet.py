"""Parquet that breaks its library, or says of itself what is not so."""

import io
import json

import pyarrow
import pytest
from pyarrow import parquet as files

from moment_retrieval.errors import InvalidRecord, MalformedFile, UnreadableFile
from moment_retrieval.formats import FileFormat, parquet, parse_run
from moment_retrieval.limited import Limits
from tests.mutations import mutated

COLUMNS = {"query_id": ["7", "7", "8"], "video_name": ["a", "b", "a"]}
COLUMNS |= {"start": [0.0, 1.0, 2.0], "end": [1.0, 2.0, 3.5], "score": [0.5, 0.25, 1.0]}


def parquet_of(compression: str = "none", **columns: object) -> bytes:
    out = io.BytesIO()
    table = pyarrow.table(COLUMNS | columns)
    files.write_table(table, out, compression=compression, use_dictionary=False, write_statistics=False)
    return out.getvalue()


def varint(number: int) -> bytes:
    """As Thrift writes a number."""
    rest, output = number << 1, bytearray()
    while rest > 127:
        output.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*output, rest])


def with_claims(content: bytes, claimed: int) -> bytes:
    """The sizes that the end of a file says of its row group and of its largest column become this one."""
    group = files.ParquetFile(io.BytesIO(content)).metadata.row_group(0)
    end = content.rindex(b"PAR1")
    start = end - 4 - int.from_bytes(content[end - 4 : end], "little")
    foot = content[start : end - 4]
    largest = max(group.column(number).total_uncompressed_size for number in range(group.num_columns))
    for size in {group.total_byte_size, largest}:
        assert foot.count(varint(size)) == 1
        foot = foot.replace(varint(size), varint(claimed))
    return content[:start] + foot + len(foot).to_bytes(4, "little") + b"PAR1"


def test_a_text_that_unpacks_to_more_than_the_file_says_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """33 kB took four gigabytes of the worker; what the file says itself is believed where it is too much."""
    monkeypatch.setattr(parquet, "LIMITS", Limits(memory_mb=256, cpu_s=60))
    content = with_claims(parquet_of("zstd", query=["", "", "a" * (200 * 2**20)]), 1000)
    assert len(content) < 2**16
    with pytest.raises(UnreadableFile, match="^reading it takes more than 256 MB of memory, and was stopped$"):
        parse_run(content, FileFormat.PARQUET)
    content = with_claims(parquet_of("zstd", query=["", "", "a" * 2**16]), 257 * 2**20)
    with pytest.raises(UnreadableFile, match="^larger than 256 MiB$"):
        parse_run(content, FileFormat.PARQUET)


def test_what_is_broken_is_a_malformed_file_and_mutations_are_read_or_refused() -> None:
    content = parquet_of()
    shorter, broken_page = content[:40] + content[80:], content[:4] + b"\xff" * 16 + content[20:]
    for damaged in (shorter, broken_page, content.replace(b"\x01\x00\x00\x00b", b"\x01\x00\x00\x00\xff")):
        with pytest.raises(MalformedFile, match="^not Parquet: ") as raised:
            parse_run(damaged, FileFormat.PARQUET)
        assert str(raised.value).isprintable()
    request = {"needed": list(COLUMNS), "optional": [], "texts": ["query_id", "video_name"]}
    head = json.dumps(request).encode() + b"\n"
    seeds = [parquet_of(compression) for compression in ("none", "snappy", "gzip", "zstd")]
    for content in mutated(seeds, 300):
        out = io.BytesIO()
        parquet.serve(io.BytesIO(head + content), out)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"start": [True, False, True]}, "the column start holds 'bool', where numbers are expected"),
        ({"video_name": [[1], [2], [3]]}, "the column video_name holds '.*list.*', where texts are expected"),
        ({"video_name": [b"a", b"b", b"\xff"]}, "the column video_name holds 'binary', where texts are expected"),
        ({"query_id": [1.5, 2.5, 3.5]}, "the column query_id holds 'double', where texts are expected"),
        ({"start": [0.0, None, 1.0]}, "row 2: start must be a finite number, got nan"),
        ({"start": ["0", "x", "1"]}, "row 2: start must be a finite number, got 'x'"),
        ({"video_name": ["a", None, "b"]}, "row 2: video_name must be a string that is not blank, got None"),
    ],
)
def test_columns_of_other_types_are_refused_by_name(columns: dict[str, object], problem: str) -> None:
    with pytest.raises(InvalidRecord, match=f"^{problem}$"):
        parse_run(parquet_of(**columns), FileFormat.PARQUET)
    table = parse_run(parquet_of(query_id=[7, 7, 8], start=["0", "1", "2"]), FileFormat.PARQUET)  # these are read
    assert table.query_ids == ("7", "8") and table.spans.start_s.tolist() == [0.0, 1.0, 2.0]
