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
from moment_retrieval.errors import EmptyFile, ScoringError, WrongFormat, at
from moment_retrieval.formats import delimited, mvmr, qvhighlights, trec, tvr, tvr_ranking
from moment_retrieval.formats.builder import SourceFile as SourceFile
from moment_retrieval.jsonfiles import decode, parse_json, read_bytes, shown, write_atomically
from moment_retrieval.records import MAX_RELEVANCE, VideoCorpus
from moment_retrieval.tables import JudgedTable, RunTable


class FileFormat(enum.Enum):
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

    read_run: Callable[[SourceFile], RunTable]
    read_ground_truth: Callable[[SourceFile], JudgedTable]
    write_run: Callable[[RunTable], str | bytes]


CODECS = {
    file_format: Codec(module.read_run, module.read_ground_truth, module.write_run)
    for file_format, module in {
        FileFormat.TVR_RANKING: tvr_ranking,
        FileFormat.TVR: tvr,
        FileFormat.QVHIGHLIGHTS: qvhighlights,
        FileFormat.MVMR: mvmr,
        FileFormat.TREC: trec,
    }.items()
} | {
    file_format: Codec(partial(delimited.read_run, kind=kind), partial(delimited.read_ground_truth, kind=kind), write)
    for file_format, kind, write in (
        (FileFormat.CSV, "line", delimited.write_csv),
        (FileFormat.PARQUET, "row", delimited.write_parquet),
    )
}


def read_run(
    path: Path | str,
    file_format: FileFormat | None = None,
    *,
    corpus: VideoCorpus | None = None,
    strict: bool = True,
    task: str = "VCMR",
) -> RunTable:
    """A run, best moments first, queries in the file's order.

    Args:
        file_format: what the file is; seen from its content if not given.
        corpus: translates video indexes to names, and refuses names it does not have.
        strict: refuse a moment that ends before it starts, or is of a video that the corpus does not have; otherwise it
            overlaps nothing.
        task: which list of a TVR submission: VCMR, SVMR or VR.

    Raises:
        ScoringError: the file cannot be used; the message names file, line and place.
    """
    data = read_bytes(Path(path))
    with at(str(path)):
        return parse_run(data, file_format, corpus=corpus, strict=strict, task=task)


def parse_run(
    data: bytes,
    file_format: FileFormat | None = None,
    *,
    corpus: VideoCorpus | None = None,
    strict: bool = True,
    task: str = "VCMR",
) -> RunTable:
    """As ``read_run``, from bytes: an upload, for example."""
    return parse_with_format(SourceFile(data, corpus, strict, task), file_format)[1]


def parse_with_format(source: SourceFile, file_format: FileFormat | None = None) -> tuple[FileFormat, RunTable]:
    """A run and the form that it has. Errors as for ``read_run``."""
    if file_format is None:
        file_format, truth = detect_format(source)
        if truth is True:
            raise WrongFormat(f"this looks like ground truth in the form {file_format.value}; a run is needed")
    return file_format, CODECS[file_format].read_run(source)


SETTINGS = "settings.json"  # of a release
TOP_GRADE_BEFORE = 4  # of releases whose settings do not say it: TVR-Ranking's


def release_top_grade(path: Path) -> int:
    """Return the highest grade of the release that the file lies in, by its settings; MAX_RELEVANCE outside of one."""
    try:
        settings = parse_json(decode(read_bytes(path.with_name(SETTINGS))))
    except ScoringError:  # there is none, or it is of something else
        return MAX_RELEVANCE
    consensus = settings.get("consensus") if isinstance(settings, dict) else None
    grade = consensus.get("highest_grade", TOP_GRADE_BEFORE) if isinstance(consensus, dict) else MAX_RELEVANCE
    return grade if isinstance(grade, int) and 0 < grade <= MAX_RELEVANCE else MAX_RELEVANCE


def read_ground_truth(
    path: Path | str,
    file_format: FileFormat | None = None,
    *,
    corpus: VideoCorpus | None = None,
    top_grade: int | None = None,
) -> JudgedTable:
    """Judged moments, queries in the file's order. Other arguments and errors as for ``read_run``.

    Args:
        top_grade: the highest relevance there may be; by the release that the file lies in if not given, else 9.
    """
    data = read_bytes(Path(path))
    top_grade = release_top_grade(Path(path)) if top_grade is None else top_grade
    with at(str(path)):
        return parse_ground_truth(data, file_format, corpus=corpus, top_grade=top_grade)


