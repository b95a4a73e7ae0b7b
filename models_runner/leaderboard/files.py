"""A leaderboard as CSV, JSON and LaTeX, and which files of a release participants may have. They are named one by one,
so that a new file stays closed until named."""

import io
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from annotation.models import Query
from core.lists import csv_text
from judging.models import Release
from judging.releases.layout import JUDGED_SPLITS
from models_runner.leaderboard.rules import INTERVAL_STEPS
from models_runner.leaderboard.selectors.leaderboard import LeaderboardFilters, Row, Table
from models_runner.leaderboard.selectors.shown_scores import ShownScore
from models_runner.models import Leaderboard, Truth

COLUMNS = ["system", "team", "source", "release", "split", "metric", "convention", "gain"]
COLUMNS += ["value", "low", "high", "unjudged", "p", "p_holm", "tested_against"]
LATEX = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {"~": "\\textasciitilde{}", "^": "\\textasciicircum{}"})
TRAIN = re.compile(r"train_top\d+\.json")
QUERIES = {f"{split}_queries.json": str(split) for split in JUDGED_SPLITS}  # in place of labels


def entries(filters: LeaderboardFilters, table: Table) -> Iterator[dict[str, Any]]:
    """A row for each run and measure; the p-values are those of the measure that the leaderboard is sorted by."""
    for row in table.ranked:
        for column in filters.all_columns:
            if column.metric in row.scores:
                yield _entry(filters, table, row, row.scores[column.metric])


def _entry(filters: LeaderboardFilters, table: Table, row: Row, score: ShownScore) -> dict[str, Any]:
    tested = score.metric == filters.sorted_by.metric and not row.is_base
    return {
        "system": row.run.system,
        "team": row.run.team,
        "source": row.run.source,
        "release": filters.release.version,
        "split": filters.split,
        "metric": score.metric,
        "convention": score.column.convention,
        "gain": score.column.gain,
        "value": score.value,
        "low": score.low,
        "high": score.high,
        "unjudged": score.unjudged,
        "p": row.p if tested else None,
        "p_holm": row.p_holm if tested else None,
        "tested_against": table.base.run.name if tested and table.base else None,
        "empty": filters.empty if score.column.convention else "",
    }


def as_csv(filters: LeaderboardFilters, table: Table) -> str:
    names = [*COLUMNS, *(["empty"] if filters.counts_empty else [])]
    return csv_text(names, ([entry[name] for name in names] for entry in entries(filters, table)))


def as_json(filters: LeaderboardFilters, table: Table) -> dict[str, Any]:
    about = {"release": filters.release.version, "split": filters.split, "is_testing": table.is_testing}
    about |= {"step": float(table.step) if table.step else None, "refusal": table.refusal}
    return {**about, "scores": list(entries(filters, table))}


def as_latex(filters: LeaderboardFilters, table: Table) -> str:
    """A table of the measures shown, for booktabs; the best of each column is bold."""
    columns = zip(*(row.cells for row in table.ranked), strict=True)
    best = [max((score.value for score in column if score), default=0.0) for column in columns]
    heads = " & ".join(escaped(column.metric) for column in filters.columns)
    lines = [
        f"% release {filters.release.version}, {filters.split}; convention {filters.convention}, gain {filters.gain}"
        + (", an empty answer to a query without a relevant moment counts 1" if filters.counts_empty else ""),
        f"% {_about_intervals(table)}",
        f"\\begin{{tabular}}{{l{'r' * len(filters.columns)}}}",
        "\\toprule",
        f"System & {heads} \\\\",
        "\\midrule",
    ]
    for row in table.ranked:
        cells = [_latex_cell(score, top) for score, top in zip(row.cells, best, strict=True)]
        lines.append(" & ".join([escaped(row.run.name), *cells]) + " \\\\")
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])


def _about_intervals(table: Table) -> str:
    if table.step:
        return f"hidden labels: scores in steps of {table.step}, {INTERVAL_STEPS} steps each way"
    unjudged = "u: share of the first K without a relevance: not judged, or dropped"
    return f"95 % bootstrap intervals over queries; {unjudged}"


def _latex_cell(score: ShownScore | None, best: float) -> str:
    if score is None:
        return "--"
    value = f"{score.value:.{score.decimals}f}"
    value = f"\\textbf{{{value}}}" if score.value >= best else value
    details = f"[{score.low:.{score.decimals}f}, {score.high:.{score.decimals}f}]"
    details += "" if score.unjudged is None else f" u {score.unjudged:.0%}".replace("%", "\\,\\%")
    return f"{value} {{\\scriptsize {details}}}"


def escaped(text: str) -> str:
    """As LaTeX takes it for plain text."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    words = line.replace("\\", "\0").translate(LATEX).replace("\0", "\\textbackslash{}")
    return words.replace(">=", "$\\geq$").replace("<", "$<$")


class OpenFile(NamedTuple):
    name: str
    bytes: int | None
    words: str


def listed(release: Release, settings: Leaderboard) -> list[OpenFile]:
    """Return the files of the release that reveal no hidden label."""
    sizes = {name: entry["bytes"] for name, entry in release.manifest.get("files", {}).items()}
    judged = set(Truth.objects.filter(release=release).values_list("split", flat=True))
    files = []
    for split, name in JUDGED_SPLITS.items():
        if split in judged and not settings.hides(split) and name in sizes:
            files.append(OpenFile(name, sizes[name], f"judged moments of the {split} split"))
        elif split in judged:
            about = f"queries of the {split} split; their labels are hidden"
            files.append(OpenFile(f"{split}_queries.json", None, about))
    for name, size in sorted(sizes.items()):
        if TRAIN.fullmatch(name):
            files.append(OpenFile(name, size, "pseudo training set: nobody judged it"))
        elif name == "video_corpus.json":
            files.append(OpenFile(name, size, "videos, their lengths and indexes"))
    return files


def queries_json(release: Release, name: str) -> io.BytesIO:
    """Number and text of the queries of a split, whether judged yet or not, and nothing else."""
    queries = Query.objects.filter(project=release.project_id, split=QUERIES[name], is_placeholder=False)
    texts = queries.order_by("number").values_list("number", "text")
    rows = [{"query_id": number, "query": text} for number, text in texts]
    return io.BytesIO((json.dumps(rows, ensure_ascii=False, indent=1) + "\n").encode())
