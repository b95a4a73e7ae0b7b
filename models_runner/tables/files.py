"""The tables of the papers as CSV and LaTeX, with the labels of the page."""

from collections.abc import Iterator
from typing import Any

from core.spreadsheets import csv_text
from models_runner.leaderboard.files import escaped
from models_runner.tables import published_values as published
from models_runner.tables.selectors import Cell, Line, Setting, Tables

COLUMNS = ["table", "baseline", "n", "experiment", "trained_on_release", "labels", "split", "k", "mu"]
COLUMNS += ["convention", "gain", "seeds", "best_seed", "best", "mean", "deviation"]
COLUMNS += ["published", "published_mean", "published_deviation", "comparison", "trained_on", "notes"]
SCORES, SIMILARITY = "scores", "similarity"


def as_csv(tables: Tables) -> str:
    """A row for each experiment, split, K and mu; one without ours where nothing was trained."""
    return csv_text(COLUMNS, ([entry.get(name) for name in COLUMNS] for entry in entries(tables)))


def entries(tables: Tables) -> Iterator[dict[str, Any]]:
    about = {"convention": tables.asked.convention, "gain": "exponential", "comparison": _comparison(tables)}
    for place in _places():
        known = {**about, **_place(place)}
        for setting in tables.settings:
            of = {**known, "table": SCORES, **_setting(setting), **_published(tables, setting, place)}
            for line in setting.shown:
                yield {**of, **(_line(tables, line, place) if line else {})}
        for line in tables.by_similarity:
            yield {**known, "table": SIMILARITY, **_line(tables, line, place), "comparison": "Nothing is published."}
        yield {**known, **_similarity(tables, place)}


def _places() -> Iterator[tuple[str, int, float]]:
    return ((split, k, mu) for split in published.SPLITS for k in published.KS for mu in published.MUS)


def _place(place: tuple[str, int, float]) -> dict[str, Any]:
    return dict(zip(("split", "k", "mu"), place, strict=True))


def _comparison(tables: Tables) -> str:
    return tables.standing.words if tables.asked.shows_published else "Published values are those of `released`."


def _setting(setting: Setting) -> dict[str, Any]:
    return {"baseline": setting.baseline, "n": setting.top_n}


def _published(tables: Tables, setting: Setting, place: tuple[str, int, float]) -> dict[str, Any]:
    if not tables.asked.shows_published:
        return {}
    split, k, mu = place
    spread = published.spread_of(setting.baseline, setting.top_n, k, mu, split)
    over = {"published_mean": spread.mean, "published_deviation": spread.deviation} if spread else {}
    return {"published": setting.published(split, k, mu), **over}


def _line(tables: Tables, line: Line, place: tuple[str, int, float]) -> dict[str, Any]:
    of = line.experiment
    return {
        **{"baseline": of.baseline, "n": of.top_n, "experiment": of.name, "labels": of.labels},
        **{"trained_on_release": of.release.version, "seeds": len(line.seeds), "best_seed": line.best_seed},
        **line.cell(*place)._asdict(),
        "trained_on": tables.standing.trained_on,
        "notes": "; ".join(line.notes),
    }


def _similarity(tables: Tables, place: tuple[str, int, float]) -> dict[str, Any]:
    _, k, mu = place
    given = {"published": published.SIMILARITY[k][published.MUS.index(mu)]} if tables.asked.shows_published else {}
    ours = {"best": tables.similarity.get(place), "mean": tables.similarity.get(place)}
    words = "moments ranked by similarity, measured by judgments; the paper's split is not known here"
    return {"table": SIMILARITY, "experiment": "similarity", "labels": "judged", **ours, **given, "notes": words}


def as_latex(tables: Tables) -> str:
    """The table of one split for booktabs, every K; what is not comparable says so below it."""
    asked, columns = tables.asked, 3 if tables.asked.shows_published else 2
    own = [*tables.lines, *tables.by_similarity]
    marks = {line.experiment.pk: number for number, line in enumerate(own, start=1)}
    heads = ["best", "mean", *(["published"] if asked.shows_published else [])] * len(published.MUS)
    spans = " & ".join(f"\\multicolumn{{{columns}}}{{c}}{{IoU $\\geq$ {mu}}}" for mu in published.MUS)
    lines = [
        f"% release {asked.release.version}, {asked.split}; convention {asked.convention}, gain exponential",
        f"% {_comparison(tables)}",
        f"\\begin{{tabular}}{{ll{'r' * columns * len(published.MUS)}}}",
        "\\toprule",
        f" & & {spans} \\\\",
        f"K & System & {' & '.join(heads)} \\\\",
    ]
    for k in published.KS:
        lines += ["\\midrule", *_latex_block(tables, k, marks)]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", *_latex_notes(tables, own, marks), ""])


def _latex_block(tables: Tables, k: int, marks: dict[int, int]) -> Iterator[str]:
    for setting in tables.settings:
        for line in setting.shown:
            yield _latex_row(tables, k, setting, line, marks)
    for line in tables.by_similarity:
        yield _latex_row(tables, k, None, line, marks)
    yield _latex_similarity(tables, k)


def _latex_row(tables: Tables, k: int, setting: Setting | None, line: Line | None, marks: dict[int, int]) -> str:
    name = setting.name if setting else "labels by similarity"
    if line:
        name += f": {line.experiment.name}"
    system = escaped(name) + (f"\\textsuperscript{{{marks[line.experiment.pk]}}}" if line else "")
    cells = []
    for mu in published.MUS:
        cell = line.cell(tables.asked.split, k, mu) if line else Cell()
        cells += [_number(cell.best), _spread(cell)]
        if tables.asked.shows_published:
            cells.append(_number(setting.published(tables.asked.split, k, mu) if setting else None))
    return " & ".join([str(k), system, *cells]) + " \\\\"


def _latex_similarity(tables: Tables, k: int) -> str:
    cells = []
    for mu, given in zip(published.MUS, published.SIMILARITY[k], strict=True):
        ours = _number(tables.similarity.get((tables.asked.split, k, mu)))
        cells += [ours, "--", *([f"{given:.3f}"] if tables.asked.shows_published else [])]
    return " & ".join([str(k), "Ranked by similarity", *cells]) + " \\\\"


def _latex_notes(tables: Tables, own: list[Line], marks: dict[int, int]) -> Iterator[str]:
    yield f"\\par\\footnotesize {escaped(_comparison(tables))} {escaped(tables.standing.trained_on)}"
    for line in own:
        notes = escaped("; ".join(line.notes))
        yield f"\\par\\footnotesize \\textsuperscript{{{marks[line.experiment.pk]}}}{notes}"


def _number(value: float | None) -> str:
    return "--" if value is None else f"{value:.4f}"


def _spread(cell: Cell) -> str:
    return _number(cell.mean) + ("" if cell.deviation is None else f" $\\pm$ {cell.deviation:.4f}")
