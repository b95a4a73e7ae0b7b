"""The forms of TREC: one line for each moment, blanks between the columns.

Qrels: query, ``0``, moment, relevance. A run: query, ``Q0``, moment, rank, score, name of the run. A moment is written
``video:start-end``, as in the ``qrels.txt`` of a release; blanks and ``%`` in the name of a video are percent-encoded.

As for trec_eval, a run's order is that of its scores; equal scores go by rank, then by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote, unquote

import numpy as np

from moment_retrieval.entries import lines_of
from moment_retrieval.errors import InvalidRecord, NotWritable, at
from moment_retrieval.formats.builder import Builder, Groups, SourceFile
from moment_retrieval.jsonfiles import number_from, shown
from moment_retrieval.tables import JudgedTable, RunTable

QRELS = ("query", "0", "moment", "relevance")
RUN = ("query", "Q0", "moment", "rank", "score", "run name")
NUMBER = r"-?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?"  # digits are never tried in parts: lines may be long
MOMENT = re.compile(rf"(.+):({NUMBER})-({NUMBER})")
NO_WORD = re.compile(r"[\s%]")
RUN_NAME = "momentjudge"


def read_run(source: SourceFile) -> RunTable:
    """A run. Raises ScoringError with the line."""
    groups = Groups(watch=source.watch)
    for line, (query_id, _, moment, rank, score, _) in lines(source.text, RUN):
        with at(f"line {line}"):
            weight = number_from(score, "score")
            groups.add(query_id, "", line, (*parsed(moment), weight), key=(-weight, number_from(rank, "rank")))
    return groups.filled(Builder(source)).run()


def read_ground_truth(source: SourceFile) -> JudgedTable:
    """Qrels. Raises ScoringError with the line."""
    groups = Groups(watch=source.watch)
    for line, (query_id, _, moment, relevance) in lines(source.text, QRELS):
        with at(f"line {line}"):
            groups.add(query_id, "", line, (*parsed(moment), number_from(relevance, "relevance")))
    return groups.filled(Builder(source, judged=True)).truth()


def lines(text: str, columns: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """Line number and columns of every line that is not blank."""
    for line, (_, row) in enumerate(lines_of(text), start=1):
        cells = row.split()
        if cells and len(cells) != len(columns):
            with at(f"line {line}"):
                raise InvalidRecord(f"expected {len(columns)} columns ({', '.join(columns)}), got {len(cells)}")
        if cells:
            yield line, cells


def parsed(moment: str) -> tuple[str, float, float]:
    """(video, start, end) of ``video:start-end``."""
    match = MOMENT.fullmatch(moment)
    if match is None:
        raise InvalidRecord(f"a moment must be video:start-end, got {shown(moment)}")
    return _plain(match[1]), float(match[2]), float(match[3])


def write_run(run: RunTable) -> str:
    """A run. Where its scores do not fall from rank to rank, the numbers n to 1 are written in their place."""
    rows = []
    for query_id in run.query_ids:
        some = run.rows_of(query_id)
        scores = run.weights[some]
        if not (np.diff(scores) < 0).all():
            scores = np.arange(len(scores), 0.0, -1.0)
        for rank, (row, score) in enumerate(zip(some, scores.tolist(), strict=True), start=1):
            rows.append(f"{word(query_id)} Q0 {written(*run.span(row))} {rank} {score} {RUN_NAME}\n")
    return "".join(rows)


def written(video: str, start: float, end: float) -> str:
    return f"{word(NO_WORD.sub(lambda match: quote(match[0]), video))}:{start}-{end}"


def _plain(name: str) -> str:
    """The name without its escapes; one that holds others than ours stays as it is."""
    try:
        return unquote(name, errors="strict")
    except UnicodeDecodeError:
        return name


def word(text: str) -> str:
    """``text``, if it is one word. Raises NotWritable."""
    if len(text.split()) != 1 or text != text.strip():
        raise NotWritable(f"the forms of TREC have no place for the blanks in {shown(text)}")
    return text
