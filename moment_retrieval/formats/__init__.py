"""Runs and ground truth on disk, in the forms of the field; docs/data-formats.md describes each.

A form is named, or seen from the content. Files may be gzipped, or alone in a zip archive. Every error names the file,
the line and the place in it.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from moment_retrieval.entries import decoded, skip_blank
from moment_retrieval.errors import EmptyFile, WrongFormat, at
from moment_retrieval.formats import delimited, mvmr, qvhighlights, trec, tvr, tvr_ranking
from moment_retrieval.formats.builder import Source
from moment_retrieval.jsonfiles import read_bytes, shown, write_atomically
from moment_retrieval.records import VideoCorpus
from moment_retrieval.tables import JudgedTable, RunTable

__all__ = [
    "CODECS",
    "Form",
    "Source",
    "parse_ground_truth",
    "parse_run",
    "parsed",
    "read_ground_truth",
    "read_run",
    "write_ground_truth",
    "write_run",
]


class Form(enum.Enum):
    """The forms of runs and ground truth, by the names that commands use."""

    TVR_RANKING = "tvr-ranking"
    TVR = "tvr"
    QVHIGHLIGHTS = "qvhighlights"
    MVMR = "mvmr"
    TREC = "trec"
    CSV = "csv"
    PARQUET = "parquet"


@dataclass(frozen=True)
class Codec:
    """How one form is read, and runs are written in it."""

    read_run: Callable[[Source], RunTable]
    read_ground_truth: Callable[[Source], JudgedTable]
    write_run: Callable[[RunTable], str | bytes]


CODECS = {
    form: Codec(module.read_run, module.read_ground_truth, module.write_run)
    for form, module in {
        Form.TVR_RANKING: tvr_ranking,
        Form.TVR: tvr,
        Form.QVHIGHLIGHTS: qvhighlights,
        Form.MVMR: mvmr,
        Form.TREC: trec,
    }.items()
} | {
    form: Codec(partial(delimited.read_run, kind=kind), partial(delimited.read_ground_truth, kind=kind), write)
    for form, kind, write in (
        (Form.CSV, "line", delimited.write_csv),
        (Form.PARQUET, "row", delimited.write_parquet),
    )
}


def read_run(
    path: Path | str,
    form: Form | None = None,
    *,
    corpus: VideoCorpus | None = None,
    strict: bool = True,
    task: str = "VCMR",
) -> RunTable:
    """A run, best moments first, queries in the file's order.

    Args:
        form: what the file is; seen from its content if not given.
        corpus: translates video indexes to names, and refuses names it does not have.
        strict: refuse a moment that ends before it starts; otherwise it overlaps nothing.
        task: which list of a TVR submission: VCMR, SVMR or VR.

    Raises:
        ScoringError: the file cannot be used; the message names file, line and place.
    """
    data = read_bytes(Path(path))
    with at(str(path)):
        return parse_run(data, form, corpus=corpus, strict=strict, task=task)


def parse_run(
    data: bytes, form: Form | None = None, *, corpus: VideoCorpus | None = None, strict: bool = True, task: str = "VCMR"
) -> RunTable:
    """As ``read_run``, from bytes: an upload, for example."""
    return parsed(Source(data, corpus, strict, task), form)[1]


def parsed(source: Source, form: Form | None = None) -> tuple[Form, RunTable]:
    """A run and the form that it has. Errors as for ``read_run``."""
    if form is None:
        form, truth = detected(source)
        if truth is True:
            raise WrongFormat(f"this looks like ground truth in the form {form.value}; a run is needed")
    return form, CODECS[form].read_run(source)


def read_ground_truth(path: Path | str, form: Form | None = None, *, corpus: VideoCorpus | None = None) -> JudgedTable:
    """Judged moments, queries in the file's order. Arguments and errors as for ``read_run``."""
    data = read_bytes(Path(path))
    with at(str(path)):
        return parse_ground_truth(data, form, corpus=corpus)