def parse_ground_truth(
    data: bytes,
    file_format: FileFormat | None = None,
    *,
    corpus: VideoCorpus | None = None,
    top_grade: int = MAX_RELEVANCE,
) -> JudgedTable:
    """As ``read_ground_truth``, from bytes."""
    source = SourceFile(data, corpus, top_grade=top_grade)
    if file_format is None:
        file_format, truth = detect_format(source)
        if truth is False:
            raise WrongFormat(f"this looks like a run in the form {file_format.value}; ground truth is needed")
    return CODECS[file_format].read_ground_truth(source)


def write_run(path: Path, run: RunTable, file_format: FileFormat = FileFormat.TVR_RANKING) -> None:
    """Write a run, gzipped if the name ends in ``.gz``; all or nothing. Raises NotWritable, UnreadableFile."""
    write_atomically(path, CODECS[file_format].write_run(run))


def write_ground_truth(path: Path, judged: JudgedTable) -> None:
    """Write judged moments in the form of TVR-Ranking; as ``write_run``."""
    write_atomically(path, tvr_ranking.write_ground_truth(judged))


PARQUET_MAGIC = b"PAR1"
RUN, TRUTH = False, True
KEYS = (  # of an entry or line: the first that are all there decide
    ({"pred_relevant_windows"}, FileFormat.QVHIGHLIGHTS, RUN),
    ({"pred_saliency_scores"}, FileFormat.QVHIGHLIGHTS, RUN),
    ({"qid", "relevant_windows"}, FileFormat.QVHIGHLIGHTS, TRUTH),
    ({"predictions"}, FileFormat.TVR_RANKING, RUN),
    ({"relevant_moment"}, FileFormat.TVR_RANKING, TRUTH),
    ({"timestamp", "relevance"}, FileFormat.TVR_RANKING, TRUTH),
    ({"vid_name", "ts"}, FileFormat.TVR, TRUTH),
)
SUBMISSION = ("video2idx", *tvr.TASKS)
FIRST_KEY = re.compile(r'\{\s*"(\w+)"')
VIDEO_KEYS = (({"pos_moments"}, TRUTH), ({"retrieval_pool"}, TRUTH), ({"predictions"}, RUN))  # MVMR, of a video


def detect_format(source: SourceFile) -> tuple[FileFormat, bool | None]:
    """The form, and whether it is ground truth (True), a run (False), or may be either (None).

    Raises:
        WrongFormat: it looks like none of the forms.
        EmptyFile: there is nothing in it.
    """
    if source.plain.startswith(PARQUET_MAGIC):
        return FileFormat.PARQUET, None
    text = source.text
    start = skip_blank(text, 0)
    if start == len(text):
        raise EmptyFile("no content")
    if text[start] in "[{":
        return format_of_json(text, start)
    return format_of_columns(text[start : (text.find("\n", start) + 1 or len(text))])


def format_of_json(text: str, start: int) -> tuple[FileFormat, bool | None]:
    """The form of JSON, from its first entry."""
    if text[start] == "[":
        start = skip_blank(text, start + 1)
        if text[start : start + 1] == "]":
            return FileFormat.TVR_RANKING, None
    first_key = FIRST_KEY.match(text, start)
    if first_key is not None and first_key[1] in SUBMISSION:
        return FileFormat.TVR, RUN  # and may be large: it is not looked at further
    entry, _ = decoded(text, start)
    keys = set(entry) if isinstance(entry, dict) else set()
    for needed, file_format, truth in KEYS:
        if needed <= keys:
            return file_format, truth
    first = next(iter(entry.values()), None) if isinstance(entry, dict) else None
    for needed, truth in VIDEO_KEYS if isinstance(first, dict) else ():
        if needed <= set(first or ()):
            return FileFormat.MVMR, truth
    return FileFormat.TVR_RANKING, None  # its reader says what is missing


def format_of_columns(line: str) -> tuple[FileFormat, bool | None]:
    """The form of a text in columns, from its first line."""
    names = [name.strip().strip('"') for name in line.split(",")]
    if "query_id" in names:
        return FileFormat.CSV, None if "score" in names and "relevance" in names else "relevance" in names
    cells = len(line.split())
    if cells in (len(trec.RUN), len(trec.QRELS)):
        return FileFormat.TREC, cells == len(trec.QRELS)
    raise WrongFormat(f"line 1: neither JSON nor columns of a form that is known: {shown(line.strip())}")
