"""Figures of exams as pages and files show them."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from core.spreadsheets import csv_text
from judging.qualification.rules.power import OUGHT_TO_FAIL, Grader
from judging.qualification.selectors.exams import ExamPower, ExamRow
from judging.quality.rules.agreement import Weights

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
    "bias",
    "levels",
    "shown_before",
    "left_out",
    "missed_counts",
    "passed",
    "why",
]


GRADERS = {
    Grader.RANDOM: "Grades at random",
    Grader.CONSTANT: "Gives everything the same grade",
    Grader.TWO_LEVEL: "Tells only 0 from the rest",
    Grader.SHIFTED: "Grades one too high always",
    Grader.HONEST: "Grades as the paper's annotators did",
}


class PowerRow(NamedTuple):
    """How likely one grader passes, in words."""

    name: str
    once: str
    within: str
    ought_to_fail: bool
    too_easy: bool


class PowerTable(NamedTuple):
    """Who passes the exam that a lead is about to open."""

    rows: list[PowerRow]
    truth: str
    pairs: int
    shown: int
    warns: bool


class Figure(NamedTuple):
    """One person of an exam with their report, so far as there is one."""

    row: ExamRow
    report: Mapping[str, Any]
    misaligned: str
    pairwise: Mapping[str, Any] | None


def share_words(share: float | None) -> str:
    return UNDEFINED if share is None else f"{100 * share:.2f} %"


def chance_words(chance: float) -> str:
    """A chance in percent; what is rounded to none or to all is said to be below or above."""
    if chance < 0.001:
        return "below 0.1 %"
    return "above 99.9 %" if chance > 0.999 else f"{100 * chance:.1f} %"


def power_table(found: ExamPower) -> PowerTable:
    rows = [
        PowerRow(
            name,
            chance_words(found.chances[grader].once),
            chance_words(found.chances[grader].within),
            grader in OUGHT_TO_FAIL,
            grader in found.too_easy,
        )
        for grader, name in GRADERS.items()
    ]
    return PowerTable(rows, found.truth, found.pairs, found.shown, bool(found.too_easy))


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
    return csv_text(COLUMNS, ([line.get(name) for name in COLUMNS] for line in map(_line, rows)))


def _line(row: ExamRow) -> dict[str, object]:
    report = row.sitting.report
    sat = row.sitting
    line: dict[str, object] = {"annotator": row.number, "state": sat.state, "passed": sat.passed}
    line |= {"shown_before": sat.shown_before, "left_out": sat.left_out, "missed_counts": sat.missed_counts}
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
    return {**line, "bias": report.get("bias"), "levels": report.get("levels"), "why": report.get("why", "")}
