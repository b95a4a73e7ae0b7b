"""The kinds of charts the figures are made of, tables of colours and histograms among them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from core.charts.canvas import BOLD_LETTER, Axis, Canvas, Plot

LEFT, TOP, BOTTOM = 52, 26, 44
LARGE, SMALL = 84, 31  # sides of a cell of few and of many
MANY = 12
FAINTLY = 0.3
STRONG = 0.75  # from here on a cell is written on in the colour for dark ground


class Spread(NamedTuple):
    """One band: a middle and how far it spreads; None where there is nothing."""

    label: str
    middle: float | None
    low: float
    high: float
    title: str


def spread_chart(label: str, spreads: Sequence[Spread], axis: Axis, *, x_name: str) -> Canvas:
    """Dots with whiskers."""
    plot = Plot(label, [spread.label for spread in spreads], axis, x_name=x_name)
    for index, spread in enumerate(spreads):
        if spread.middle is not None:
            plot.whisker(index, spread.low, spread.high, spread.title)
            plot.dot(index, spread.middle, spread.title)
    return plot


class Column(NamedTuple):
    """One column with words above it; a gap where the value is None."""

    label: str
    value: float | None
    words: tuple[str, ...]
    css: str = "bar"


def columns_chart(label: str, columns: Sequence[Column], axis: Axis, *, x_name: str, height: float = 200) -> Canvas:
    plot = Plot(label, [column.label for column in columns], axis, x_name=x_name, height=height)
    for index, column in enumerate(columns):
        if column.value is None:
            continue
        plot.bar(index, 0, column.value, column.css, f"{column.label}: {', '.join(column.words)}")
        first = plot.y(column.value) - 6 - 16 * (len(column.words) - 1)
        if plot.step >= 60:  # there is room for words
            for line, words in enumerate(column.words):
                plot.words(plot.x(index), first + 16 * line, words, "value")
    return plot


def parts_chart(
    label: str,
    bands: Sequence[str],
    counts: Sequence[Sequence[int]],
    parts: Sequence[tuple[str, str]],
    axis: Axis,
    *,
    x_name: str,
    heading: str = "",
) -> Canvas:
    """Draw how each band divides into parts: a full column each, in percent, the first part at its foot.

    Args:
        counts: of each band, how many there are of each part.
        parts: class and name of each.
        heading: what the parts are called together.
    """
    legend = [*([("", heading)] if heading else []), *parts]
    plot = Plot(label, bands, axis, legend=legend, x_name=x_name)
    prefix = f"{heading} " if heading else ""
    for index, numbers in enumerate(counts):
        total, below = sum(numbers), 0
        for (css, name), n in zip(parts, numbers, strict=True):
            if n:
                title = f"{bands[index]}: {prefix}{name}: {n:,} of {total:,}, {100 * n / total:.1f} %"
                plot.bar(index, 100 * below / total, 100 * (below + n) / total, css, title, width=0.86)
            below += n
    return plot


class Series(NamedTuple):
    """A line with a name; None where there is no value."""

    name: str
    values: Sequence[float | None]


def lines_chart(label: str, bands: Sequence[str], series: Sequence[Series], axis: Axis, *, x_name: str = "") -> Canvas:
    keys = [(f"series-{index}", line.name) for index, line in enumerate(series, 1)]
    plot = Plot(label, bands, axis, legend=keys, x_name=x_name)
    for (css, name), line in zip(keys, series, strict=True):
        plot.line(line.values, f"line {css}")
        for index, value in enumerate(line.values):
            if value is not None:
                plot.dot(index, value, f"{bands[index]}: {name} {value:.2f}", css)
    return plot


class Point(NamedTuple):
    """A dot at a place of a scatter plot; ``x`` is counted in bands from the first, ``series`` from 0."""

    x: float
    y: float
    series: int
    title: str


SCATTER_COLOURS = 10
SCATTER_SPREAD = 16.0  # units over which series of the same value stand above each other


def scatter_chart(
    label: str, bands: Sequence[str], points: Sequence[Point], series: Sequence[str], axis: Axis, *, x_name: str
) -> Canvas:
    """Draw dots of a colour for each series; those of equal value lie side by side instead of hiding each other."""
    keys = [(f"dot-{index % SCATTER_COLOURS}", name) for index, name in enumerate(series)]
    plot = Plot(label, bands, axis, legend=keys, x_name=x_name, height=240)
    for point in points:
        shift = SCATTER_SPREAD * ((point.series + 0.5) / max(1, len(series)) - 0.5)
        plot.mark(
            "circle",
            keys[point.series][0],
            title=point.title,
            cx=plot.x(point.x),
            cy=plot.y(point.y) - shift,
            r=3,
        )
    return plot


class Cell(NamedTuple):
    """One field: how strong its colour is, 0 to 1, and what is written in it; faintly where it says little."""

    strength: float
    lines: tuple[str, ...]
    title: str
    css: str = ""
    is_faint: bool = False


LEAST_WIDTH = 480.0  # of a heat map, that of five grades


def heat_map(
    label: str,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[int, int], Cell],
    names: tuple[str, str],
) -> Canvas:
    """Draw cells by (row, column), the first row at the top; ``names`` are those of rows and columns."""
    is_large = max(len(rows), len(columns)) <= MANY
    wide, high = (LARGE, LARGE * 0.62) if is_large else (SMALL, SMALL * 0.8)
    margin = max(LEFT, 12 + BOLD_LETTER * max(map(len, rows), default=0))  # room for the names of rows
    width = margin + wide * len(columns) + 8  # of the cells; a page stretches a narrower canvas to its own width
    foot = TOP + high * len(rows)
    canvas = Canvas(label, max(width, LEAST_WIDTH), foot + BOTTOM, classes="heat" if is_large else "heat dense")
    canvas.words(0, 13, names[0], "name", "start")
    canvas.words((margin + width) / 2, foot + 37, names[1], "name")
    for index, text in enumerate(rows):
        canvas.words(margin - 8, TOP + (index + 0.5) * high + 4, text, anchor="end")
    for index, text in enumerate(columns):
        canvas.words(margin + (index + 0.5) * wide, foot + 17, text)
    for (row, column), cell in cells.items():
        _draw(canvas, cell, (margin + column * wide, TOP + row * high), (wide, high))
    return canvas


def _draw(canvas: Canvas, cell: Cell, corner: tuple[float, float], size: tuple[float, float]) -> None:
    (x, y), (wide, high) = corner, size
    strength = min(1.0, max(0.0, cell.strength)) * (FAINTLY if cell.is_faint else 1.0)
    shape: dict[str, Any] = {"rx": 2, "x": x + 1, "y": y + 1, "width": wide - 2, "height": high - 2}
    canvas.mark("rect", f"cell {cell.css}".strip(), title=cell.title, fill_opacity=f"{strength:.2f}", **shape)
    css = "few" if cell.is_faint else "strong" if cell.strength > STRONG else "weak"
    first = y + high / 2 + 4 - 8 * (len(cell.lines) - 1)
    for index, line in enumerate(cell.lines):
        canvas.words(x + wide / 2, first + 16 * index, line, css)


WIDTH, HEIGHT = 400, 110
GAP = 0.15  # of a bin, left free


@dataclass(frozen=True)
class Bin:
    """One place of a histogram and how many of each series are there."""

    label: str
    counts: tuple[int, ...]
    tick: str = ""  # written below


@dataclass(frozen=True)
class Bar:
    """One series in one bin."""

    series: int
    x: float
    y: float
    width: float
    height: float
    title: str


class Histogram:
    """Bars side by side in each bin, drawn to the highest of all."""

    width, height = WIDTH, HEIGHT

    def __init__(
        self, bins: Sequence[Bin], series: Sequence[str], *, ticks_at: float = 0.5, mark: float | None = None
    ) -> None:
        """``ticks_at``: where in its bin a tick stands. ``mark``: where to draw a line, in bins from the left."""
        self.bins, self.series = bins, series
        self.most = max((n for one in bins for n in one.counts), default=0)
        step = self.width / max(1, len(bins))
        self.mark = None if mark is None else mark * step
        self.ticks = [((index + ticks_at) * step, one.tick) for index, one in enumerate(bins) if one.tick]
        self.bars: list[Bar] = []
        width = step * (1 - GAP) / len(series)
        for index, one in enumerate(bins):
            for number, n in enumerate(one.counts):
                if n:
                    height = self.height * n / self.most
                    x = index * step + step * GAP / 2 + number * width
                    title = f"{one.label}: {n:,} {series[number]}".strip()
                    self.bars.append(Bar(number, x, self.height - height, width, height, title))
