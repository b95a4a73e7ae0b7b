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
from moment_retrieval.formats import FileFormat, parse_ground_truth, parse_run, read_ground_truth
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
RUNS = [
    (pretty(["a", 0, 1, 1], ["a", float("nan"), 1, 1]), "line 22: entry 2: query 2: prediction 2: start must be"),
    (pretty(["a", 0, 1, 1], ["a", 5, 4.5, 1]), r"line 22: .*prediction 2: the moment ends before it starts: \[5, 4"),
    (pretty(["c", 0, 1, 1]), "line 16: entry 2: query 2: prediction 1: the corpus has no video 'c'"),
    (pretty(["a", 0, 1, 1], [7, 0, 1, 1]), "line 22: .*: prediction 2: the corpus has no video with index 7"),
    (pretty(["a", 0, 1]), r"line 16: .*expected \[video, start, end, score\], got \['a', 0, 1\]"),
    (pretty(["a", 0, 1, 1], "a"), "line 22: .*expected .*, got 'a'"),
    (pretty(["a", 0, 1e12, 1]), "line 16: .*times must be finite, in seconds, got 0 to 1000000000000.0"),
    (pretty().replace('d": 2', 'd": 1'), "line 13: entry 2: query 1 appeared before, in line 2"),
    (pretty(["a", 0, 1, 1])[:-3] + "}]x", r"line 23 column 4: not JSON: Extra data"),
    (pretty(["a", 0, 1, 1])[:-12], "line 21 column 2: not JSON"),
    ('{"query_id": 1, "predictions": []}\n{"query_id": 2, "pre', "line 2 column 17: not JSON"),
    ('{"query_id": 1, "predictions": []} {}', "line 1 column 36: not JSON: Extra data"),
    (f"{HEAD}\n1,a,0,1,1\n1,a,0,x,1\n", "^line 3: end must be a finite number, got 'x'"),
    (f"{HEAD}\n1,a,0,1,1\n2,a,0,1,1\n1,a,3,1,1\n", r"^line 4: the moment ends before it starts: \[3.0, 1.0\]"),
    (f"{HEAD}\n1,a,0,1\n", "^line 2: expected 5 columns, got 4"),
    (f'{HEAD}\n1,"a"b,0,1,1\n', "^line 2: not CSV: "),
    ("query_id,video_name,start,score\n", "^line 1: no column end; there are 'query_id, video_name, start, score'"),
    (f"{HEAD},score\n", "^line 1: a column appears twice"),
    (f"{HEAD}\n1,c,0,1,1\n", "^line 2: the corpus has no video 'c'"),
    ("1 Q0 a:0-1 1 1 x\n1 Q0 a:0-1 1 x\n", r"^line 2: expected 6 columns \(query, Q0, moment, rank, score, run"),
    ("1 Q0 doc17 1 1 x\n", "^line 1: a moment must be video:start-end, got 'doc17'"),
    ("1 Q0 a:0-1 1 nan x\n", "^line 1: score must be a finite number, got 'nan'"),
    ('{"qid": 1, "vid": "a", "pred_relevant_windows": [[1, 2]]}', r"^line 1: window 1: expected \['start', 'end', 'sc"),
    (TVR, "^VCMR: line 3: entry 1: query 1: prediction 1: video2idx has no video with index 3"),
    ('{"video2idx": {"a": 1, "b": 1}, "VCMR": []}', "^video2idx: video b: index 1 belongs to a already"),
    (MVMR, "^line 3: video b: query 1: prediction 1: end must be a finite number, got None"),
    ("hello world", "^line 1: neither JSON nor columns of a form that is known: 'hello world'"),
    (" \n", "^no content"),
    ('[{"query_id": 1, "relevant_moment": []}]', "^this looks like ground truth in the form tvr-ranking; a run"),
]


@pytest.mark.parametrize(("text", "message"), RUNS)
def test_a_run_that_cannot_be_used_says_where_and_why(text: str, message: str) -> None:
    with pytest.raises(errors.ScoringError, match=message):
        parse_run(text.encode(), corpus=CORPUS)


def judged_row(times: str, relevance: int = 1) -> str:
    return f'{{"query_id": 1, "video_name": "a", "timestamp": {times}, "relevance": {relevance}}}'


