"""Ground truth, runs and corpora on disk: both published forms, round trips, and complaints that name the place."""

import errno
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError

from moment_retrieval import errors, formats
from moment_retrieval.formats import FileFormat
from moment_retrieval.jsonfiles import is_out_of_room
from moment_retrieval.records import (
    JudgedMoment,
    QueryMoments,
    RankedQuery,
    ScoredMoment,
    VideoCorpus,
    parse_corpus,
    read_corpus,
)
from moment_retrieval.tables import JudgedTable, RunTable, queries_of

VIDEO = "house_s01e01"
MOMENT = {"pair_id": 7, "video_name": VIDEO, "timestamp": [3.5, 9], "duration": 90.02}
MOMENT |= {"caption": "A man lies.", "similarity": 0.93, "relevance": 4}

JUDGED = JudgedMoment("house_s01e01", 3.5, 9, 4, 7, 90.02, "A man lies.", 0.93)
QUERY = {"query_id": 54251, "query": "Somebody lies.", "relevant_moment": [MOMENT]}
RUN = [{"query_id": 54251, "query": "Somebody lies.", "predictions": [["house_s01e01", 3.0, 9.0, 12.5]]}]
CORPUS = VideoCorpus({"house_s01e01": 90.02}, {14: "house_s01e01"})


def parse_ground_truth(data: bytes) -> list[QueryMoments[JudgedMoment]]:
    return queries_of(formats.parse_ground_truth(data, FileFormat.TVR_RANKING))


def parse_run(data: bytes, *, corpus: VideoCorpus | None = None) -> list[RankedQuery]:
    return queries_of(formats.parse_run(data, FileFormat.TVR_RANKING, corpus=corpus, strict=False))


def encoded(value: Any) -> bytes:
    """JSON bytes; NaN and Infinity are written as Python reads them."""
    return json.dumps(value).encode()


def changed(**values: Any) -> bytes:
    """A ground truth of one query whose only moment has other values; None removes the key."""
    moment = {key: value for key, value in {**MOMENT, **values}.items() if value is not None}
    return encoded([{**QUERY, "relevant_moment": [moment]}])


def predicted(*row: Any) -> bytes:
    """A run of one query whose second prediction is ``row``."""
    return encoded([{"query_id": 1, "query": "q", "predictions": [["house_s01e01", 0, 1, 2], list(row)]}])


def test_both_published_forms_are_read() -> None:
    assert parse_ground_truth(encoded([QUERY])) == [QueryMoments("54251", "Somebody lies.", (JUDGED,))]
    flat = {"query_id": 54251, "query": "Somebody lies.", **MOMENT}
    other = {**flat, "query_id": 9, "query": "Somebody\u2028runs."}
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in (flat, other, {**flat, "relevance": 0}))
    first, second = parse_ground_truth(f"\ufeff{lines}\n\n".encode())
    assert (first.query_id, [row.relevance for row in first.moments]) == ("54251", [4, 0])
    assert (second.query_id, second.text, second.moments) == ("9", "Somebody\u2028runs.", (JUDGED,))
    assert parse_corpus(b'{"house_s01e01": [90.02, 14]}') == CORPUS
    assert parse_corpus(b'{"house_s01e01": 90.02}') == VideoCorpus({"house_s01e01": 90.02}, {})


