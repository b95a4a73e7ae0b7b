"""Scores as a table for people, as JSON, and as CSV."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from moment_retrieval.metrics.ndcg_iou import Convention, Empty, Measure
from moment_retrieval.metrics.report import Report
from moment_retrieval.metrics.scores import Scores

NAME_WIDTH = 17
FORMULA = ("=", "+", "-", "@", "\t", "\r")
MEANING = {
    Convention.PAPER: "IoU >= mu; mean over the ground truth's queries, missing ones count 0",
    Convention.RELEASED: "IoU > mu; mean over the run's queries",
}


def readings(report: Report) -> dict[str, str]:
    """Return the readings of the measure that were chosen, by name."""
    empty = {} if report.empty is Empty.ZERO else {"empty": report.empty.value}
    condensed = {"lists": "condensed (predictions where nothing is judged left out)"} if report.condensed else {}
    return {"convention": report.convention.value, "gain": report.gain.value, **empty, **condensed}


@dataclass(frozen=True)
class Scored:
    """A run with its scores, and what is odd about it."""

    run: str
    ground_truth: str
    metric: str
    scores: Scores
    warnings: tuple[str, ...] = ()

    @property
    def how(self) -> dict[str, str]:
        """How the scores were computed."""
        if isinstance(self.scores, Report):
            convention = self.scores.convention
            return readings(self.scores) | {"convention": f"{convention.value} ({MEANING[convention]})"}
        return {"metric": self.metric, **self.scores.facts}

    @property
    def counts(self) -> dict[str, int]:
        return {"queries": len(self.scores.query_ids), "missing queries": len(self.scores.missing)}


def as_table(runs: Sequence[Scored], *, per_query: bool) -> str:
    """For people: how it was computed, then the values."""
    first = runs[0]
    facts = {"run": first.run} if len(runs) == 1 else {}
    facts |= {"ground truth": first.ground_truth} | first.how
    if len(runs) > 1:
        return "\n".join([*fact_lines(facts), "", *side_by_side(runs, per_query=per_query)])
    lines = fact_lines(facts | {name: str(count) for name, count in first.counts.items()})
    lines += [f"{'remark':<{NAME_WIDTH}}{warning}" for warning in first.warnings]
    lines += ["", *(grid(first.scores) if isinstance(first.scores, Report) else by_measure(first.scores))]
    return "\n".join([*lines, *(["", *each_query(first.scores)] if per_query else [])])


def fact_lines(facts: Mapping[str, str]) -> list[str]:
    return [f"{name:<{NAME_WIDTH}}{value}" for name, value in facts.items()]


def grid(report: Report) -> list[str]:
    """One row for each cutoff, one column for each threshold."""
    mus = list(dict.fromkeys(measure.mu for measure in report.measures))
    lines = [f"{'NDCG@K,IoU>=mu':<15}" + "".join(f"{mu:>9}" for mu in mus)]
    for k in dict.fromkeys(measure.k for measure in report.measures):
        lines.append(f"{f'K = {k}':<15}" + "".join(f"{report.mean[Measure(k, mu)]:>9.4f}" for mu in mus))
    return lines


def by_measure(scores: Scores) -> list[str]:
    """One row for each measure, with a column for each type of query."""
    columns = {"all": scores.mean, **(scores.by_kind if len(set(scores.kinds)) > 1 else {})}
    return columned(columns, scores.mean)


def side_by_side(runs: Sequence[Scored], *, per_query: bool) -> list[str]:
    """One row for each measure, one column for each run; then the remarks, and each run's queries."""
    names = short_names([one.run for one in runs])
    columns = {name: one.scores.mean for name, one in zip(names, runs, strict=True)}
    lines = columned(columns, runs[0].scores.mean, [(name, one.counts) for name, one in zip(names, runs, strict=True)])
    warnings = [f"{name}: {warning}" for name, one in zip(names, runs, strict=True) for warning in one.warnings]
    lines += ["", *warnings] if warnings else []
    for name, one in zip(names, runs, strict=True) if per_query else ():
        lines += ["", name, *each_query(one.scores)]
    return lines


