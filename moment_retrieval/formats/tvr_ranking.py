"""The forms published with TVR-Ranking.

Ground truth, July 2024, a JSON array: ``{query_id, query, relevant_moment: [{pair_id, video_name, timestamp, duration,
caption, similarity, relevance}]}``; a query with no moments is kept: it counts 0. April 2024, JSON lines: the same keys
flat, one query-moment pair per line.

A run is an array (or lines) of ``{query_id, query, predictions: [[video, start, end, score]]}``, best first; older runs
say ``desc_id`` and ``desc``. The video is a name, or an index into ``video_corpus.json``.

Query ids are strings here; those that look like integers are written as integers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from moment_retrieval.entries import BLANK, Entry, entries, line_entries, located
from moment_retrieval.errors import InvalidRecord, at
from moment_retrieval.formats.builder import Builder, Groups, Rows, SourceFile
from moment_retrieval.jsonfiles import as_array, as_number, as_object, as_text, member, shown
from moment_retrieval.records import JudgedMoment
from moment_retrieval.tables import JudgedTable, Note, RunTable

INTEGER_ID = re.compile(r"0|-?[1-9][0-9]{0,17}")  # written back as a number without loss
ROW = ("video", "start", "end", "score")


def read_run(source: SourceFile) -> RunTable:
    """A run. Raises ScoringError with line and place."""
    builder = Builder(source)
    for entry in entries(source.text, "run"):
        with located(source.text, entry):
            add_ranking(builder, entry.value, entry.line)
    return builder.run()


def add_ranking(builder: Builder, value: object, line: int) -> None:
    """One query with its predictions."""
    record = as_object(value, "an entry")
    query_id = as_query_id(member(record, "query_id", "desc_id"))
    builder.query(query_id, query_text(record), line)
    with at(f"query {query_id}"):
        add_predictions(builder, member(record, "predictions"), "predictions")


def add_predictions(builder: Builder, value: object, *steps: str | int) -> None:
    """Rows [video, start, end, score]; ``steps`` lead to them."""

    def locate(number: int) -> at:
        return at(f"prediction {number + 1}", *steps, number)

    rows = as_array(value, "predictions")
    if not (set(map(type, rows)) <= {list} and set(map(len, rows)) <= {len(ROW)}):  # type: ignore[arg-type]
        number = next(n for n, row in enumerate(rows) if not isinstance(row, list) or len(row) != len(ROW))
        with locate(number):
            raise InvalidRecord(f"expected [{', '.join(ROW)}], got {shown(rows[number])}")
    builder.add(Rows.of(rows), locate)  # type: ignore[arg-type]


def read_ground_truth(source: SourceFile) -> JudgedTable:
    """Ground truth of either form; which one is seen from the first character. Raises ScoringError."""
    start = BLANK.match(source.text)
    if start is not None and source.text[start.end() : start.end() + 1] == "{":
        return judged_lines(source)
    builder = Builder(source, judged=True)
    for entry in entries(source.text, "ground truth"):
        with located(source.text, entry):
            add_judged(builder, entry)
    return builder.truth()


def add_judged(builder: Builder, entry: Entry) -> None:
    """One query with its judged moments, July 2024."""
    record = as_object(entry.value, "an entry")
    query_id = as_query_id(member(record, "query_id"))
    builder.query(query_id, query_text(record), entry.line)

    def locate(number: int) -> at:
        return at(f"moment {number + 1}", "relevant_moment", number)

    with at(f"query {query_id}"):
        moments, notes = [], []
        for number, row in enumerate(as_array(member(record, "relevant_moment"), "relevant_moment")):
            with locate(number):
                moment = as_object(row, "a moment")
                moments.append(judged_row(moment))
                notes.append(note(moment))
        builder.add(Rows.of(moments), locate, notes)


def judged_lines(source: SourceFile) -> JudgedTable:
    """The form of April 2024; a query's lines need not be neighbours."""
    groups = Groups(watch=source.watch)
    for entry in line_entries(source.text):
        with located(source.text, entry):
            record = as_object(entry.value, "a line")
            query_id = as_query_id(member(record, "query_id", "desc_id"))
            video, start, end, relevance = judged_row(record)
            times = as_number(start, "start"), as_number(end, "end")
            moment = (video, *times, as_number(relevance, "relevance"))
            groups.add(query_id, query_text(record), entry.line, moment, note(record))
    return groups.filled(Builder(source, judged=True)).truth()


