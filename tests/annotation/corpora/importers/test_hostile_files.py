"""Files made to do harm: a named refusal, or a bad line, and nothing else."""

import io
import json
from contextlib import suppress
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, ZipFile

import pytest

from annotation.corpora.importers import FORMATS, form_of
from annotation.corpora.importers.base import BadLine, Given, ImportFileError, VideoRecord
from annotation.corpora.importers.files import LARGEST_DIRECTORY, Budget, Limits, read_file
from annotation.corpora.importers.tvr import durations_of
from core import uploads
from core.texts import is_storable
from core.uploads import LineWarning, warnings_writer
from tests.mutations import mutated

TABLE = Given({"a": (60.0, 1), "b": (60.0, 2)})
SRT = b"1\n00:00:01,000 --> 00:00:02,000\n<i>Hello</i> {\\an8}there.\n\n2\n00:00:03.5 --> 00:00:05,0\nTwo\nlines\n"
LINE = {"vid_name": "a", "duration": 60.0, "ts": [1.5, 3.0], "desc": "Somebody walks", "type": "v", "desc_id": 4}
ENTRY = {"a": {"duration": 60.0, "timestamps": [[0, 1.5]], "sentences": ["one"]}}
SEEDS = {
    "tvr": json.dumps(LINE) + "\n" + json.dumps(LINE | {"desc_id": 5}),
    "charades-sta": json.dumps(ENTRY),
    "activitynet": json.dumps(ENTRY),
    "tacos": json.dumps({"a": {"fps": 29.4, "num_frames": 1000, "timestamps": [[0, 15]], "sentences": ["one"]}}),
    "qvhighlights": json.dumps(
        {"qid": 1, "query": "one", "vid": "a", "duration": 60, "relevant_windows": [[0, 2], [4, 6]]}
    ),
    "tvc": json.dumps({"vid_name": "a", "duration": 60, "ts": [1, 2], "descs": [{"desc": "x", "desc_id": 1}]}),
    "csv": "video,start,end,description,id\na,1,2,One,1\nb,1,2,Two,2\n",
    "jsonl": json.dumps({"video": "a", "start": 0, "end": 1.5, "description": "x", "duration": 60, "kind": "video"}),
    "tvqa-subtitles": json.dumps({"vid_name": "a", "sub": [{"text": "Hi", "start": 1.0, "end": 2.5}]}),
    "srt": SRT.decode(),
}


def archive(method: int = ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with ZipFile(target, "w", method) as zip_file:
        zip_file.writestr("folder/a.srt", SRT)
        zip_file.writestr("b\u00e9.srt", SRT * 4)
    return target.getvalue()


def read(form: str, content: bytes, name: str = "a.srt", *, most: int = 2**20) -> list[object]:
    items: list[object] = []
    for item in read_file(FORMATS[form], io.BytesIO(content), name, TABLE, budget=Budget(Limits(size=most))):
        if isinstance(item, BadLine):
            item.reason.encode()
        elif not isinstance(item, VideoRecord):
            assert 0 <= item.start_s < item.end_s and is_storable(getattr(item, "text", ""))
        items.append(item)
    return items


@pytest.mark.parametrize("form", SEEDS)
def test_mutations_of_texts_become_items_and_bad_lines(form: str) -> None:
    seeds = [SEEDS[form].encode(), *(text.encode() for text in SEEDS.values())]
    for content in mutated(seeds, 100, text=True):
        with suppress(ImportFileError):
            read(form, content)
        form_of(io.BytesIO(content))


def test_mutations_of_archives_are_read_or_refused() -> None:
    for content in mutated([archive(), archive(ZIP_STORED)], 500):
        with suppress(ImportFileError):
            read("srt", content)


def test_mutations_of_tables_of_videos_are_read_or_refused() -> None:
    table = json.dumps({"train": {"a": [30.5, 0]}, "val": {"b": [60, 1]}}).encode()
    for content in mutated([table], 500, text=True):
        with suppress(ImportFileError):
            for name, (duration_s, index) in durations_of(content.decode("utf-8", "replace")).items():
                assert is_storable(name) and len(name) <= 200 and duration_s > 0 and 0 <= index < 2**31


@pytest.mark.parametrize("method", [ZIP_BZIP2, ZIP_LZMA])
def test_an_archive_that_says_itself_how_much_memory_it_needs_is_refused(method: int) -> None:
    with pytest.raises(ImportFileError, match="packed in a way that is not read"):
        read("srt", archive(method))


def test_a_directory_that_is_larger_than_any_is_not_read() -> None:
    content = archive()
    offset = content.rindex(b"PK\x05\x06")
    size = (LARGEST_DIRECTORY + 1).to_bytes(4, "little")
    padded = content[:offset] + bytes(LARGEST_DIRECTORY) + content[offset:]  # so many bytes are there
    offset = padded.rindex(b"PK\x05\x06")
    with pytest.raises(ImportFileError, match="holds too many files"):
        read("srt", padded[: offset + 12] + size + padded[offset + 16 :])


def test_a_subtitle_of_endless_lines_is_cut_and_refused() -> None:
    """Nothing parts the lines of this file: all of it would be one subtitle."""
    block = b"1\n00:00:01,000 --> 00:00:02,000\n" + b"words and words\n" * 200_000
    items = read("srt", block + b"\n\n" + SRT, most=2**23)
    assert isinstance(items[0], BadLine) and "more than 5000" in items[0].reason
    assert int(items[0].reason.split()[2]) <= 1_000_100  # characters that were kept of it
    assert len(items) == 3


@pytest.mark.parametrize(
    ("name", "entry", "problem"),
    [("a" * 201, [1.0, 0], "more than 200 characters"), ("a", [1.0, 2**31], "a whole number from 0 to 2147483647")],
)
def test_a_table_of_videos_that_the_database_cannot_hold_is_refused(
    name: str, entry: list[float], problem: str
) -> None:
    with pytest.raises(ImportFileError, match=problem):
        durations_of(json.dumps({"train": {name: entry}}))


def test_a_report_lists_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "MOST_WARNINGS", 2)
    target = io.StringIO()
    write = warnings_writer(target)
    for line in range(1, 6):
        write(LineWarning("", line, "", "refused", "not JSON"))
    rows = target.getvalue().splitlines()
    assert len(rows) == 4 and rows[-1] == '"",3,"","","No more than 2 remarks are listed.",""'