HIGHLIGHT = '{"qid": 1, "query": "a", "vid": "a", "duration": '
CLIPS = HIGHLIGHT + '4, "relevant_windows": [], "relevant_clip_ids": [2], "saliency_scores": [[1]]}'
POOL = '{"a": {"duration": 9, "timestamps": [[0, 1]], "sentences": %s,\n"pos_moments": %s, "retrieval_pool": [["a"]]}}'
TRUTHS = [
    (
        f'[{{"query_id": 1, "relevant_moment": [\n{judged_row("[0, 1]", 10)}]}}]',
        "line 2: entry 1: query 1: moment 1: relevance must be from 0 to 9, got 10",
    ),
    (judged_row("[0, 1]") + "\n" + judged_row("[2, 1]"), r"^line 2: the moment ends before it starts: \[2.0, 1.0\]"),
    ("query_id,video_name,start,end,relevance\n1,a,0,1,9.5\n", "^line 2: relevance must be from 0 to 9, got 9.5"),
    ("1 0 a:0-1 2\n1 0 a:0-1 -1\n", "^line 2: relevance must be from 0 to 9, got -1.0"),
    ('{"desc_id": 1, "vid_name": "a", "ts": [0]}', r"^line 1: ts must be \[start, end\], or several, got \[0\]"),
    (HIGHLIGHT + '9, "relevant_windows": [[2, 1]]}', r"^line 1: window 1: the moment ends before it starts: \[2, 1\]"),
    (CLIPS, "^line 1: clip 1: a clip must be from 0 to 1, got 2"),
    (HIGHLIGHT + '1e9, "relevant_windows": []}', "^line 1: duration must give up to 100000 clips"),
    (POOL % ("[]", "[]"), "^line 1: video a: timestamps, sentences, pos_moments, retrieval_pool must have one entry"),
    (POOL % ('["s"]', '[[["x", "s", [0, 1]]]]'), "^line 2: video a: query 0: positive 1: the file has no video 'x'"),
    ("1 Q0 a:0-1 1 1 x\n", "^this looks like a run in the form trec; ground truth is needed"),
]


@pytest.mark.parametrize(("text", "message"), TRUTHS)
def test_ground_truth_that_cannot_be_used_says_where_and_why(text: str, message: str) -> None:
    with pytest.raises(errors.ScoringError, match=message):
        parse_ground_truth(text.encode(), corpus=CORPUS)


SEVEN = judged_row("[0, 1]") + "\n" + judged_row("[1, 2]", 7)


@pytest.mark.parametrize(
    ("settings", "top_grade"),
    [
        ('{"consensus": {"highest_grade": 4}}', 4),
        ('{"consensus": {"highest_grade": 1}}', 1),
        ('{"consensus": {"rounds": 2}}', 4),  # of a release from before projects had rules
    ],
)
def test_relevance_above_the_scale_of_the_release_is_refused_by_line(
    tmp_path: Path, settings: str, top_grade: int
) -> None:
    truth = tmp_path / "val.json"
    truth.write_text(SEVEN)
    (tmp_path / "settings.json").write_text(settings)
    with pytest.raises(errors.InvalidRecord, match=f"line 2: relevance must be from 0 to {top_grade}, got 7"):
        read_ground_truth(truth)
    assert len(read_ground_truth(truth, top_grade=7)["1"]) == 2


@pytest.mark.parametrize(
    "settings", [None, "// no JSON", "[]", '{"a": 1}', '{"consensus": {"highest_grade": "4"}}', '{"consensus": []}']
)
def test_relevance_of_a_file_outside_of_a_release_goes_to_nine(tmp_path: Path, settings: str | None) -> None:
    truth = tmp_path / "val.json"
    truth.write_text(SEVEN)
    if settings is not None:
        (tmp_path / "settings.json").write_text(settings)
    assert [moment.relevance for moment in read_ground_truth(truth)["1"]] == [1, 7]
    with pytest.raises(errors.InvalidRecord, match="line 2: relevance must be from 0 to 6, got 7"):
        read_ground_truth(truth, top_grade=6)


