"""A table as colours. Pure."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from judging.plots.canvas import Canvas

LEFT, TOP, BOTTOM = 52, 26, 44
LARGE, SMALL = 84, 31  # sides of a cell of few and of many
MANY = 12
FAINTLY = 0.3
STRONG = 0.75  # from here on a cell is written on in the colour for dark ground


class Cell(NamedTuple):
    """One field: how strong its colour is, 0 to 1, and what is written in it; faintly where it says little."""

    strength: float
    lines: tuple[str, ...]
    title: str
    css: str = ""
    is_faint: bool = False


def heat_map(
    label: str,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Mapping[tuple[int, int], Cell],
    names: tuple[str, str],
) -> Canvas:
    """Cells by (row, column); the first row is at the top.

    Args:
        names: what the rows and the columns are.
    """
    is_large = max(len(rows), len(columns)) <= MANY
    wide, high = (LARGE, LARGE * 0.62) if is_large else (SMALL, SMALL * 0.8)
    width = LEFT + wide * len(columns) + 8
    foot = TOP + high * len(rows)
    canvas = Canvas(label, width, foot + BOTTOM, classes="heat" if is_large else "heat dense")
    canvas.words(0, 13, names[0], "name", "start")
    canvas.words((LEFT + width) / 2, foot + 37, names[1], "name")
    for place, text in enumerate(rows):
        canvas.words(LEFT - 8, TOP + (place + 0.5) * high + 4, text, anchor="end")
    for place, text in enumerate(columns):
        canvas.words(LEFT + (place + 0.5) * wide, foot + 17, text)
    for (row, column), cell in cells.items():
        _draw(canvas, cell, (LEFT + column * wide, TOP + row * high), (wide, high))
    return canvas


def _draw(canvas: Canvas, cell: Cell, corner: tuple[float, float], size: tuple[float, float]) -> None:
    (x, y), (wide, high) = corner, size
    strength = min(1.0, max(0.0, cell.strength)) * (FAINTLY if cell.is_faint else 1.0)
    canvas.mark(
        "rect",
        f"cell {cell.css}".strip(),
        title=cell.title,
        fill_opacity=f"{strength:.2f}",
        rx=2,
        x=x + 1,
        y=y + 1,
        width=wide - 2,
        height=high - 2,
    )
    css = "few" if cell.is_faint else "strong" if cell.strength > STRONG else "weak"
    first = y + high / 2 + 4 - 8 * (len(cell.lines) - 1)
    for place, line in enumerate(cell.lines):
        canvas.words(x + wide / 2, first + 16 * place, line, css)
