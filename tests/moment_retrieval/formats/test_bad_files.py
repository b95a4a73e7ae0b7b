"""Unusable input is reported with its line."""

import gzip
import io
import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from moment_retrieval import errors
from moment_retrieval.formats import FileFormat, parse_ground_truth, parse_run
from moment_retrieval.formats.matrices import read_relevance
from moment_retrieval.records import VideoCorpus, parse_corpus
from tests.mutations import mutated

CORPUS = VideoCorpus({"a": 9.0, "b": 9.0}, {1: "a", 2: "b"})
HEAD = "query_id,video_name,start,end,score"


def pretty(*predictions: Any) -> str:
    """A run of two queries, spread over lines: the second query's entry begins in line 13."""
    rows = [{"query_id": 1, "predictions": [["a", 0, 1, 0.5]]}, {"query_id": 2, "predictions": list(predictions)}]
    return json.dumps(rows, indent=1)


TVR = """{"video2idx": {"a": 1},
"VCMR": [{"desc_id": 1,
"predictions": [[3, 0, 1, 1]]}]}"""
MVMR = """{"a": {"predictions": []},
"b": {"predictions": [[],
[["a", 0, null, 1]]]}}"""
RUNS = {
    "NaN": (
        pretty(["a", 0, 1, 1], ["a", float("nan"), 1, 1]),
        "line 22: entry 2: query 2: prediction 2: start must be",
    ),
    "inverted": (
        pretty(["a", 0, 1, 1], ["a", 5, 4.5, 1]),
        r"line 22: .*prediction 2: the moment ends before it starts: \[5, 4",
    ),
    "unknown video": (pretty(["c", 0, 1, 1]), "line 16: entry 2: query 2: prediction 1: the corpus has no video 'c'"),
    "unknown index": (
        pretty(["a", 0, 1, 1], [7, 0, 1, 1]),
        "line 22: .*: prediction 2: the corpus has no video with index 7",
    ),
    "too long": (pretty(["a", 0, 1]), r"line 16: .*expected \[video, start, end, score\], got \['a', 0, 1\]"),
    "no list": (pretty(["a", 0, 1, 1], "a"), "line 22: .*expected .*, got 'a'"),
    "far away": (pretty(["a", 0, 1e12, 1]), "line 16: .*times must be finite, in seconds, got 0 to 1000000000000.0"),
    "twice": (
        pretty().replace('"query_id": 2', '"query_id": 1'),
        "line 13: entry 2: query 1 appeared before, in line 2",
    ),
    "not JSON": (pretty(["a", 0, 1, 1])[:-3] + "}]x", r"line 23 column 4: not JSON: Extra data"),
    "cut off": (pretty(["a", 0, 1, 1])[:-12], "line 21 column 2: not JSON"),
    "broken line": ('{"query_id": 1, "predictions": []}\n{"query_id": 2, "pre', "line 2 column 17: not JSON"),
    "two on a line": ('{"query_id": 1, "predictions": []} {}', "line 1 column 36: not JSON: Extra data"),
    "csv number": (f"{HEAD}\n1,a,0,1,1\n1,a,0,x,1\n", "^line 3: end must be a finite number, got 'x'"),
    "csv inverted": (
        f"{HEAD}\n1,a,0,1,1\n2,a,0,1,1\n1,a,3,1,1\n",
        r"^line 4: the moment ends before it starts: \[3.0, 1.0\]",
    ),
    "csv columns": (f"{HEAD}\n1,a,0,1\n", "^line 2: expected 5 columns, got 4"),
    "csv quotes": (f'{HEAD}\n1,"a"b,0,1,1\n', "^line 2: not CSV: "),
    "csv names": (
        "query_id,video_name,start,score\n",
        "^line 1: no column end; there are 'query_id, video_name, start, score'",
    ),
    "csv twice": (f"{HEAD},score\n", "^line 1: a column appears twice"),
    "csv video": (f"{HEAD}\n1,c,0,1,1\n", "^line 2: the corpus has no video 'c'"),
    "trec columns": (
        "1 Q0 a:0-1 1 1 x\n1 Q0 a:0-1 1 x\n",
        r"^line 2: expected 6 columns \(query, Q0, moment, rank, score, run",
    ),
    "trec moment": ("1 Q0 doc17 1 1 x\n", "^line 1: a moment must be video:start-end, got 'doc17'"),
    "trec score": ("1 Q0 a:0-1 1 nan x\n", "^line 1: score must be a finite number, got 'nan'"),
    "qvhighlights": (
        '{"qid": 1, "vid": "a", "pred_relevant_windows": [[1, 2]]}',
        r"^line 1: window 1: expected \['start', 'end', 'sc",
    ),
    "tvr index": (TVR, "^VCMR: line 3: entry 1: query 1: prediction 1: video2idx has no video with index 3"),
    "tvr names": ('{"video2idx": {"a": 1, "b": 1}, "VCMR": []}', "^video2idx: video b: index 1 belongs to a already"),
    "mvmr": (MVMR, "^line 3: video b: query 1: prediction 1: end must be a finite number, got None"),
    "neither": ("hello world", "^line 1: neither JSON nor columns of a form that is known: 'hello world'"),
    "empty": (" \n", "^no content"),
    "ground truth": (
        '[{"query_id": 1, "relevant_moment": []}]',
        "^this looks like ground truth in the form tvr-ranking; a run is needed",
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_cannot_be_used_says_where_and_why(name: str) -> None:
    text, message = RUNS[name]
    with pytest.raises(errors.ScoringError, match=message):
        parse_run(text.encode(), corpus=CORPUS)


TRUTHS = {
    "relevance": (
        """[{"query_id": 1, "relevant_moment": [
        {"video_name": "a", "timestamp": [0, 1], "relevance": 9}]}]""",
        "line 2: entry 1: query 1: moment 1: relevance must be from 0 to 4, got 9",
    ),
    "lines": (
        """{"query_id": 1, "video_name": "a", "timestamp": [0, 1], "relevance": 1}
        {"query_id": 1, "video_name": "a", "timestamp": [2, 1], "relevance": 1}""",
        r"^line 2: the moment ends before it starts: \[2.0, 1.0\]",
    ),
    "csv": ("query_id,video_name,start,end,relevance\n1,a,0,1,5\n", "^line 2: relevance must be from 0 to 4, got 5.0"),
    "qrels": ("1 0 a:0-1 2\n1 0 a:0-1 -1\n", "^line 2: relevance must be from 0 to 4, got -1.0"),
    "tvr": ('{"desc_id": 1, "vid_name": "a", "ts": [0]}', r"^line 1: ts must be \[start, end\], or several, got \[0\]"),
    "windows": (
        '{"qid": 1, "query": "a", "vid": "a", "duration": 9, "relevant_windows": [[2, 1]]}',
        r"^line 1: window 1: the moment ends before it starts: \[2, 1\]",
    ),
    "clips": (
        """{"qid": 1, "vid": "a", "duration": 4, "relevant_windows": [], "relevant_clip_ids": [2],
        "saliency_scores": [[1]]}""".replace("\n", ""),
        "^line 1: clip 1: a clip must be from 0 to 1, got 2",
    ),
    "many clips": (
        '{"qid": 1, "vid": "a", "duration": 1e9, "relevant_windows": []}',
        "^line 1: duration must give up to 100000 clips",
    ),
    "mvmr lists": (
        """{"a": {"duration": 9, "timestamps": [[0, 1]], "sentences": [],
        "pos_moments": [], "retrieval_pool": []}}""",
        "^line 1: video a: timestamps, sentences, pos_moments, retrieval_pool must have one entry",
    ),
    "mvmr video": (
        """{"a": {"duration": 9, "timestamps": [[0, 1]], "sentences": ["s"],
        "pos_moments": [[["x", "s", [0, 1]]]], "retrieval_pool": [["a"]]}}""",
        "^line 2: video a: query 0: positive 1: the file has no video 'x'",
    ),
    "a run": ("1 Q0 a:0-1 1 1 x\n", "^this looks like a run in the form trec; ground truth is needed"),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_ground_truth_that_cannot_be_used_says_where_and_why(name: str) -> None:
    text, message = TRUTHS[name]
    with pytest.raises(errors.ScoringError, match=message):
        parse_ground_truth(text.encode(), corpus=CORPUS)


def test_a_file_of_another_form_than_named_is_refused() -> None:
    with pytest.raises(errors.InvalidRecord, match="^line 1: expected 6 columns"):
        parse_run(pretty().encode(), FileFormat.TREC)
    with pytest.raises(errors.MalformedFile, match="^not Parquet: "):
        parse_run(b"PAR1 and what else", FileFormat.PARQUET)


def test_an_inverted_moment_may_be_let_through_and_overlaps_nothing() -> None:
    data = pretty(["a", 5, 4.5, 1]).encode()
    assert parse_run(data, strict=False)["2"][0].end_s == 4.5


def test_moments_without_length_are_read() -> None:
    assert parse_run(pretty(["a", 5, 5, 1]).encode())["2"][0].start_s == 5


@pytest.mark.parametrize(
    ("limit", "data", "message"),
    [
        (
            "entries.MAX_VALUE",
            b'[{"query_id": 1, "predictions": [' + b"[]," * 99 + b"[]]}]",
            "^line 1: a value of more",
        ),
        ("entries.MAX_LINES", f"{HEAD}\n".encode() + b"\n" * 99, "^more than 20 lines"),
        (
            "formats.builder.MAX_QUERIES",
            b"".join(b'{"query_id": %d, "predictions": []}\n' % n for n in range(99)),
            "21",
        ),
        ("formats.builder.MAX_MOMENTS", f"{HEAD}\n".encode() + b"1,a,0,1,1\n" * 99, "^line 22: more than 20 moments"),
        ("formats.builder.MAX_MOMENTS", pretty(*[["a", 0, 1, 1]] * 20).encode(), "query 2: more than 20 moments"),
    ],
)
def test_what_would_fill_the_memory_is_refused(
    limit: str, data: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"moment_retrieval.{limit}", 20)
    with pytest.raises(errors.UnreadableFile, match=message):
        parse_run(data)


def test_an_object_of_too_many_keys_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moment_retrieval.entries.MAX_KEYS", 3)
    with pytest.raises(errors.UnreadableFile, match="line 2: more than 3 keys"):
        parse_run(b'{"VCMR": [], "video2idx": {}, "a": 1,\n"b": 2}')


@pytest.mark.parametrize("indent", [None, 1])
def test_a_file_longer_than_any_of_its_values_is_read_piece_by_piece(
    indent: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"query_id": n, "predictions": [["a", 0, 1, n]] * 5} for n in range(50)]
    submission = {"SVMR": rows, "video2idx": {"a": 0}, "VCMR": [{**row, "predictions": [[0, 0, 1, 9]]} for row in rows]}
    correct = [dict(parse_run(json.dumps(value).encode())) for value in (rows, submission)]
    monkeypatch.setattr("moment_retrieval.entries.MAX_VALUE", 400)
    assert [dict(parse_run(json.dumps(value, indent=indent).encode())) for value in (rows, submission)] == correct
    broken = json.dumps(rows, indent=indent).replace('"query_id": 40', '"query_id" 40').encode()
    with pytest.raises(errors.MalformedFile, match="not JSON: Expecting ':' delimiter"):
        parse_run(broken)


def test_what_is_nested_too_deep_is_refused() -> None:
    deep = b'{"a":' * 3000 + b"1" + b"}" * 3000
    for data in (b'{"video2idx":%b}' % deep, b'{"v":{"predictions":%b}}' % deep, b"[%b]" % deep):
        with pytest.raises(errors.MalformedFile, match="line 1: not usable JSON"):
            parse_run(data)


def test_a_moment_of_endless_digits_is_refused_at_once() -> None:
    """The number of ways to part n digits grows with their square; nobody tries them (see pytest's timeout)."""
    line = f"1 Q0 a:{'1' * 200_000}x 1 0.5 ours\n".encode()
    with pytest.raises(errors.InvalidRecord, match="^line 1: a moment must be video:start-end"):
        parse_run(line, FileFormat.TREC)


def zipped(content: bytes, method: int) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        archive.writestr("run.json", content)
    return target.getvalue()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_an_archive_that_says_itself_how_much_memory_it_needs_is_refused(method: int) -> None:
    with pytest.raises(errors.MalformedFile, match="packed in a way that is not read"):
        parse_run(zipped(b"[]", method))


def test_an_archive_whose_directory_is_too_large_is_not_looked_through() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for number in range(20_000):
            archive.writestr(f"{number}.json", b"")
    with pytest.raises(errors.MalformedFile, match="the archive holds too many files"):
        parse_run(target.getvalue())


RUN = b'[{"query_id": 7, "query": "one", "predictions": [["a", 0.0, 1.5, 0.5], ["b", 1, 2, 0.25]]}]'
SEEDS = [
    RUN,
    b'{"query_id": 7, "query": "one", "predictions": [["a", 0.0, 1.5, 0.5]]}\n',
    b'{"video2idx": {"a": 0}, "VCMR": [{"desc_id": 1, "desc": "x", "predictions": [[0, 1.0, 2.0, 0.5]]}]}',
    b'{"qid": 1, "query": "a", "vid": "v", "pred_relevant_windows": [[0, 2, 0.5]], "pred_saliency_scores": [0.1]}',
    b'{"qid": 1, "query": "a", "vid": "v", "duration": 10, "relevant_windows": [[0, 2]], "relevant_clip_ids": [0], '
    b'"saliency_scores": [[1, 2, 3]]}',
    b'{"v": {"fps": 25.0, "num_frames": 300, "timestamps": [[0, 55]], "sentences": ["s"], '
    b'"pos_moments": [[["v", "t", [1, 3]]]], "retrieval_pool": [["v"]]}}',
    b"7 Q0 a:0.0-1.5 1 0.5 ours\n8 Q0 b:1-2 1 0.25 ours\n",
    b"query_id,video_name,start,end,score,query\n7,a,0.0,1.5,0.5,one\n",
]


@pytest.mark.parametrize("seeds", [SEEDS, [zipped(RUN, zipfile.ZIP_DEFLATED), gzip.compress(RUN, mtime=0)]])
def test_mutations_are_read_or_refused(seeds: list[bytes]) -> None:
    for content in mutated(seeds, 500, text=seeds is SEEDS):
        for parse in (parse_run, parse_ground_truth, parse_corpus):
            with suppress(errors.ScoringError):
                parse(content)


def arrays(**values: np.ndarray) -> bytes:
    target = io.BytesIO()
    np.savez(target, **values)
    return target.getvalue()


def test_mutations_of_matrices_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "matrix.npz"
    for content in mutated([arrays(relevance=np.ones((3, 4)), owners=np.arange(4))], 500):
        path.write_bytes(content)
        with suppress(errors.ScoringError):
            read_relevance(path)