def parse_ground_truth(data: bytes, form: Form | None = None, *, corpus: VideoCorpus | None = None) -> JudgedTable:
    """As ``read_ground_truth``, from bytes."""
    source = Source(data, corpus)
    if form is None:
        form, truth = detected(source)
        if truth is False:
            raise WrongFormat(f"this looks like a run in the form {form.value}; ground truth is needed")
    return CODECS[form].read_ground_truth(source)


def write_run(path: Path, run: RunTable, form: Form = Form.TVR_RANKING) -> None:
    """Write a run, gzipped if the name ends in ``.gz``; all or nothing. Raises NotWritable, UnreadableFile."""
    write_atomically(path, CODECS[form].write_run(run))


def write_ground_truth(path: Path, judged: JudgedTable) -> None:
    """Write judged moments in the form of TVR-Ranking; as ``write_run``."""
    write_atomically(path, tvr_ranking.write_ground_truth(judged))


PARQUET_MAGIC = b"PAR1"
RUN, TRUTH = False, True
KEYS = (  # of an entry or line: the first that are all there decide
    ({"pred_relevant_windows"}, Form.QVHIGHLIGHTS, RUN),
    ({"pred_saliency_scores"}, Form.QVHIGHLIGHTS, RUN),
    ({"qid", "relevant_windows"}, Form.QVHIGHLIGHTS, TRUTH),
    ({"predictions"}, Form.TVR_RANKING, RUN),
    ({"relevant_moment"}, Form.TVR_RANKING, TRUTH),
    ({"timestamp", "relevance"}, Form.TVR_RANKING, TRUTH),
    ({"vid_name", "ts"}, Form.TVR, TRUTH),
)
SUBMISSION = ("video2idx", *tvr.TASKS)
FIRST_KEY = re.compile(r'\{\s*"(\w+)"')
VIDEO_KEYS = (({"pos_moments"}, TRUTH), ({"retrieval_pool"}, TRUTH), ({"predictions"}, RUN))  # MVMR, of a video


def detected(source: Source) -> tuple[Form, bool | None]:
    """The form, and whether it is ground truth (True), a run (False), or cannot be told (None).

    Raises:
        WrongFormat: it looks like none of the forms.
        EmptyFile: there is nothing in it.
    """
    if source.plain.startswith(PARQUET_MAGIC):
        return Form.PARQUET, None
    text = source.text
    start = skip_blank(text, 0)
    if start == len(text):
        raise EmptyFile("no content")
    if text[start] in "[{":
        return of_json(text, start)
    return of_columns(text[start : (text.find("\n", start) + 1 or len(text))])


def of_json(text: str, start: int) -> tuple[Form, bool | None]:
    """The form of JSON, from its first entry."""
    if text[start] == "[":
        start = skip_blank(text, start + 1)
        if text[start : start + 1] == "]":
            return Form.TVR_RANKING, None
    first_key = FIRST_KEY.match(text, start)
    if first_key is not None and first_key[1] in SUBMISSION:
        return Form.TVR, RUN  # and may be large: it is not looked at further
    entry, _ = decoded(text, start)
    keys = set(entry) if isinstance(entry, dict) else set()
    for needed, form, truth in KEYS:
        if needed <= keys:
            return form, truth
    first = next(iter(entry.values()), None) if isinstance(entry, dict) else None
    for needed, truth in VIDEO_KEYS if isinstance(first, dict) else ():
        if needed <= set(first or ()):
            return Form.MVMR, truth
    return Form.TVR_RANKING, None  # its reader says what is missing


def of_columns(line: str) -> tuple[Form, bool | None]:
    """The form of a text in columns, from its first line."""
    names = [name.strip().strip('"') for name in line.split(",")]
    if "query_id" in names:
        return Form.CSV, None if "score" in names and "relevance" in names else "relevance" in names
    cells = len(line.split())
    if cells in (len(trec.RUN), len(trec.QRELS)):
        return Form.TREC, cells == len(trec.QRELS)
    raise WrongFormat(f"line 1: neither JSON nor columns of a form that is known: {shown(line.strip())}")