def judged_row(record: dict[str, object]) -> tuple[object, object, object, object]:
    """Video, start, end and relevance, as they stand."""
    timestamp = as_array(member(record, "timestamp"), "timestamp")
    if len(timestamp) != 2:
        raise InvalidRecord(f"timestamp must be [start, end], got {shown(timestamp)}")
    return member(record, "video_name"), timestamp[0], timestamp[1], member(record, "relevance")


def note(record: dict[str, object]) -> Note:
    """Read the optional fields scoring does not need."""
    pair_id, caption = record.get("pair_id"), record.get("caption")
    duration, similarity = record.get("duration"), record.get("similarity")
    if pair_id is not None and (isinstance(pair_id, bool) or not isinstance(pair_id, int | str)):
        raise InvalidRecord(f"pair_id must be a whole number or a string, got {shown(pair_id)}")
    return Note(
        pair_id=pair_id,
        duration_s=None if duration is None else as_number(duration, "duration"),
        caption=None if caption is None else as_text(caption, "caption"),
        similarity=None if similarity is None else as_number(similarity, "similarity"),
    )


def as_query_id(value: object) -> str:
    """A query id, whole number or string, as a string."""
    if isinstance(value, int) and not isinstance(value, bool):
        return shown(value)
    return as_text(value, "query_id")


def query_text(record: Mapping[str, object]) -> str:
    """Return the query text; empty if absent."""
    text = record.get("query", record.get("desc"))
    return "" if text is None else as_text(text, "query")


def write_run(run: RunTable) -> str:
    """A run with video names."""
    return json_array(query_keys(run, number) | {"predictions": ranking(run, number)} for number in range(len(run)))


def ranking(run: RunTable, number: int) -> list[list[object]]:
    """The predictions of a query."""
    return [[*run.span(row), float(run.weights[row])] for row in run.rows_of(run.query_ids[number])]


def write_ground_truth(judged: JudgedTable) -> str:
    """Judged queries in the form of July 2024."""
    return json_array(
        query_keys(judged, number) | {"relevant_moment": [written_moment(moment) for moment in judged[query_id]]}
        for number, query_id in enumerate(judged.query_ids)
    )


def query_keys(table: RunTable | JudgedTable, number: int) -> dict[str, object]:
    """Id and text of a query, the text where it is known."""
    keys: dict[str, object] = {"query_id": written_id(table.query_ids[number])}
    return keys | ({"query": table.texts[number]} if table.texts and table.texts[number] else {})


def written_moment(moment: JudgedMoment) -> dict[str, object]:
    """One moment in the form of July 2024, without the keys it has no value for."""
    keys: dict[str, object] = {
        "pair_id": moment.pair_id,
        "video_name": moment.video,
        "timestamp": [moment.start_s, moment.end_s],
        "duration": moment.duration_s,
        "caption": moment.caption,
        "similarity": moment.similarity,
        "relevance": moment.relevance,
    }
    return {key: value for key, value in keys.items() if value is not None}


def written_id(query_id: str) -> int | str:
    """The id as published files spell it: a number where it is one."""
    return int(query_id) if INTEGER_ID.fullmatch(query_id) else query_id


def json_array(rows: Iterable[Mapping[str, object]]) -> str:
    """A JSON array with one entry per line: one file for programs, and diffs that people can read."""
    return "[\n" + ",\n".join(json_text(row) for row in rows) + "\n]\n"


def json_lines(rows: Iterable[Mapping[str, object]]) -> str:
    """One JSON object a line."""
    return "".join(json_text(row) + "\n" for row in rows)


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