@pytest.mark.parametrize("id_key", ["query_id", "desc_id"])
@pytest.mark.parametrize("text_key", ["query", "desc"])
@pytest.mark.parametrize("video", [14, "house_s01e01"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_run_is_read_in_every_published_spelling(id_key: str, text_key: str, video: Any, pack: Any) -> None:
    data = encoded([{id_key: 54251, text_key: "Somebody lies.", "predictions": [[video, 3.0, 9.0, 12.5]]}])
    moment = ScoredMoment("house_s01e01", 3.0, 9.0, 12.5)
    assert parse_run(pack(data), corpus=CORPUS) == [QueryMoments("54251", "Somebody lies.", (moment,))]


GOOD_LINE, OTHER_TEXT = (json.dumps({"query_id": 1, "query": text, **MOMENT}) for text in "qr")
BAD_TRUTHS = [
    (b"7", errors.InvalidRecord, "the ground truth must be an array, got 7"),
    (b"[" + b"9" * 5000 + b"]", errors.MalformedFile, "not usable JSON"),
    (b"\xff\xfe", errors.MalformedFile, "not UTF-8 text: byte 0"),
    (b"\x1f\x8b\x08\x00", errors.MalformedFile, "a broken archive: Compressed file ended"),
    (b'{"query_id": 1}\n{"query', errors.InvalidRecord, "line 1: no key timestamp"),
    (f"{GOOD_LINE}\n{OTHER_TEXT}".encode(), errors.InvalidRecord, "line 2: query 1 had another"),
    (encoded([3]), errors.InvalidRecord, "entry 1: an entry must be an object, got 3"),
    (encoded([{**QUERY, "query_id": True}]), errors.InvalidRecord, "entry 1: query_id must be a string"),
    (encoded([{**QUERY, "query": "\ud800"}]), errors.InvalidRecord, "query holds half a character"),
    (changed(relevance="4"), errors.InvalidRecord, "relevance must be a finite number, got '4'"),
    (changed(relevance=True), errors.InvalidRecord, "relevance must be a finite number, got True"),
    (changed(timestamp=[0, 10**400]), errors.InvalidRecord, "end must be a finite number, got 1000"),
    (changed(timestamp=[5]), errors.InvalidRecord, r"timestamp must be \[start, end\]"),
    (changed(video_name=" "), errors.InvalidRecord, "video name must be a string that is not blank"),
    (changed(pair_id=1.5), errors.InvalidRecord, "pair_id must be a whole number or a string"),
]
BAD_RUNS = [
    (b"[]", errors.EmptyFile, "no queries"),
    (b"7", errors.InvalidRecord, "the run must be an array, got 7"),
    (b"{}", errors.InvalidRecord, "line 1: no key query_id or desc_id"),
    (predicted(VIDEO, 0, 1, None), errors.InvalidRecord, "entry 1: query 1: prediction 2: score must be a finite"),
    (predicted(True, 0, 1, 2), errors.InvalidRecord, "video name must be a string"),
]
BAD_CORPORA = [
    (b"{}", errors.EmptyFile, "no videos"),
    (b"[]", errors.InvalidRecord, "the corpus must be an object"),
    (b'{"a": [1.0]}', errors.InvalidRecord, r"video a: expected duration or \[duration, index\]"),
    (b'{"a": "long"}', errors.InvalidRecord, "video a: duration must be a finite number"),
    (b'{"a": [1, 2], "b": [1, 2]}', errors.InvalidRecord, "video b: index 2 belongs to a already"),
]
READERS: dict[str, Callable[[Path], object]] = {
    "truth": lambda path: formats.read_ground_truth(path, FileFormat.TVR_RANKING),
    "run": lambda path: formats.read_run(path, FileFormat.TVR_RANKING, corpus=CORPUS, strict=False),
    "corpus": read_corpus,
}


@pytest.mark.parametrize(
    ("reader", "data", "kind", "message"),
    [(reader, *row) for reader, rows in zip(READERS, (BAD_TRUTHS, BAD_RUNS, BAD_CORPORA), strict=True) for row in rows],
)
def test_a_file_that_cannot_be_used_says_where_and_why(
    tmp_path: Path, reader: str, data: bytes, kind: type[errors.ScoringError], message: str
) -> None:
    path = tmp_path / f"{reader}.json"
    path.write_bytes(data)
    with pytest.raises(kind, match=message) as raised:
        READERS[reader](path)
    assert str(raised.value).startswith(f"{path}: ")


def test_an_index_needs_a_corpus_and_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.CorpusNeeded, match="prediction 2: video 14 is an index; give the video corpus"):
        parse_run(predicted(14, 0, 1, 2))
    with pytest.raises(errors.CorpusNeeded, match="this corpus has durations, but no indexes"):
        parse_run(predicted(14, 0, 1, 2), corpus=parse_corpus(b'{"house_s01e01": 90.02}'))
    with pytest.raises(errors.DuplicateQuery, match="query 1 appears more than once"):
        JudgedTable.from_queries([QueryMoments("1", "q", (JUDGED,))] * 2)
    with pytest.raises(errors.UnreadableFile, match=r"gone\.json: No such file"):
        formats.read_run(tmp_path / "gone.json")
    with pytest.raises(errors.UnreadableFile, match=r"run\.json: cannot be written: No such file"):
        formats.write_run(tmp_path / "gone" / "run.json", RunTable.from_moments({}))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "run.json"
    path.write_text("old")
    monkeypatch.setattr("moment_retrieval.jsonfiles.os.fsync", full_disk)
    with pytest.raises(errors.UnreadableFile, match="No space left"):
        formats.write_run(path, formats.parse_run(encoded(RUN)))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_written_files_keep_the_published_form(tmp_path: Path) -> None:
    formats.write_ground_truth(tmp_path / "val.json", formats.parse_ground_truth(encoded([QUERY])))
    formats.write_run(tmp_path / "run.json", formats.parse_run(encoded(RUN)))
    assert json.loads((tmp_path / "val.json").read_bytes()) == [QUERY]
    assert json.loads((tmp_path / "run.json").read_bytes()) == RUN


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(str.strip)
ids = st.one_of(st.integers(-(10**30), 10**30).map(str), names)
numbers = st.one_of(st.integers(0, 10**6), st.floats(0, 1e6))
optional_number = st.one_of(st.none(), st.floats(-1, 1))
scored_moments = st.builds(ScoredMoment, names, numbers, numbers, numbers)
notes = {
    "pair_id": st.one_of(st.none(), st.integers(0, 10**6), names),
    "duration_s": optional_number,
    "caption": st.one_of(st.none(), names),
    "similarity": optional_number,
}


@st.composite
def judged_moments(draw: st.DrawFn) -> JudgedMoment:
    start, end = sorted((draw(numbers), draw(numbers)))
    relevance = draw(st.one_of(st.integers(0, 4), st.floats(0, 4)))
    return JudgedMoment(draw(names), start, end, relevance, **{name: draw(values) for name, values in notes.items()})


def queries(moments: Any) -> Any:
    """Lists of queries with different ids."""
    query = st.builds(QueryMoments, ids, names, st.lists(moments, max_size=4).map(tuple))
    return st.lists(query, min_size=1, max_size=4, unique_by=lambda query: query.query_id)


@given(queries(judged_moments()), queries(scored_moments), st.sampled_from(["json", "json.gz"]))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, truth: Any, run: Any, ending: str) -> None:
    folder = tmp_path_factory.mktemp("records")
    formats.write_ground_truth(folder / f"val.{ending}", JudgedTable.from_queries(truth))
    assert queries_of(formats.read_ground_truth(folder / f"val.{ending}", FileFormat.TVR_RANKING)) == truth
    formats.write_run(folder / f"run.{ending}", RunTable.from_queries(run))
    assert queries_of(formats.read_run(folder / f"run.{ending}", FileFormat.TVR_RANKING, strict=False)) == run


