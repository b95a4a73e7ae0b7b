"""Tables 1 and 4 as people read them: beside the published values, and as LaTeX. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from annotation.rules.collection_figures import PUBLISHED, ROWS, TABLE_1, TABLE_4, Row, told

Column = Mapping[str, Any]
SPLITS = {"train": "Training", "val": "Validation", "test": "Test"}
PAPER = "published "
ESCAPED = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}"}
)


class Line(NamedTuple):
    label: str
    meaning: str
    cells: list[str]


class Table(NamedTuple):
    title: str
    head: list[tuple[str, str, bool]]  # name, what its moments are, and whether it is published
    lines: list[Line]


def published() -> list[Column]:
    """The paper's columns, which hold what it prints."""
    said = {"train": "the best 40 of each training query", "val": "judged and settled", "test": "judged and settled"}
    return [{"column": f"{PAPER}{split}", "moments_are": said[split], **values} for split, values in PUBLISHED.items()]


def column_name(column: str) -> str:
    if column == "all":
        return "Corpus"
    if column.startswith(PAPER):
        return f"TVR-Ranking, {SPLITS[column.removeprefix(PAPER)].lower()}"
    kind, _, name = column.rpartition(" ")
    if kind == "train set":
        return f"Training set, N = {name}"
    return f"Source split {name}" if kind == "source" else SPLITS.get(name, name)


def tables(columns: Sequence[Column], *, more: Sequence[Row] = ()) -> list[Table]:
    """Both tables, with the published columns behind ours; ``more`` are further lines of a third one."""
    parts = [("Size (Table 1)", TABLE_1), ("Lengths (Table 4)", TABLE_4)]
    if more:
        parts.append(("Judged", tuple(more)))
    return [table(title, rows, columns) for title, rows in parts]


def table(title: str, rows: Iterable[Row], columns: Sequence[Column]) -> Table:
    head = [
        (column_name(column["column"]), column["moments_are"], column["column"].startswith(PAPER)) for column in columns
    ]
    lines = [Line(row.label, row.meaning, [_cell(column, row) for column in columns]) for row in rows]
    return Table(title, head, lines)


def _cell(column: Column, row: Row) -> str:
    """The paper prints two decimals at most."""
    decimals = min(row.decimals, 2) if column["column"].startswith(PAPER) else row.decimals
    return told(column.get(row.name), decimals)


def value_rows(columns: Iterable[Column], rows: Iterable[Row] = ROWS) -> Iterator[tuple[str, str, object]]:
    """The tables in long form: column, measure, value; what a column does not have is left out."""
    held = list(rows)
    for column in columns:
        for row in held:
            value = column.get(row.name)
            if value is not None:
                yield column["column"], row.name, round(value, 6)


def latex(found: Sequence[Table]) -> str:
    """The tables for a paper, one after the other."""
    return "\n".join(_latex(one) for one in found)


def _latex(one: Table) -> str:
    names = " & ".join(["", *(name.translate(ESCAPED) for name, *_ in one.head)])
    lines = [" & ".join([line.label, *line.cells]).translate(ESCAPED).replace(r"\&", "&") for line in one.lines]
    body = "\n".join(f"{line.replace('–', '--')} \\\\" for line in lines)
    columns = "l" + "r" * len(one.head)
    ruled = f"\\hline\n{names} \\\\\n\\hline\n{body}\n\\hline"
    return f"% {one.title}\n\\begin{{tabular}}{{{columns}}}\n{ruled}\n\\end{{tabular}}\n"
