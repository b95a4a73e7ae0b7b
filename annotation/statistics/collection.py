"""Figures of queries as in Tables 1 and 4 of TVR-Ranking, beside the published values and as LaTeX. Pure.

A word is that of ``text_figures``. The papers do not say how they count words and verbs.
"""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from annotation.statistics.rules import WORD, Measured, Texts, words_per_text

Column = Mapping[str, Any]
Verbs = Callable[[str], Sequence[tuple[str, str]]]  # form and lemma of each verb of a text
DATA = tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))
PUBLISHED: Mapping[str, Column] = DATA["published"]
OTHERS: Mapping[str, Column] = DATA["other"]
REPLACEMENTS: Mapping[str, int] = DATA["replacements"]
GENDERS = {word: gender for gender, words in DATA["genders"].items() for word in words.split()}
NO_GENDER = "N"
SPLITS = {"train": "Training", "val": "Validation", "test": "Test"}
PAPER = "published "
ESCAPED = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}"}
)


@dataclass
class Queries:
    """The queries of one column."""

    texts: Texts = field(default_factory=Texts)
    forms: set[str] = field(default_factory=set)
    lemmas: set[str] = field(default_factory=set)

    def add(self, text: str, verbs: Sequence[tuple[str, str]]) -> None:
        self.texts.add(Measured(text, tuple(WORD.findall(text.lower())), names=False))
        self.forms.update(form for form, _ in verbs)
        self.lemmas.update(lemma for _, lemma in verbs)

    def figures(self, *, tagged: bool) -> dict[str, Any]:
        """``tagged`` is whether somebody looked for verbs."""
        words = words_per_text(self.texts.lengths)
        return {
            "queries": self.texts.texts,
            "texts": len(self.texts.distinct),
            "vocabulary": len(self.texts.vocabulary),
            "verbs": len(self.forms) if tagged else None,
            "lemmas": len(self.lemmas) if tagged else None,
            **{f"words_{name}": words[name] for name in ("min", "mean", "max")},
        }


def query_figures(rows: Iterable[tuple[Sequence[str], str]], *, verbs: Verbs | None) -> dict[str, dict[str, Any]]:
    """Figures of every column, from the columns and the text of each query; one pass, a text is tagged once."""
    of = cache(verbs) if verbs else lambda text: ()
    columns: dict[str, Queries] = {}
    for names, text in rows:
        for name in names:
            columns.setdefault(name, Queries()).add(text, of(text))
    return {name: queries.figures(tagged=verbs is not None) for name, queries in columns.items()}


@dataclass(frozen=True)
class Row:
    """A line of the tables: its name in data, its words, how many decimals, and what it counts exactly."""

    name: str
    label: str
    decimals: int
    meaning: str = ""


TABLE_1, TABLE_4 = (tuple(Row(**row) for row in DATA[name]) for name in ("size", "lengths"))
ROWS = (*TABLE_1, *TABLE_4)


def rounded(value: float | None, decimals: int) -> str:
    """A value of the tables as people read it."""
    return "–" if value is None else f"{value:,.{decimals}f}"


class Line(NamedTuple):
    label: str
    meaning: str
    cells: list[str]


class Table(NamedTuple):
    title: str
    head: list[tuple[str, str, bool]]  # name, what its moments are, and whether it is published
    lines: list[Line]


def published() -> list[Column]:
    """Return the paper's columns, which hold what it prints."""
    return [{"column": f"{PAPER}{split}", **figures} for split, figures in PUBLISHED.items()]


def others() -> list[Column]:
    """Return the paper's columns of the other data sets."""
    return [{"column": f"{PAPER}{name}", **figures} for name, figures in OTHERS.items()]


OF_OTHERS = tuple(row for row in TABLE_1 if row.name in OTHERS["TVR"])


class DataSet(NamedTuple):
    """A line of the table of data sets; ``is_ours``: the corpus that is looked at."""

    name: str
    cells: list[str]
    is_ours: bool


def data_sets(columns: Sequence[Column]) -> list[DataSet]:
    """Return the corpus of our columns, then TVR-Ranking's splits and the nine other data sets, as in Table 1."""
    ours = [column for column in columns if column["column"] == "all"]
    rows = [(column_name(column["column"]), column) for column in [*ours, *published()]] + list(OTHERS.items())
    return [DataSet(name, [_cell(row, one) for one in OF_OTHERS], row in ours) for name, row in rows]


class Replacement(NamedTuple):
    """A word that stands for names: its gender (M, F, N), how often here, and how often in the paper if it says so."""

    word: str
    gender: str
    number: int
    paper: int | None


def replacement_table(words: Iterable[tuple[str, int]]) -> list[Replacement]:
    """Return Table 3 of the paper for our words, the most frequent first."""
    return [Replacement(word, GENDERS.get(word, NO_GENDER), n, REPLACEMENTS.get(word)) for word, n in words]


def replacement_lines(counts: Counter[str], *, captions: int, top: int = 20) -> str:
    """Return lines of text: the most frequent words, their gender, how often they stand for a name, here and there."""
    total = sum(counts.values())
    rows = replacement_table(counts.most_common(top))
    lines = [f"{'word':<12} {'number':>8} gender {'paper':>8}"]
    for row in rows:
        paper = "not available" if row.paper is None else f"{row.paper:,}"
        lines.append(f"{row.word:<12} {row.number:>8,} {row.gender:<6} {paper:>8}")
    mean = total / captions if captions else 0.0
    return "\n".join([*lines, f"{total:,} words replaced in {captions:,} descriptions, {mean:.2f} each."])


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
    is_published = column.get("column", PAPER).startswith(PAPER)
    decimals = min(row.decimals, 2) if is_published else row.decimals
    return rounded(column.get(row.name), decimals)


def value_rows(columns: Iterable[Column], rows: Iterable[Row] = ROWS) -> Iterator[tuple[str, str, object]]:
    """The tables in long form: column, measure, value; what a column does not have is left out."""
    measures = list(rows)
    for column in columns:
        for row in measures:
            value = column.get(row.name)
            if value is not None:
                yield column["column"], row.name, round(value, 6)


def latex(stat_tables: Sequence[Table]) -> str:
    """The tables for a paper, one after the other."""
    return "\n".join(_latex(one) for one in stat_tables)


def _latex(one: Table) -> str:
    names = " & ".join(["", *(name.translate(ESCAPED) for name, *_ in one.head)])
    lines = [" & ".join([line.label, *line.cells]).translate(ESCAPED).replace(r"\&", "&") for line in one.lines]
    body = "\n".join(f"{line.replace('–', '--')} \\\\" for line in lines)
    columns = "l" + "r" * len(one.head)
    ruled = f"\\hline\n{names} \\\\\n\\hline\n{body}\n\\hline"
    return f"% {one.title}\n\\begin{{tabular}}{{{columns}}}\n{ruled}\n\\end{{tabular}}\n"
