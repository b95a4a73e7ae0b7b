"""Figures of exams as pages and files show them."""

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from judging.rules.agreement import Weights
from judging.selectors.exams import ExamRow

PAPER_SHARE, PAPER_KAPPA = "11.83 %", "0.49"  # of the first cohort of TVR-Ranking
UNDEFINED = "undefined"
COLUMNS = [
    "annotator",
    "state",
    "pairs",
    "misaligned",
    "mean_bias",
    *(f"kappa_{weights}{part}" for weights in Weights for part in ("", "_low", "_high")),
    *(f"pairwise_{weights}" for weights in Weights),
    *(f"after_feedback_{weights}" for weights in Weights),
    "passed",
    "why",
]


class Figure(NamedTuple):
    """One person of an exam with their report, so far as there is one."""

    row: ExamRow
    report: Mapping[str, Any]
    misaligned: str
    pairwise: Mapping[str, Any] | None


def share_words(share: float | None) -> str:
    return UNDEFINED if share is None else f"{100 * share:.2f} %"


def figures_of(rows: Iterable[ExamRow]) -> list[Figure]:
    return [
        Figure(
            row,
            row.sitting.report,
            share_words(row.sitting.report.get("misaligned")),
            (row.sitting.report.get("pairwise") or {}).get("quadratic"),
        )
        for row in rows
    ]


def report_csv(rows: Iterable[ExamRow]) -> str:
    """A line for each person, by annotator number; empty where a figure is undefined or not there yet."""
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(_line(row))
    return file.getvalue()


def _line(row: ExamRow) -> dict[str, object]:
    report = row.sitting.report
    line: dict[str, object] = {"annotator": row.number, "state": row.sitting.state, "passed": row.sitting.passed}
    if not report:
        return line
    line |= {"pairs": report["n"], "misaligned": report["misaligned"], "mean_bias": report["mean_bias"]}
    for weights in map(str, Weights):
        kappa = report["kappas"][weights]
        low, high = (kappa["interval"] or {}).get("low"), (kappa["interval"] or {}).get("high")
        line |= {f"kappa_{weights}": kappa["value"], f"kappa_{weights}_low": low, f"kappa_{weights}_high": high}
        line[f"pairwise_{weights}"] = report["pairwise"][weights]["value"] if report["pairwise"] else None
        after = report["after_feedback"]
        line[f"after_feedback_{weights}"] = after[weights]["value"] if after else None
    return {**line, "why": report.get("why", "")}
