"""What a figure shows: charts, the table of their numbers, and the files that hold them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from django.contrib.staticfiles import finders
from django.utils.safestring import SafeString, mark_safe

from core.charts.canvas import Canvas, document
from core.spreadsheets import csv_text

SHEETS = ("css/app.css", "css/charts.css")
RULES = "svg.chart"  # how the lines of a sheet begin that files bring with them
Value = str | int | float | None


class Column(NamedTuple):
    """A column of a table: its name in files, its heading on pages, and how its numbers are written there."""

    name: str
    heading: str
    form: str = ""

    @property
    def is_number(self) -> bool:
        return self.form != ""

    def cell(self, value: Value) -> str:
        if value is None:
            return "–"
        return format(value, self.form).replace("%", " %") if not isinstance(value, str) else value


COUNT, DECIMAL, SHARE, PLAIN = ",d", ".3f", ".2%", "d"


@dataclass(frozen=True)
class Chart:
    heading: str
    canvas: Canvas
    note: str = ""

    @property
    def svg(self) -> SafeString:
        return mark_safe(self.canvas.inline())  # noqa: S308  # nosec B703 B308 - ElementTree escapes


@dataclass(frozen=True)
class Sheet:
    """A figure as drawn: nothing to draw leaves ``charts`` empty."""

    charts: Sequence[Chart]
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]
    facts: str = ""
    notes: Sequence[str] = ()
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def cells(self) -> list[list[tuple[Column, str]]]:
        return [
            [(column, column.cell(value)) for column, value in zip(self.columns, row, strict=True)] for row in self.rows
        ]

    def csv(self) -> str:
        return csv_text(
            (column.name for column in self.columns), ([_exact(value) for value in row] for row in self.rows)
        )

    def svg(self, title: str, *, empty: str) -> bytes:
        charts = [(chart.heading, chart.canvas) for chart in self.charts] or [(empty, Canvas(empty, 560, 1))]
        return document(title, charts, standalone_style())


def _exact(value: Value) -> Value:
    return round(value, 6) if isinstance(value, float) else value


@cache
def standalone_style() -> str:
    """The rules for charts with the colours of a light page filled in: what a file shows that no page surrounds."""
    sheets = "\n".join(Path(str(finders.find(name))).read_text(encoding="utf-8") for name in SHEETS)
    light = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", sheets)
    colours: dict[str, str] = {}
    for block in re.findall(r":root \{([^}]*)\}", light):
        colours |= dict(re.findall(r"--([\w-]+):\s*([^;]+?)\s*(?:;|$)", block))
    rules = "\n".join(line for line in light.splitlines() if line.startswith(RULES))
    return re.sub(r"var\(--([\w-]+)\)", lambda found: colours[found[1]], rules)