SERIALIZING = "Error while serializing: I/O error: {} (os error {})"


def of_system(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def of_safetensors(number: int) -> SafetensorError:
    return SafetensorError(SERIALIZING.format(os.strerror(number), number))


@pytest.mark.parametrize(
    ("error", "is_full_disk"),
    [
        (of_system(errno.ENOSPC), True),
        (of_system(errno.EDQUOT), True),
        (OSError(errno.ENOSPC, "full"), True),
        (of_safetensors(errno.ENOSPC), True),
        (of_safetensors(errno.EDQUOT), True),
        (OSError("123 requested and 45 written"), True),
        (of_system(errno.EIO), False),
        (of_safetensors(errno.EIO), False),
        (OSError(errno.EIO, "123 requested and 45 written"), False),
        (OSError("123 pages requested and 45 written off"), False),
        (ValueError("123 requested and 45 written"), False),
        (MemoryError(), False),
    ],
)
def test_a_full_disk_is_distinguished_from_other_errors(error: Exception, is_full_disk: bool) -> None:
    assert is_out_of_room(error) is is_full_disk


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the device that is always full")
@pytest.mark.parametrize("buffering", [0, -1])
def test_numpy_says_it_as_we_know_it(buffering: int) -> None:
    with pytest.raises(OSError) as caught, open("/dev/full", "wb", buffering=buffering) as file:
        np.zeros(100_000).tofile(file)
    assert is_out_of_room(caught.value)
