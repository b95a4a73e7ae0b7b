"""A leaderboard as CSV, JSON and LaTeX."""

import csv
from collections.abc import Iterator
from io import StringIO
from typing import Any

from annotation.services.import_reports import safe_cell
from models_runner.models import Score
from models_runner.selectors.asked import Asked
from models_runner.selectors.leaderboard import Row, Table

DECIMALS = 4
UNJUDGED_DECIMALS = 2  # whole percents
COLUMNS = ["system", "team", "source", "release", "split", "metric", "convention", "gain"]
COLUMNS += ["value", "low", "high", "unjudged", "p", "p_holm", "tested_against"]
LATEX = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {"~": "\\textasciitilde{}", "^": "\\textasciicircum{}"})


def entries(asked: Asked, table: Table, decimals: int | None = None) -> Iterator[dict[str, Any]]:
    """A row for each run and measure; the p-values are those of the measure that the leaderboard is sorted by."""
    for row in table.ranked:
        for column in asked.all_columns:
            if column.metric in row.scores:
                yield _entry(asked, table, row, row.scores[column.metric], decimals)


def _entry(asked: Asked, table: Table, row: Row, score: Score, decimals: int | None) -> dict[str, Any]:
    tested = score.metric == asked.sorted_by.metric and not row.is_base
    values = told_of(score, decimals)
    return {
        "system": row.run.system,
        "team": row.run.team,
        "source": row.run.source,
        "release": asked.release.version,
        "split": asked.split,
        "metric": score.metric,
        "convention": score.convention,
        "gain": score.gain,
        **values,
        "p": row.p if tested else None,
        "p_holm": row.p_holm if tested else None,
        "tested_against": table.base.run.name if tested and table.base else None,
    }


def told_of(score: Score, decimals: int | None) -> dict[str, float | None]:
    """The numbers of a score; where ``decimals`` says how exactly, the unjudged rate is one of whole percents."""
    held = {name: getattr(score, name) for name in ("value", "low", "high", "unjudged")}
    if decimals is None:
        return held
    places = {**dict.fromkeys(held, decimals), "unjudged": UNJUDGED_DECIMALS}
    return {name: None if value is None else round(value, places[name]) for name, value in held.items()}


def as_csv(asked: Asked, table: Table, decimals: int | None = None) -> str:
    target = StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(COLUMNS)
    for entry in entries(asked, table, decimals):
        writer.writerow([safe_cell(entry[name]) for name in COLUMNS])
    return target.getvalue()


def as_json(asked: Asked, table: Table, decimals: int | None = None) -> dict[str, Any]:
    about = {"release": asked.release.version, "split": asked.split, "is_testing": table.is_testing}
    return {**about, "scores": list(entries(asked, table, decimals))}


def as_latex(asked: Asked, table: Table) -> str:
    """A table of the measures shown, for booktabs; the best of each column is bold."""
    best = [max((c.value for c in column if c), default=0.0) for column in zip(*_cells(table), strict=True)]
    heads = " & ".join(escaped(column.metric) for column in asked.columns)
    lines = [
        f"% release {asked.release.version}, {asked.split}; convention {asked.convention}, gain {asked.gain}",
        "% 95 % bootstrap intervals over queries; u: share of the first K without a relevance: not judged, or dropped",
        f"\\begin{{tabular}}{{l{'r' * len(asked.columns)}}}",
        "\\toprule",
        f"System & {heads} \\\\",
        "\\midrule",
    ]
    for row in table.ranked:
        cells = [_latex_cell(score, top) for score, top in zip(row.cells, best, strict=True)]
        lines.append(" & ".join([escaped(row.run.name), *cells]) + " \\\\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])


def _cells(table: Table) -> list[list[Score | None]]:
    return [row.cells for row in table.ranked]


def _latex_cell(score: Score | None, best: float) -> str:
    if score is None:
        return "--"
    value = f"{score.value:.{DECIMALS}f}"
    value = f"\\textbf{{{value}}}" if score.value >= best else value
    told = f"[{score.low:.{DECIMALS}f}, {score.high:.{DECIMALS}f}]"
    told += "" if score.unjudged is None else f" u {score.unjudged:.0%}".replace("%", "\\,\\%")
    return f"{value} {{\\scriptsize {told}}}"


def escaped(text: str) -> str:
    """As LaTeX takes it for plain text."""
    words = text.replace("\\", "\0").translate(LATEX).replace("\0", "\\textbackslash{}")
    return words.replace(">=", "$\\geq$").replace("<", "$<$")
