"""The pool report as CSV: by query and source, and source against source."""

from collections.abc import Iterator
from typing import IO

from annotation.spreadsheets import csv_write
from judging.selectors import ALL_RUNS, Counts, PoolReport

COUNTS = ["spans", "unmatched", "without_preview", "moments", "in_similarity", "passed_over"]
COUNTS += ["in_earlier_pools", "new", "new_alone"]
COLUMNS = ["query_id", "query", "source", "queries", *COUNTS, "to_judge"]
OVERLAP_COLUMNS = ["source", "moments", "other", "other_moments", "both"]


def report_write(report: PoolReport, target: IO[str]) -> None:
    """Rows of each query, one a source and one for all runs; those without a query are the totals."""
    csv_write(target, COLUMNS, _rows(report))


def _rows(report: PoolReport) -> Iterator[list[object]]:
    for source, counts in report.totals:
        yield _row("", "", source.name, counts)
    yield _row("", "", ALL_RUNS, report.union)
    for told in report.queries:
        for source, counts in zip(report.sources, told.by_source, strict=True):
            yield _row(told.query.number, told.query.text, source.name, counts)
        yield _row(told.query.number, told.query.text, ALL_RUNS, told.union)


def _row(number: object, text: str, source: str, counts: Counts) -> list[object]:
    return [number, text, source, counts.queries, *(getattr(counts, name) for name in COUNTS), counts.to_judge]


def overlaps_write(report: PoolReport, target: IO[str]) -> None:
    """A row for each two sources, similarity among them."""
    rows = [
        [one.name, one.moments, other.name, other.moments, both]
        for one in report.overlaps
        for other, both in zip(report.overlaps, one.shared, strict=True)
    ]
    csv_write(target, OVERLAP_COLUMNS, rows)
