"""The forms of TREC: one line for each moment, blanks between the columns.

Qrels: query, ``0``, moment, relevance. A run: query, ``Q0``, moment, rank, score, name of the run. A moment is written
``video:start-end``, as in the ``qrels.txt`` of a release; blanks and ``%`` in the name of a video are percent-encoded.

As for trec_eval, a run's order is that of its scores; equal scores go by rank, then by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote, unquote

import numpy as np

from moment_retrieval.entries import lines_of
from moment_retrieval.errors import InvalidRecord, NotWritable, at
from moment_retrieval.formats.builder import Builder, Groups, SourceFile
from moment_retrieval.jsonfiles import number_from, shown
from moment_retrieval.metrics.estimates import Pool
from moment_retrieval.tables import Ints, JudgedTable, RunTable

QRELS = ("query", "0", "moment", "relevance")
RUN = ("query", "Q0", "moment", "rank", "score", "run name")
POOL = ("query", "0", "moment", "stratum", "relevance")
NOT_JUDGED = -1
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


def is_pool(text: str) -> bool:
    """Return whether the first line that is not blank has the columns of a pool."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return len(first.split()) == len(POOL)


def read_pool(source: SourceFile) -> tuple[JudgedTable, Pool]:
    """Read judged and pooled moments with their strata; relevance -1: pooled, and not judged.

    The columns are those of TREC's sampled judgments: query, ``0``, moment, stratum, relevance.

    Raises:
        ScoringError: with the line; or a query has no judged moment.
    """
    judged_rows, unjudged_rows = Groups(watch=source.watch), Groups(watch=source.watch)
    judged_strata: dict[str, list[int]] = {}
    unjudged_strata: dict[str, list[int]] = {}
    numbers: dict[str, int] = {}
    for line, (query_id, _, moment, stratum, relevance) in lines(source.text, POOL):
        with at(f"line {line}"):
            grade, number = number_from(relevance, "relevance"), numbers.setdefault(stratum, len(numbers))
            is_judged = grade != NOT_JUDGED
            rows, by_query = (judged_rows, judged_strata) if is_judged else (unjudged_rows, unjudged_strata)
            rows.add(query_id, "", line, (*parsed(moment), grade if is_judged else 0.0))
            by_query.setdefault(query_id, []).append(number)
    judged = judged_rows.filled(Builder(source, judged=True)).truth()
    unjudged = JudgedTable.from_moments({})
    if unjudged_rows.numbers:
        unjudged = unjudged_rows.filled(Builder(source, judged=True)).truth()
    if without := [query_id for query_id in unjudged.query_ids if query_id not in judged.row_of]:
        raise InvalidRecord(f"query {without[0]} has pooled moments, and none of them was judged")
    return judged, Pool(in_order(judged_strata, judged), unjudged, in_order(unjudged_strata, unjudged))


def in_order(strata: Mapping[str, Sequence[int]], table: JudgedTable) -> Ints:
    """Return the stratum of each row of a table [R]."""
    return np.array([number for query_id in table.query_ids for number in strata[query_id]], np.int64)


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
