"""The tables of the papers as CSV and LaTeX, with the labels of the page."""

from collections.abc import Iterator
from itertools import product
from typing import Any

from core.lists import csv_text
from models_runner.leaderboard.files import escaped
from models_runner.tables import published_values as published
from models_runner.tables.selectors import Line, Row, ScoreKey, Setting, Tables

COLUMNS = ["table", "baseline", "n", "experiment", "trained_on_release", "labels", "split", "k", "mu"]
COLUMNS += ["convention", "gain", "seeds", "best_seed", "best", "mean", "deviation"]
COLUMNS += ["published", "published_mean", "published_deviation", "comparison", "trained_on", "notes"]
SCORES, SIMILARITY, VCMR = "scores", "similarity", "vcmr, per cent"


def as_csv(tables: Tables) -> str:
    """A row for each experiment, split, K and mu; one without ours where nothing was trained."""
    return csv_text(COLUMNS, ([entry.get(name) for name in COLUMNS] for entry in entries(tables)))


def entries(tables: Tables) -> Iterator[dict[str, Any]]:
    about = {"convention": tables.filters.convention, "gain": "exponential", "comparison": _comparison(tables)}
    for key in product(published.SPLITS, published.KS, published.MUS):
        about_key = {**about, **dict(zip(("split", "k", "mu"), key, strict=True))}
        for setting in tables.settings:
            of = {"table": SCORES, "baseline": setting.baseline, "n": setting.top_n}
            theirs = _published(setting, key) if tables.filters.shows_published else {}
            for line in setting.shown:
                yield {**about_key, **of, **theirs, **(_line(tables, line, key) if line else {})}
        for line in tables.by_similarity:
            yield {**about_key, "table": SIMILARITY, **_line(tables, line, key), "comparison": "Nothing is published."}
        yield {**about_key, **_similarity(tables, key)}
    yield from _recall(tables)


def _recall(tables: Tables) -> Iterator[dict[str, Any]]:
    keys = list(product(published.VCMR_MUS, published.VCMR_KS))
    for name, line, cells in tables.recall_rows():
        of = {"experiment": line.experiment.name, "n": line.experiment.top_n, "seeds": len(line.seeds)} if line else {}
        for (mu, k), (ours, theirs) in zip(keys, cells, strict=True):
            about = {"table": VCMR, "baseline": name, "split": tables.filters.split, "k": k, "mu": mu}
            yield {**about, **of, "mean": ours, "published": theirs, "comparison": published.VCMR_SOURCE}


def _comparison(tables: Tables) -> str:
    return tables.status.words if tables.filters.shows_published else "Published values are those of `released`."


def _published(setting: Setting, key: ScoreKey) -> dict[str, Any]:
    split, k, mu = key
    spread = published.spread_of(setting.baseline, setting.top_n, k, mu, split)
    over = {"published_mean": spread.mean, "published_deviation": spread.deviation} if spread else {}
    return {"published": setting.published(*key), **over}


def _line(tables: Tables, line: Line, key: ScoreKey) -> dict[str, Any]:
    of = line.experiment
    return {
        **{"baseline": of.baseline, "n": of.top_n, "experiment": of.name, "labels": of.labels},
        **{"trained_on_release": of.release.version, "seeds": len(line.seeds), "best_seed": line.best_seed},
        **line.cell(*key)._asdict(),
        "trained_on": tables.status.trained_on,
        "notes": "; ".join(line.notes),
    }


def _similarity(tables: Tables, key: ScoreKey) -> dict[str, Any]:
    split, k, mu = key
    shows = tables.filters.shows_published and split == published.SIMILARITY_SPLIT
    theirs = {"published": published.SIMILARITY[k][published.MUS.index(mu)]} if shows else {}
    ours = {"best": tables.similarity.get(key), "mean": tables.similarity.get(key)}
    words = "moments ranked by similarity, measured by judgments; that the paper means this is inferred, see the docs"
    return {"table": SIMILARITY, "experiment": "similarity", "labels": "judged", **ours, **theirs, "notes": words}


def as_latex(tables: Tables) -> str:
    """The table of one split for booktabs, every K; what is not comparable says so below it."""
    filters, columns = tables.filters, 3 if tables.filters.shows_published else 2
    own = [*tables.lines, *tables.by_similarity]
    marks = {line.experiment.pk: number for number, line in enumerate(own, start=1)}
    heads = ["best", "mean", *(["published"] if filters.shows_published else [])] * len(published.MUS)
    spans = " & ".join(f"\\multicolumn{{{columns}}}{{c}}{{IoU $\\geq$ {mu}}}" for mu in published.MUS)
    lines = [
        f"% release {filters.release.version}, {filters.split}; convention {filters.convention}, gain exponential",
        f"% {_comparison(tables)}",
        f"\\begin{{tabular}}{{ll{'r' * columns * len(published.MUS)}}}",
        "\\toprule",
        f" & & {spans} \\\\",
        f"K & System & {' & '.join(heads)} \\\\",
    ]
    for k in published.KS:
        rows = [*tables.rows(k), *tables.rows_by_similarity(k)]
        lines += ["\\midrule", *(_latex_row(tables, k, row, marks) for row in rows), _latex_similarity(tables, k)]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", *_latex_notes(tables, own, marks), ""])


def _latex_row(tables: Tables, k: int, row: Row, marks: dict[int, int]) -> str:
    name, mark = row.setting.name if row.setting else "labels by similarity", ""
    if row.line:
        name += f": {row.line.experiment.name}"
        mark = f"\\textsuperscript{{{marks[row.line.experiment.pk]}}}"
    cells = []
    for cell, theirs in row.cells:
        spread = "" if cell.deviation is None else f" $\\pm$ {cell.deviation:.4f}"
        cells += [_number(cell.best), _number(cell.mean) + spread]
        cells += [_number(theirs)] if tables.filters.shows_published else []
    return " & ".join([str(k), escaped(name) + mark, *cells]) + " \\\\"


def _latex_similarity(tables: Tables, k: int) -> str:
    cells, shows = [], tables.filters.shows_published
    for ours, theirs in tables.bounds(k):
        cells += [_number(ours), "--", *(["--" if theirs is None else f"{theirs:.3f}"] if shows else [])]
    return " & ".join([str(k), "Ranked by similarity", *cells]) + " \\\\"


def _latex_notes(tables: Tables, own: list[Line], marks: dict[int, int]) -> Iterator[str]:
    yield f"\\par\\footnotesize {escaped(_comparison(tables))} {escaped(tables.status.trained_on)}"
    for line in own:
        notes = escaped("; ".join(line.notes))
        yield f"\\par\\footnotesize \\textsuperscript{{{marks[line.experiment.pk]}}}{notes}"


def _number(value: float | None) -> str:
    return "--" if value is None else f"{value:.4f}"