def test_another_form_than_named_is_refused_and_moments_without_length_are_read() -> None:
    with pytest.raises(errors.InvalidRecord, match="^line 1: expected 6 columns"):
        parse_run(pretty().encode(), FileFormat.TREC)
    with pytest.raises(errors.MalformedFile, match="^not Parquet: "):
        parse_run(b"PAR1 and what else", FileFormat.PARQUET)
    assert parse_run(pretty(["a", 5, 5, 1]).encode())["2"][0].start_s == 5
    assert parse_run(pretty(["a", 5, 4.5, 1]).encode(), strict=False)["2"][0].end_s == 4.5


MANY_QUERIES = b"".join(b'{"query_id": %d, "predictions": []}\n' % n for n in range(99))
MANY_KEYS = b'{"VCMR": [], "video2idx": {}, "a": 1,\n%s}' % b",".join(b'"%d": 2' % n for n in range(20))


@pytest.mark.parametrize(
    ("limit", "data", "message"),
    [
        ("entries.MAX_VALUE", b'[{"query_id": 1, "predictions": [%s[]]}]' % (b"[]," * 99), "^line 1: a value of more"),
        ("entries.MAX_LINES", f"{HEAD}\n".encode() + b"\n" * 99, "^more than 20 lines"),
        ("entries.MAX_KEYS", MANY_KEYS, "line 2: more than 20 keys"),
        ("formats.builder.MAX_QUERIES", MANY_QUERIES, "21"),
        ("formats.builder.MAX_MOMENTS", f"{HEAD}\n".encode() + b"1,a,0,1,1\n" * 99, "^line 22: more than 20 moments"),
        ("formats.builder.MAX_MOMENTS", pretty(*[["a", 0, 1, 1]] * 20).encode(), "query 2: more than 20 moments"),
    ],
)
def test_what_fills_the_memory_is_refused(
    limit: str, data: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"moment_retrieval.{limit}", 20)
    with pytest.raises(errors.UnreadableFile, match=message):
        parse_run(data)


@pytest.mark.parametrize("indent", [None, 1])
def test_a_long_file_is_read_piece_by_piece(indent: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"query_id": n, "predictions": [["a", 0, 1, n]] * 5} for n in range(50)]
    submission = {"SVMR": rows, "video2idx": {"a": 0}, "VCMR": [{**row, "predictions": [[0, 0, 1, 9]]} for row in rows]}
    correct = [dict(parse_run(json.dumps(value).encode())) for value in (rows, submission)]
    monkeypatch.setattr("moment_retrieval.entries.MAX_VALUE", 400)
    assert [dict(parse_run(json.dumps(value, indent=indent).encode())) for value in (rows, submission)] == correct
    broken = json.dumps(rows, indent=indent).replace('"query_id": 40', '"query_id" 40').encode()
    with pytest.raises(errors.MalformedFile, match="not JSON: Expecting ':' delimiter"):
        parse_run(broken)


def test_what_would_take_long_or_much_memory_is_refused_at_once() -> None:
    deep = b'{"a":' * 3000 + b"1" + b"}" * 3000
    for data in (b'{"video2idx":%b}' % deep, b'{"v":{"predictions":%b}}' % deep, b"[%b]" % deep):
        with pytest.raises(errors.MalformedFile, match="line 1: not usable JSON"):
            parse_run(data)
    line = f"1 Q0 a:{'1' * 200_000}x 1 0.5 ours\n".encode()
    with pytest.raises(errors.InvalidRecord, match="^line 1: a moment must be video:start-end"):
        parse_run(line, FileFormat.TREC)
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):  # which say themselves how much
        with pytest.raises(errors.MalformedFile, match="packed in a way that is not read"):
            parse_run(zipped(b"[]", method))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for number in range(20_000):
            archive.writestr(f"{number}.json", b"")
    with pytest.raises(errors.MalformedFile, match="the archive holds too many files"):
        parse_run(target.getvalue())


def zipped(content: bytes, method: int) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        archive.writestr("run.json", content)
    return target.getvalue()


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


def test_mutations_of_matrices_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "matrix.npz"
    np.savez(path, relevance=np.ones((3, 4)), owners=np.arange(4))
    for content in mutated([path.read_bytes()], 500):
        path.write_bytes(content)
        with suppress(errors.ScoringError):
            read_relevance(path)
