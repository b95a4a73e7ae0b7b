"""The kinds of charts the figures are made of. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from judging.plots.axes import Axis
from judging.plots.canvas import Canvas, Plot

RELEVANCE = Axis("relevance", 0, 4, 1)
SIMILARITY = Axis("similarity", 0, 1, 0.25)
SHARE = Axis("share of pairs", 0, 100, 25, " %")
BY_RELEVANCE = [("", "relevance"), *((f"r{relevance}", str(relevance)) for relevance in range(5))]
OUT = {"dropped": "×", "withdrawn": "–", "escalated": "!", "open": "·"}  # what stands where there is no relevance


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
    for place, spread in enumerate(spreads):
        if spread.middle is not None:
            plot.whisker(place, spread.low, spread.high, spread.title)
            plot.dot(place, spread.middle, spread.title)
    return plot


def shares_chart(label: str, bands: Sequence[str], counts: Sequence[Sequence[int]], *, x_name: str) -> Canvas:
    """How each band divides into the five relevances: a full column each, relevance 0 at its foot."""
    plot = Plot(label, bands, SHARE, legend=BY_RELEVANCE, x_name=x_name)
    for place, held in enumerate(counts):
        total, below = sum(held), 0
        for relevance, n in enumerate(held):
            if n:
                title = f"{bands[place]}: relevance {relevance}: {n:,} of {total:,}, {100 * n / total:.1f} %"
                plot.bar(place, 100 * below / total, 100 * (below + n) / total, f"r{relevance}", title, width=0.86)
            below += n
    return plot


class Column(NamedTuple):
    """One column with words above it; a gap where the value is None."""

    label: str
    value: float | None
    words: tuple[str, ...]
    css: str = "bar"


def columns_chart(label: str, columns: Sequence[Column], axis: Axis, *, x_name: str, height: float = 200) -> Canvas:
    plot = Plot(label, [column.label for column in columns], axis, x_name=x_name, height=height)
    for place, column in enumerate(columns):
        if column.value is None:
            continue
        plot.bar(place, 0, column.value, column.css, f"{column.label}: {', '.join(column.words)}")
        first = plot.y(column.value) - 6 - 16 * (len(column.words) - 1)
        if plot.step >= 60:  # there is room for words
            for line, words in enumerate(column.words):
                plot.words(plot.x(place), first + 16 * line, words, "value")
    return plot


class Series(NamedTuple):
    """A line with a name; None where there is no value."""

    name: str
    values: Sequence[float | None]


def lines_chart(label: str, bands: Sequence[str], series: Sequence[Series], axis: Axis, *, x_name: str = "") -> Canvas:
    keys = [(f"series-{place}", line.name) for place, line in enumerate(series, 1)]
    plot = Plot(label, bands, axis, legend=keys, x_name=x_name)
    for (css, name), line in zip(keys, series, strict=True):
        plot.line(line.values, f"line {css}")
        for place, value in enumerate(line.values):
            if value is not None:
                plot.dot(place, value, f"{bands[place]}: {name} {value:.2f}", css)
    return plot


class Ranked(NamedTuple):
    """A candidate: its rank, what its pair settled with or else its state, its similarity if it is known."""

    rank: int
    relevance: int | None
    state: str
    similarity: float | None


def ranked_chart(label: str, candidates: Sequence[Ranked]) -> Canvas:
    """Bars of relevance by rank with the line of similarity (paper, Figure 6)."""
    right = SIMILARITY if any(candidate.similarity is not None for candidate in candidates) else None
    plot = Plot(label, [str(one.rank) for one in candidates], RELEVANCE, right=right, x_name="rank", height=120)
    for place, one in enumerate(candidates):
        if one.relevance is None:
            plot.words(plot.x(place), plot.foot - 5, OUT[one.state], "out")
        else:
            title = f"rank {one.rank}: relevance {one.relevance}"
            plot.bar(place, 0, max(one.relevance, 0.06), f"r{one.relevance}", title)
    if right:
        plot.line([one.similarity for one in candidates], "line similarity", axis=right)
        for place, one in enumerate(candidates):
            if one.similarity is not None:
                title = f"rank {one.rank}: similarity {one.similarity:.3f}"
                plot.dot(place, one.similarity, title, "similarity", axis=right)
    return plot
