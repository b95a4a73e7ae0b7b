"""Every form: what is written is read again as it was, by name and by its content."""

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from moment_retrieval import errors, jsonfiles
from moment_retrieval.formats import (
    CODECS,
    FileFormat,
    delimited,
    parse_ground_truth,
    parse_run,
    read_ground_truth,
    read_run,
    trec,
    tvr_ranking,
    write_ground_truth,
    write_run,
)
from moment_retrieval.formats.mvmr import PoolTruth
from moment_retrieval.formats.qvhighlights import HighlightRun, HighlightTruth
from moment_retrieval.records import JudgedMoment, QueryMoments, ScoredMoment
from moment_retrieval.tables import JudgedTable, RunTable

TEXTS = ('A man\'s, "quote"', "Two\u2028lines")


RUN = RunTable.from_queries(
    [
        QueryMoments("house#0", TEXTS[0], (ScoredMoment("house", 0.5, 2.25, 3.5), ScoredMoment("house", 1, 2, 1))),
        QueryMoments("house#1", TEXTS[1], (ScoredMoment("house", 1e-7, 3.0000001, -2.0),)),
    ]
)
TRUTH = JudgedTable.from_queries(
    [
        QueryMoments("house#0", TEXTS[0], (JudgedMoment("house", 0.5, 2.25, 1, 7, 90.5, "A man.", 0.5),)),
        QueryMoments("house#1", TEXTS[1], (JudgedMoment("house", 1e-7, 3.0000001, 1, "x-1"),)),
    ]
)
TYPED = JudgedTable(TRUTH.query_ids, TRUTH.offsets, TRUTH.spans, TRUTH.weights, TRUTH.texts, kinds=("vt", "t"))
SPANS = {"house#0": (0.5, 2.25), "house#1": (1e-7, 3.0000001)}
NO_QUERIES = {"duration": 3, "timestamps": [], "sentences": [], "pos_moments": [], "retrieval_pool": []}
POOLS = {
    "timestamps": list(SPANS.values()),
    "sentences": TEXTS,
    "pos_moments": [[], []],
    "retrieval_pool": [["house"]] * 2,
}


def lines(**rows: Any) -> str:
    """A line of JSON for each query."""
    return "\n".join(json.dumps(dict(zip(rows, row, strict=True))) for row in zip(*rows.values(), strict=True))


TRUTHS: dict[FileFormat, str | bytes] = {
    FileFormat.TVR_RANKING: tvr_ranking.write_ground_truth(TRUTH),
    FileFormat.TVR: lines(desc_id=SPANS, desc=TEXTS, type=TYPED.kinds, vid_name=["house"] * 2, ts=SPANS.values()),
    FileFormat.QVHIGHLIGHTS: lines(
        qid=SPANS, query=TEXTS, vid=["house"] * 2, relevant_windows=[[span] for span in SPANS.values()]
    ),
    FileFormat.MVMR: json.dumps({"house": {**NO_QUERIES, **POOLS, "duration": 90.5}, "street": NO_QUERIES}),
    FileFormat.TREC: "".join(f"{name} 0 {trec.written('house', *span)} 1\n" for name, span in SPANS.items()),
    FileFormat.CSV: delimited.write_csv(TYPED),
    FileFormat.PARQUET: delimited.write_parquet(TYPED),
}


