"""The forms of QVHighlights (Lei et al., NeurIPS 2021), JSON lines with one query each.

Ground truth: ``{qid, query, vid, duration, relevant_windows: [[start, end]], relevant_clip_ids, saliency_scores}``;
each window has relevance 1. A run: ``{qid, query, vid, pred_relevant_windows: [[start, end, score]],
pred_saliency_scores}``. A clip lasts two seconds; each relevant one has a saliency of 0 to 4 from three annotators.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from moment_retrieval.entries import line_entries, located
from moment_retrieval.errors import InvalidRecord, NotWritable, at
from moment_retrieval.formats.builder import Builder, Rows, SourceFile
from moment_retrieval.formats.tvr_ranking import as_query_id, json_lines, query_text, written_id
from moment_retrieval.jsonfiles import as_array, as_number, as_object, member, shown
from moment_retrieval.tables import Floats, JudgedTable, RunTable

CLIP_S = 2
RELEVANT = 1  # the relevance of a window
MAX_CLIPS = 100_000  # of a video: two days


@dataclass(frozen=True, eq=False)
class HighlightRun(RunTable):
    """Windows, and the saliency of every clip of the query's video: [Q] of [clips], empty where not predicted."""

    saliency: tuple[Floats, ...] = ()


@dataclass(frozen=True, eq=False)
class HighlightTruth(JudgedTable):
    """Windows, and the saliency of every clip by each annotator: [Q] of [clips, annotators], 0 where not relevant."""

    saliency: tuple[Floats, ...] = ()


def read_run(source: SourceFile) -> HighlightRun:
    """Predicted windows and saliency. Raises ScoringError with line and place."""
    builder, saliency = Builder(source), []
    for entry in line_entries(source.text):
        with located(source.text, entry):
            record = begin(builder, entry.value, entry.line)
            add_windows(builder, record, "pred_relevant_windows", 3)
            saliency.append(numbers(record.get("pred_saliency_scores", []), "pred_saliency_scores"))
    return HighlightRun(*builder.columns(), saliency=tuple(saliency))


def read_ground_truth(source: SourceFile) -> HighlightTruth:
    """Relevant windows and saliency. Raises ScoringError with line and place."""
    builder, saliency = Builder(source, judged=True), []
    for entry in line_entries(source.text):
        with located(source.text, entry):
            record = begin(builder, entry.value, entry.line)
            add_windows(builder, record, "relevant_windows", 2)
            saliency.append(clip_saliency(record))
    return HighlightTruth(*builder.columns(), saliency=tuple(saliency))


def begin(builder: Builder, value: object, line: int) -> dict[str, object]:
    record = as_object(value, "a line")
    builder.query(as_query_id(member(record, "qid")), query_text(record), line)
    return record


def add_windows(builder: Builder, record: dict[str, object], key: str, width: int) -> None:
    """The windows of a query, [start, end] or [start, end, score]."""

    def locate(number: int) -> at:
        return at(f"window {number + 1}", key, number)

    windows = as_array(record.get(key, []), key)
    for number, window in enumerate(windows):
        if not isinstance(window, list) or len(window) != width:
            with locate(number):
                raise InvalidRecord(f"expected {['start', 'end', 'score'][:width]}, got {shown(window)}")
    start, end, *weight = zip(*windows, strict=True) if windows else ((), (), ())
    video = [member(record, "vid")] * len(windows)
    builder.add(Rows(video, start, end, weight[0] if weight else [RELEVANT] * len(windows)), locate)


def numbers(value: object, name: str) -> Floats:
    """An array of finite numbers."""
    values = as_array(value, name)
    for number, one in enumerate(values):
        with at(f"clip {number + 1}", name, number):
            as_number(one, name)
    return np.array(values, np.float64)


def clip_saliency(record: dict[str, object]) -> Floats:
    """[clips, annotators] from the scores of the relevant clips."""
    clips = as_array(record.get("relevant_clip_ids", []), "relevant_clip_ids")
    scores = as_array(record.get("saliency_scores", []), "saliency_scores")
    if not clips and "duration" not in record:
        return np.zeros((0, 0))
    count = int(as_number(member(record, "duration"), "duration") / CLIP_S)
    if not 0 <= count <= MAX_CLIPS:
        raise InvalidRecord(f"duration must give up to {MAX_CLIPS} clips, got {shown(record['duration'])}")
    rows = [numbers(row, "saliency_scores") for row in scores]
    if len(rows) != len(clips) or len({len(row) for row in rows}) > 1:
        raise InvalidRecord("saliency_scores must hold one list for each relevant clip, all of one length")
    saliency = np.zeros((count, len(rows[0]) if rows else 0))
    for number, (clip, row) in enumerate(zip(clips, rows, strict=True)):
        if isinstance(clip, bool) or not isinstance(clip, int) or not 0 <= clip < count:
            with at(f"clip {number + 1}", "relevant_clip_ids", number):
                raise InvalidRecord(f"a clip must be from 0 to {count - 1}, got {shown(clip)}")
        saliency[clip] = row
    return saliency


def write_run(run: RunTable) -> str:
    """Windows, and saliency where the run has it. Raises NotWritable where a query has moments of two videos."""
    rows = []
    for number, query_id in enumerate(run.query_ids):
        windows = [[moment.start_s, moment.end_s, moment.score] for moment in run[query_id]]
        row = line(run, number, [moment.video for moment in run[query_id]]) | {"pred_relevant_windows": windows}
        if isinstance(run, HighlightRun) and len(run.saliency[number]):
            row["pred_saliency_scores"] = run.saliency[number].tolist()
        rows.append(row)
    return json_lines(rows)


def line(table: RunTable | JudgedTable, number: int, videos: list[str]) -> dict[str, object]:
    """The keys of both forms."""
    query_id = table.query_ids[number]
    if len(set(videos)) > 1:
        raise NotWritable(f"query {query_id} has moments of several videos; the form of QVHighlights holds one")
    text = table.texts[number] if table.texts else ""
    return {"qid": written_id(query_id), "query": text, "vid": videos[0] if videos else ""}
