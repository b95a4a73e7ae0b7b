"""The report of a pool as rows: what each source adds, and what sources share."""

from collections.abc import Iterator

from judging.studies.selectors import ALL_RUNS, Counts, PoolReport

COUNTS = ["spans", "unmatched", "without_preview", "moments", "in_similarity", "passed_over"]
COUNTS += ["in_earlier_pools", "new", "new_alone"]
COLUMNS = ["query_id", "query", "source", "queries", *COUNTS, "to_judge"]
OVERLAP_COLUMNS = ["source", "moments", "other", "other_moments", "both"]


def report_rows(report: PoolReport) -> Iterator[list[object]]:
    """Yield rows of each query, one a source and one for all runs; those without a query are the totals."""
    for source, counts in report.totals:
        yield _row("", "", source.name, counts)
    yield _row("", "", ALL_RUNS, report.union)
    for entry in report.queries:
        for source, counts in zip(report.sources, entry.by_source, strict=True):
            yield _row(entry.query.number, entry.query.text, source.name, counts)
        yield _row(entry.query.number, entry.query.text, ALL_RUNS, entry.union)


def _row(number: object, text: str, source: str, counts: Counts) -> list[object]:
    return [number, text, source, counts.queries, *(getattr(counts, name) for name in COUNTS), counts.to_judge]


def overlap_rows(report: PoolReport) -> Iterator[list[object]]:
    """Yield a row for each two sources, similarity among them: how many moments both have."""
    for one in report.overlaps:
        for other, both in zip(report.overlaps, one.shared, strict=True):
            yield [one.name, one.moments, other.name, other.moments, both]