def encoded(content: str | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.encode()


def same(one: Any, other: Any) -> bool:
    return list(one) == list(other) and dict(one) == dict(other)


@pytest.mark.parametrize("form", FileFormat, ids=lambda form: form.value)
@pytest.mark.parametrize("form_is_named", [True, False])
def test_a_run_is_read_as_it_was_written(form: FileFormat, form_is_named: bool) -> None:
    data = encoded(CODECS[form].write_run(RUN))
    read = parse_run(data, form if form_is_named else None)
    assert same(read, RUN)
    assert read.texts == (("", "") if form in (FileFormat.TREC, FileFormat.MVMR) else RUN.texts)


@pytest.mark.parametrize("form", FileFormat, ids=lambda form: form.value)
@pytest.mark.parametrize("form_is_named", [True, False])
def test_ground_truth_of_every_form_is_read(form: FileFormat, form_is_named: bool) -> None:
    def rows(table: Any) -> list[list[Any]]:
        return [[m.video, m.start_s, m.end_s, m.relevance] for moments in table.values() for m in moments]

    read = parse_ground_truth(encoded(TRUTHS[form]), form if form_is_named else None)
    assert (list(read), rows(read)) == (list(TRUTH), rows(TRUTH))
    if form is FileFormat.TVR_RANKING:
        assert same(read, TRUTH)  # with pair ids, captions and all
    if form in (FileFormat.CSV, FileFormat.PARQUET, FileFormat.TVR):
        assert read.kinds == TYPED.kinds


@pytest.mark.parametrize(("video", "word"), [("a b", "a%20b"), ("100%", "100%25"), ("a\tb", "a%09b"), ("é_b", "é_b")])
def test_a_video_whose_name_is_no_word_is_one_in_trec(video: str, word: str) -> None:
    run = RunTable.from_moments({"1": [ScoredMoment(video, 0, 1, 1)]})
    text = CODECS[FileFormat.TREC].write_run(run)
    assert text == f"1 Q0 {word}:0.0-1.0 1 1.0 momentjudge\n"
    assert parse_run(text.encode(), FileFormat.TREC)["1"] == run["1"]
    assert trec.parsed("50%off%FF:0-1") == ("50%off%FF", 0.0, 1.0)  # no escape


def test_the_order_of_trec_is_that_of_scores_and_of_csv_that_of_lines_or_ranks() -> None:
    rows = "1 Q0 a:0-1 9 0.5 x\n1 Q0 b:0-1 2 0.9 x\n2 Q0 c:0-1 1 1 x\n1 Q0 d:0.5-1.25 3 0.5 x\n"
    read = parse_run(rows.encode())
    assert [m.video for m in read["1"]] == ["b", "d", "a"]  # equal scores by rank
    lines = b'{"query_id": 5, "predictions": [["a", 1, 2, 3]]}\n\n{"query_id": 6, "predictions": []}'
    assert same(parse_run(lines), RunTable.from_moments({"5": [ScoredMoment("a", 1, 2, 3)], "6": []}))
    head, rows = "score,query_id,end,start,video_name", "1,q,1,0,a\n5,q,1,0,b\n"
    assert [m.video for m in parse_run(f"{head}\n{rows}".encode())["q"]] == ["a", "b"]
    ranked = "\n".join(f"{row},{rank}" for row, rank in zip(rows.split(), "21", strict=True))
    assert [m.video for m in parse_run(f"{head},rank\n{ranked}".encode())["q"]] == ["b", "a"]


def test_frames_of_mvmr_become_seconds() -> None:
    video = {"fps": 10, "num_frames": 300, "timestamps": [[10, 400]], "sentences": ["s"]}
    video |= {"pos_moments": [[["b", "t", [5, 10]]]], "retrieval_pool": [["a", "b"]]}
    other = {"fps": 5, "num_frames": 10, "timestamps": [], "sentences": [], "pos_moments": [], "retrieval_pool": []}
    truth = parse_ground_truth(json.dumps({"a": video, "b": other}).encode())
    assert isinstance(truth, PoolTruth)
    assert [(m.video, m.start_s, m.end_s) for m in truth["a#0"]] == [("a", 1, 30), ("b", 1, 2)]
    assert (truth.pools, truth.durations_s) == ((("a", "b"),), {"a": 30.0, "b": 2.0})


@pytest.mark.parametrize("task", ["SVMR", "VR"])
def test_one_task_of_a_tvr_submission_is_read(task: str) -> None:
    row = {"desc_id": 3, "desc": "q", "predictions": [[7, 1, 2, 0.5]]}
    both = {"video2idx": {"a": 7}, "SVMR": [row], "VR": [{**row, "predictions": [[7, 0, 0, 0.5]]}]}
    read = parse_run(json.dumps(both).encode(), task=task)
    assert read["3"] == (ScoredMoment("a", 1, 2, 0.5) if task == "SVMR" else ScoredMoment("a", 0, 0, 0.5),)
    with pytest.raises(errors.WrongFormat, match="no task VCMR in the submission, only SVMR, VR"):
        parse_run(json.dumps(both).encode())


def test_saliency_of_clips_is_read_and_that_of_runs_written() -> None:
    line = {"qid": 1, "query": "q", "vid": "v", "duration": 7, "relevant_windows": [[2, 6]]}
    line |= {"relevant_clip_ids": [1, 2], "saliency_scores": [[1, 2, 3], [4, 0, 0]]}
    truth = parse_ground_truth(json.dumps(line).encode())
    assert isinstance(truth, HighlightTruth)
    assert truth.saliency[0].tolist() == [[0, 0, 0], [1, 2, 3], [4, 0, 0]]
    row = {"qid": 1, "vid": "v", "pred_relevant_windows": [[2, 6, 0.5]], "pred_saliency_scores": [0.5, -1]}
    run = parse_run(json.dumps(row).encode())
    assert isinstance(run, HighlightRun)
    assert encoded(CODECS[FileFormat.QVHIGHLIGHTS].write_run(run)) and run.saliency[0].tolist() == [0.5, -1]


@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_files_may_be_gzipped(tmp_path: Path, name: str) -> None:
    write_run(tmp_path / name, RUN)
    write_ground_truth(tmp_path / f"truth-{name}", TRUTH)
    assert same(read_run(tmp_path / name), RUN)
    assert same(read_ground_truth(tmp_path / f"truth-{name}"), TRUTH)


def zipped(*names: str, content: bytes = b"[]") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
    return out.getvalue()


def test_a_zip_archive_of_one_file_is_read_and_what_a_form_cannot_hold_is_not_written() -> None:
    data = encoded(CODECS[FileFormat.TVR_RANKING].write_run(RUN))
    assert same(parse_run(zipped("folder/", "folder/run.json", content=data)), RUN)
    with pytest.raises(errors.MalformedFile, match="must hold one file, it holds 2: a.json, b.json"):
        parse_run(zipped("a.json", "b.json"))
    with pytest.raises(errors.MalformedFile, match="a broken archive"):
        parse_run(zipped("a.json")[:20])
    two = RunTable.from_moments({"1": [ScoredMoment("a", 0, 1, 1), ScoredMoment("b", 0, 1, 1)]})
    with pytest.raises(errors.NotWritable, match="query 1 has moments of several videos"):
        CODECS[FileFormat.QVHIGHLIGHTS].write_run(two)
    with pytest.raises(errors.NotWritable, match=r"no place for the blanks in 'a b'"):
        CODECS[FileFormat.TREC].write_run(RunTable.from_moments({"a b": [ScoredMoment("a", 0, 1, 1)]}))
    with pytest.raises(errors.NotWritable, match="query 1 is not called video#number"):
        CODECS[FileFormat.MVMR].write_run(RunTable.from_moments({"1": []}))


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: zipped("run.json", content=data)])
def test_a_bomb_is_refused_before_it_is_unpacked(pack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonfiles, "MAX_BYTES", 1024 * 1024)
    bomb = pack(b" " * 50 * 1024 * 1024)
    assert len(bomb) < 100_000
    with pytest.raises(errors.UnreadableFile, match="larger than 1 MiB"):
        parse_run(bomb)
    with (tmp_path / "run.json").open("wb") as file:
        file.truncate(2 * 1024**3)  # a hole: it takes no room
    with pytest.raises(errors.UnreadableFile, match=r"run\.json: larger than 1 MiB"):
        read_run(tmp_path / "run.json")
