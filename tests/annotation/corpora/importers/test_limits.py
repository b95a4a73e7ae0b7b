"""A small upload makes little work: bytes, lines, ratio and seconds end the reading, whatever it would unpack to."""

import gzip
import io
from collections.abc import Callable
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from annotation.corpora.importers import FORMATS
from annotation.corpora.importers.base import Given, ImportFileError
from annotation.corpora.importers.files import FREE_BYTES, Budget, Limits, pieces_of, read_file
from tests.ticks import Ticks

MB = 2**20
TABLE = Given({"a": (60.0, 1), "b": (60.0, 2), "c": (60.0, 3)})
ROWS = b"video,start,end,description\n" + b"a,1,2,One\n" * 3


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """700 MB of blank lines in 0.7 MB of gzip."""
    packed = 70 * gzip.compress(b"\n" * (10 * MB), mtime=0)  # one behind the other, which is a gzip again
    assert len(packed) < 0.75 * MB
    return packed


def read(data: bytes, budget: Budget, form: str = "csv") -> None:
    for _ in read_file(FORMATS[form], io.BytesIO(data), "file", TABLE, budget=budget):
        pass


READINGS: dict[str, Callable[[bytes, Budget], Any]] = {
    "line by line": read,
    "in pieces": lambda data, budget: list(pieces_of(io.BytesIO(data), budget=budget)),
}


@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)
def test_a_small_gzip_of_blank_lines_is_refused_after_little_work(
    bomb: bytes, reading: Callable[[bytes, Budget], Any]
) -> None:
    budget = Budget(Limits(ratio=200))
    with pytest.raises(ImportFileError, match="more than 200 times its size"):
        reading(bomb, budget)
    assert budget.size <= 32 * MB and budget.lines <= 32 * MB and budget.packed_size <= MB / 8  # of 700, and 0.7


def test_lines_end_the_reading_whatever_the_ratio(bomb: bytes) -> None:
    for data in (bomb, b"\n" * (3 * MB)):
        budget = Budget(Limits(lines=1_000_000, ratio=10_000))
        with pytest.raises(ImportFileError, match=r"more than 1,000,000 lines; split it .*UPLOAD_MAX_LINES"):
            read(data, budget)
        assert budget.lines <= 1_000_000 + MB and budget.size <= 2 * MB


def test_bytes_end_the_reading_over_all_files_of_an_archive() -> None:
    target = io.BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name in ("a", "b", "c"):
            archive.writestr(f"{name}.srt", b" " * MB)
    budget = Budget(Limits(size=2 * MB, ratio=10_000))
    with pytest.raises(ImportFileError, match=r"larger than 2 MB; split it .*IMPORT_MAX_UNPACKED_MB"):
        read(target.getvalue(), budget, "srt")
    assert budget.size <= 2 * MB + MB


def test_the_ratio_of_an_archive_is_that_of_what_was_read() -> None:
    target = io.BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        archive.writestr("a.srt", (b" " * 1023 + b"\n") * (100 * 1024))
        archive.writestr("notes.txt", bytes(range(256)) * 4000)  # which would make the whole archive look fair
    budget = Budget(Limits(ratio=100))
    with pytest.raises(ImportFileError, match="more than 100 times its size"):
        read(target.getvalue(), budget, "srt")
    assert budget.size <= 32 * MB


def test_seconds_end_the_reading_by_the_clock_that_is_given() -> None:
    clock = Ticks()
    budget = Budget(Limits(seconds=5), clock=clock)
    with pytest.raises(ImportFileError, match=r"longer than 5 s; split it .*UPLOAD_MAX_S"):
        read(ROWS + b"a,1,2,One\n" * 10**6, budget)
    assert clock.now < 10 and budget.size < MB


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_a_file_within_its_limits_is_read_to_its_end(end: bytes) -> None:
    data = ROWS.replace(b"\n", end)
    budget = Budget(Limits(size=len(data), lines=4, ratio=200, seconds=5), clock=lambda: 0.0)
    read(data, budget)
    assert (budget.size, budget.lines) == (len(data), 4)
    with pytest.raises(ImportFileError, match="more than 3 lines"):
        read(data, Budget(Limits(lines=3)))
    content = gzip.compress(data + b"\n" * (FREE_BYTES - len(data)), mtime=0)
    read(content, Budget(Limits(ratio=2)))  # what is small may be packed as well as it can
