"""Opening files: codes, line ends, packed files, folders, and what was made to do harm."""

import gzip
import io
import json
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from annotation.corpora.importers import FORMATS
from annotation.corpora.importers.base import BadLine, DescriptionRecord, Given, ImportFileError, Item, SubtitleRecord
from annotation.corpora.importers.fields import LONGEST_LINE, UPLOAD
from annotation.corpora.importers.files import Budget, Limits, read_file, read_path

TABLE = Given({"a": (60.0, 1), "b": (60.0, 2)})
SRT = b"1\n00:00:01,000 --> 00:00:02,000\nHello.\n"
ROWS = b"video,start,end,description\na,1,2,One\nb,1,2,Two\n"


def read(form: str, data: bytes, name: str = "file", *, most: int = 10**6) -> list[Item]:
    return list(read_file(FORMATS[form], io.BytesIO(data), name, TABLE, budget=Budget(Limits(size=most))))


def texts(items: list[Item]) -> list[str]:
    return [item.text for item in items if isinstance(item, DescriptionRecord | SubtitleRecord)]


def archive(**members: bytes) -> bytes:
    target = io.BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as zip_file:
        for name, data in members.items():
            zip_file.writestr(f"folder/{name}.srt", data)
    return target.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        *(ROWS, b"\xef\xbb\xbf" + ROWS, ROWS.replace(b"\n", b"\r\n"), ROWS.replace(b"\n", b"\r")),
        *(gzip.compress(ROWS, mtime=0), ROWS[:-1]),
    ],
)
def test_the_same_file_written_otherwise(data: bytes) -> None:
    assert texts(read("csv", data)) == ["One", "Two"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [(b"caf\xe9", "not UTF-8"), (b"a\0b", "null byte"), (b"x" * (LONGEST_LINE + 10), "longer than")],
    ids=["latin-1", "null", "huge"],
)
def test_a_line_of_bad_bytes_costs_itself_alone(value: bytes, reason: str) -> None:
    items = read("csv", b"video,start,end,description\na,1,2," + value + b"\nb,1,2,Two\n", most=10**7)
    assert isinstance(items[0], BadLine) and items[0].line == 2 and reason in items[0].reason
    assert isinstance(items[1], DescriptionRecord) and items[1].line == 3


def test_where_a_file_is_one_value_its_line_may_be_as_long_as_it_likes() -> None:
    video = {"duration": 60, "timestamps": [[1, 2]], "sentences": ["One"]}
    data = b" " * LONGEST_LINE + json.dumps({"a": video}).encode()
    assert texts(read("activitynet", data, most=10**7)) == ["One"]


@pytest.mark.parametrize(
    ("form", "data", "words"),
    [
        ("csv", "video".encode("utf-16"), "UTF-16"),
        ("csv", archive(a=SRT), "zip archive; unpack it first"),
        ("srt", b"PK\x03\x04 and then nothing", "archive cannot be read"),
        ("srt", archive(), "no .srt file"),
        ("csv", gzip.compress(ROWS, mtime=0)[:-12], "cannot be unpacked"),
        ("csv", b"\x1f\x8b\x08 and then nothing", "cannot be unpacked"),
        ("jsonl", gzip.compress(b"a,1,2,x\n" * 10**6, mtime=0), "larger than 0.95"),
        ("srt", archive(a=b"\n" * 10**6, b=b"\n" * 10**6), "larger than 0.95"),
    ],
)
def test_what_cannot_be_read_or_is_a_bomb(form: str, data: bytes, words: str) -> None:
    with pytest.raises(ImportFileError, match=words):
        read(form, data)


def test_an_archive_is_read_member_by_member() -> None:
    items = read("srt", archive(a=SRT, b=SRT, z=SRT))
    assert [item.video_name for item in items if isinstance(item, SubtitleRecord)] == ["a", "b"]
    assert [str(item) for item in items if isinstance(item, BadLine)] == [f"z.srt, line 1: unknown video 'z'; {UPLOAD}"]


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    for form, words in (("srt", "no .srt file"), ("csv", "is one file")):
        with pytest.raises(ImportFileError, match=words):
            list(read_path(FORMATS[form], tmp_path, TABLE))
    (tmp_path / "a.srt").write_bytes(SRT)
    (tmp_path / "b.SRT").write_bytes(SRT.replace(b"Hello", b"caf\xe9"))
    (tmp_path / "notes.txt").write_bytes(b"no subtitle")
    items = list(read_path(FORMATS["srt"], tmp_path, TABLE))
    assert texts(items) == ["Hello."]
    assert [str(item)[:14] for item in items if isinstance(item, BadLine)] == ["b.SRT, line 1:"]


def test_bytes_are_counted_as_they_are_read() -> None:
    byte_counts: list[int] = []
    data = json.dumps({"a": {"duration": 60, "timestamps": [], "sentences": []}}).encode() + b" " * 200_000
    list(read_file(FORMATS["activitynet"], io.BytesIO(data), "x", TABLE, budget=Budget(on_bytes=byte_counts.append)))
    assert 0 < sum(byte_counts) <= len(data)
