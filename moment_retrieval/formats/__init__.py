"""Runs and ground truth on disk, in the forms of the field; docs/data-formats.md describes each.

A form is named, or seen from the content (``detection``). Files may be gzipped, or alone in a zip archive. Every error
names the file, the line and the place in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from moment_retrieval.corpus import VideoCorpus
from moment_retrieval.errors import WrongFormat, at
from moment_retrieval.formats import delimited, mvmr, qvhighlights, trec, tvr, tvr_ranking
from moment_retrieval.formats.builder import Source
from moment_retrieval.formats.detection import Form, detected
from moment_retrieval.jsonfiles import read_bytes, write_atomically
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


@dataclass(frozen=True)
class Codec:
    """How one form is read and written."""

    read_run: Callable[[Source], RunTable]
    read_ground_truth: Callable[[Source], JudgedTable]
    write_run: Callable[[RunTable], str | bytes]
    write_ground_truth: Callable[[JudgedTable], str | bytes]


CODECS = {
    form: Codec(module.read_run, module.read_ground_truth, module.write_run, module.write_ground_truth)
    for form, module in {
        Form.TVR_RANKING: tvr_ranking,
        Form.TVR: tvr,
        Form.QVHIGHLIGHTS: qvhighlights,
        Form.MVMR: mvmr,
        Form.TREC: trec,
        Form.CSV: delimited,
    }.items()
} | {
    Form.PARQUET: Codec(
        delimited.read_run_parquet,
        delimited.read_ground_truth_parquet,
        delimited.write_run_parquet,
        delimited.write_ground_truth_parquet,
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
    data: bytes,
    form: Form | None = None,
    *,
    corpus: VideoCorpus | None = None,
    strict: bool = True,
    task: str = "VCMR",
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


def write_ground_truth(path: Path, judged: JudgedTable, form: Form = Form.TVR_RANKING) -> None:
    """Write judged moments; as ``write_run``."""
    write_atomically(path, CODECS[form].write_ground_truth(judged))
