"""Charts of runs. Pure, but for the names that they are given."""

from collections.abc import Sequence
from typing import TypeVar

from core.charts.canvas import Axis, Canvas

WIDTH, ROW, HEAD, FOOT = 720.0, 24.0, 30.0, 30.0
LONGEST = 34  # letters of a run's name
LETTER = 10.0  # on phones letters are wider
SIDE = 320.0  # of a scatter, without its axes
BARS = 600  # differences drawn at most
T = TypeVar("T")
OVER_QUERIES = "95 % interval over queries"


def intervals_chart(
    metric: str, rows: Sequence[tuple[str, float, float, float]], decimals: int = 4, about: str = OVER_QUERIES
) -> Canvas:
    """A line for each run: its name, its score, and the interval around it, which ``about`` names."""
    names = [_short(name) for name, *_ in rows]
    x_left = 14 + LETTER * max(map(len, names))
    low, high = min(row[2] for row in rows), max(row[3] for row in rows)
    axis = Axis.over(metric, low, high)
    canvas = Canvas(f"{metric} of {len(rows)} runs, {about}", WIDTH, HEAD + ROW * len(rows) + FOOT)

    def x(value: float) -> float:
        return x_left + axis.share(value) * (WIDTH - x_left - 24)

    foot = HEAD + ROW * len(rows)
    canvas.words(0, 14, f"{metric}, {about}", "name", "start")
    for tick in axis.ticks:
        canvas.mark("line", "grid", x1=x(tick), y1=HEAD - 6, x2=x(tick), y2=foot)
        canvas.words(x(tick), foot + 18, axis.label(tick))
    for index, (name, (_, value, least, most)) in enumerate(zip(names, rows, strict=True)):
        y = HEAD + ROW * (index + 0.5)
        title = f"{rows[index][0]}: {value:.{decimals}f}, {least:.{decimals}f} to {most:.{decimals}f}"
        canvas.words(x_left - 10, y + 4, name, "key", "end")
        canvas.mark("line", "whisker", title=title, x1=x(least), y1=y, x2=x(most), y2=y)
        canvas.mark("circle", "dot", title=title, cx=x(value), cy=y, r=4)
    return canvas


def differences_chart(label: str, differences: Sequence[float]) -> Canvas:
    """The differences of all queries, sorted: a hill where the first run wins, a valley where it loses."""
    width, height, x_left = WIDTH, 190.0, 46.0
    canvas = Canvas(label, width, height + 44)
    middle, reach = 20 + height / 2, height / 2
    bars = _thinned(sorted(differences, reverse=True))
    step = (width - x_left - 8) / max(1, len(bars))
    for value in (1, 0.5, 0, -0.5, -1):
        y = middle - value * reach
        canvas.mark("line", "axis" if value == 0 else "grid", x1=x_left, y1=y, x2=width - 8, y2=y)
        canvas.words(x_left - 6, y + 4, f"{value:+g}".replace("-", "−") if value else "0", anchor="end")
    for index, value in enumerate(bars):
        top = middle - max(value, 0) * reach
        size = max(abs(value) * reach, 0.0)
        css = "series-1" if value > 0 else "series-2"
        canvas.mark("rect", css, x=x_left + index * step, y=top, width=max(step, 0.6), height=size)
    canvas.words(x_left, height + 40, f"{len(differences):,} queries, sorted by their difference", "name", "start")
    return canvas


def scatter_chart(label: str, one: str, other: str, points: Sequence[tuple[float, float]]) -> Canvas:
    """A dot for each query: to the right what the second run earns, upwards the first."""
    x_left, top = 46.0, 24.0
    canvas = Canvas(label, x_left + SIDE + 16, top + SIDE + 46)
    canvas.words(0, 13, _short(one), "name", "start")
    canvas.words(x_left + SIDE, top + SIDE + 40, _short(other), "name", "end")
    for value in (0, 0.25, 0.5, 0.75, 1):
        x, y = x_left + value * SIDE, top + (1 - value) * SIDE
        canvas.mark("line", "grid", x1=x_left, y1=y, x2=x_left + SIDE, y2=y)
        canvas.mark("line", "grid", x1=x, y1=top, x2=x, y2=top + SIDE)
        canvas.words(x_left - 6, y + 4, f"{value:g}", anchor="end")
        canvas.words(x, top + SIDE + 18, f"{value:g}")
    canvas.mark("line", "axis", x1=x_left, y1=top + SIDE, x2=x_left + SIDE, y2=top)
    for up, right in _thinned(sorted({(round(a, 2), round(b, 2)) for a, b in points}), 1500):
        css = "series-1" if up > right else "series-2" if up < right else "tick"
        canvas.mark("circle", f"point {css}", cx=x_left + right * SIDE, cy=top + (1 - up) * SIDE, r=2.6)
    return canvas


def _thinned(values: Sequence[T], most: int = BARS) -> Sequence[T]:
    """Every so many-th, where there are too many to draw."""
    every = -(-len(values) // most)
    return values[::every] if every > 1 else values


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
