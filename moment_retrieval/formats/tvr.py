"""The forms of TVR (Lei et al., ECCV 2020).

Ground truth, JSON lines: ``{desc_id, desc, type, vid_name, duration, ts: [start, end]}``. The moment of a query has
relevance 1; DiDeMo lists several, one from each annotator. ``type`` is v, t or vt.

A submission is one JSON object: ``video2idx`` and, for the tasks VCMR, SVMR and VR, arrays of ``{desc_id, desc,
predictions: [[video index, start, end, score]]}``, best first.
"""

from __future__ import annotations

import json

from moment_retrieval.entries import array_entries, decoded, line_entries, located, value_positions
from moment_retrieval.errors import InvalidRecord, UnknownVideo, WrongFormat, at
from moment_retrieval.formats.builder import Builder, Rows, SourceFile
from moment_retrieval.formats.tvr_ranking import add_ranking, as_query_id, query_text, written_id
from moment_retrieval.jsonfiles import as_array, as_object, as_text, member, shown
from moment_retrieval.tables import JudgedTable, RunTable

TASKS = ("VCMR", "SVMR", "VR")
KINDS = ("v", "t", "vt")
FOUND = 1  # the relevance of a query's moment


def read_run(source: SourceFile) -> RunTable:
    """One task of a submission. Raises ScoringError with line and place."""
    positions = value_positions(source.text, "submission")
    if source.task not in positions:
        tasks = [task for task in TASKS if task in positions]
        raise WrongFormat(f"no task {source.task} in the submission, only {', '.join(tasks) or 'no task at all'}")
    names = video_names(source.text, positions)
    builder = Builder(source, translate=lambda video: name_of(video, names))
    start = positions[source.task]
    with at(source.task):
        if source.text[start] != "[":
            raise InvalidRecord(f"{source.task} must be an array, got {shown(decoded(source.text, start)[0])}")
        for entry in array_entries(source.text, start, whole=False):
            with located(source.text, entry):
                add_ranking(builder, entry.value, entry.line)
    return builder.run()


def video_names(text: str, positions: dict[str, int]) -> dict[int, str]:
    """Video index to name, from ``video2idx``."""
    if "video2idx" not in positions:
        raise InvalidRecord("no key video2idx")
    indexes = as_object(decoded(text, positions["video2idx"])[0], "video2idx")
    names: dict[int, str] = {}
    for name, index in indexes.items():
        with at("video2idx"), at(f"video {name}"):
            if isinstance(index, bool) or not isinstance(index, int):
                raise InvalidRecord(f"an index must be a whole number, got {shown(index)}")
            if index in names:
                raise InvalidRecord(f"index {index} belongs to {names[index]} already")
            names[index] = name
    return names


def name_of(video: object, names: dict[int, str]) -> str:
    if isinstance(video, bool) or not isinstance(video, int):
        raise InvalidRecord(f"a video must be an index, got {shown(video)}")
    if video not in names:
        raise UnknownVideo(f"video2idx has no video with index {shown(video)}")
    return names[video]


def read_ground_truth(source: SourceFile) -> JudgedTable:
    """The moment of every query. Raises ScoringError with line and place."""
    builder, kinds = Builder(source, judged=True), []
    for entry in line_entries(source.text):
        with located(source.text, entry):
            record = as_object(entry.value, "a line")
            builder.query(as_query_id(member(record, "desc_id", "query_id")), query_text(record), entry.line)
            kinds.append(as_text(record.get("type", "v"), "type"))
            times = as_array(member(record, "ts"), "ts")
            windows = times if times and isinstance(times[0], list) else [times]
            if not all(isinstance(window, list) and len(window) == 2 for window in windows):
                raise InvalidRecord(f"ts must be [start, end], or several, got {shown(times)}")
            video = member(record, "vid_name")
            moments = [(video, *window, FOUND) for window in windows]  # type: ignore[misc]
            builder.add(Rows.of(moments), lambda number: at(f"moment {number + 1}", "ts"))
    return builder.truth(kinds)


def write_run(run: RunTable, task: str = "VCMR") -> str:
    """A submission of one task, with videos numbered as they come."""
    numbers = {name: number for number, name in enumerate(run.spans.names)}
    entries = [
        {
            "desc_id": written_id(query_id),
            "desc": run.texts[number] if run.texts else "",
            "predictions": [
                [numbers[moment.video], moment.start_s, moment.end_s, moment.score] for moment in run[query_id]
            ],
        }
        for number, query_id in enumerate(run.query_ids)
    ]
    return json.dumps({"video2idx": numbers, task: entries}, ensure_ascii=False, allow_nan=False) + "\n"