def columned(
    columns: Mapping[str, Mapping[Any, float]],
    measures: Iterable[Any],
    counts: Sequence[tuple[str, Mapping[str, int]]] = (),
) -> list[str]:
    """Rows of measures under the names of the columns; counts first."""
    measures = list(measures)
    wide = max([NAME_WIDTH, *(len(str(measure)) for measure in measures)])
    widths = [max(9, len(name) + 2) for name in columns]
    lines = [" " * wide + "".join(f"{name:>{width}}" for name, width in zip(columns, widths, strict=True))]
    for what in counts[0][1] if counts else ():
        cells = (f"{column[what]:>{width}}" for (_, column), width in zip(counts, widths, strict=True))
        lines.append(f"{what:<{wide}}" + "".join(cells))
    for measure in measures:
        values = zip(columns.values(), widths, strict=True)
        lines.append(f"{measure!s:<{wide}}" + "".join(f"{shown(column[measure]):>{width}}" for column, width in values))
    return lines


def each_query(scores: Scores) -> list[str]:
    """One row for each query, one column for each measure."""
    wide = max([len("query"), *map(len, scores.query_ids)])
    names = [str(measure) for measure in scores.measures]
    widths = [max(8, len(name) + 2) for name in names]
    lines = [f"{'query':<{wide}}" + "".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))]
    for query_id, row in zip(scores.query_ids, scores.values.tolist(), strict=True):
        cells = (f"{shown(value):>{width}}" for value, width in zip(row, widths, strict=True))
        lines.append(f"{query_id:<{wide}}" + "".join(cells))
    return lines


def shown(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"


def short_names(runs: Sequence[str]) -> list[str]:
    """The paths without the folders and endings that all share; one alone, or given twice, by its file's name."""
    parts = [Path(run).parts for run in runs]
    if len(set(runs)) < 2:
        return [Path(run).name for run in runs]
    first = _shared(parts)
    last = _shared([own[first:][::-1] for own in parts])
    middles = [own[first : len(own) - last] for own in parts]
    return [str(Path(*own)) if own else run for own, run in zip(middles, runs, strict=True)]


def _shared(parts: Sequence[Sequence[str]]) -> int:
    """How many parts are the same at the beginning of all."""
    return sum(1 for _ in takewhile(lambda level: len(set(level)) == 1, zip(*parts, strict=False)))


def as_json(runs: Sequence[Scored], *, per_query: bool) -> str:
    """One JSON object on one line; several runs give an array of them, a line each."""
    rows = [json.dumps(json_of(one, per_query=per_query), allow_nan=False) for one in runs]
    return rows[0] if len(rows) == 1 else "[\n" + ",\n".join(rows) + "\n]"


def json_of(one: Scored, *, per_query: bool) -> dict[str, Any]:
    """A run's scores by the names of measures; null where there is none."""
    scores = one.scores
    how = readings(scores) if isinstance(scores, Report) else one.how
    record: dict[str, Any] = {"run": one.run, "ground_truth": one.ground_truth, "metric": one.metric, **how}
    record |= {
        "queries": len(scores.query_ids),
        "missing_queries": len(scores.missing),
        "missing_query_ids": scores.missing,
        "remarks": one.warnings,
        "scores": named(scores.mean),
    }
    if scores.kinds:
        record["by_type"] = {kind: named(values) for kind, values in scores.by_kind.items()}
    if per_query:
        record["per_query"] = {query_id: named(values) for query_id, values in scores.per_query.items()}
    return record


def named(values: Mapping[Any, float]) -> dict[str, float | None]:
    return {str(measure): None if math.isnan(value) else value for measure, value in values.items()}


def as_csv(runs: Sequence[Scored], *, per_query: bool) -> str:
    """One row for each run, or for each query of each run; an empty cell where there is no value."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    first = runs[0].scores
    if per_query:
        writer.writerow(["run", "query_id", *map(str, first.measures)])
        for one in runs:
            for query_id, row in zip(one.scores.query_ids, one.scores.values.tolist(), strict=True):
                writer.writerow([plain(one.run), plain(query_id), *map(cell, row)])
    else:
        writer.writerow(["run", "queries", "missing_queries", *map(str, first.mean)])
        for one in runs:
            writer.writerow([plain(one.run), *one.counts.values(), *map(cell, one.scores.mean.values())])
    return out.getvalue().removesuffix("\n")


def plain(text: str) -> str:
    """The text, so that a spreadsheet takes it for no formula, and UTF-8 can hold it."""
    safe = text.encode("utf-8", "backslashreplace").decode()
    return f"'{safe}" if safe.startswith(FORMULA) else safe


def cell(value: float) -> float | str:
    return "" if math.isnan(value) else value


OUTPUTS = {"table": as_table, "json": as_json, "csv": as_csv}
