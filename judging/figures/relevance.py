"""Relevance against similarity and rank, grades before consensus, what pairs settled with."""

from collections.abc import Mapping, Sequence

from core.charts.canvas import Axis
from core.charts.kinds import Cell, Column, Spread, columns_chart, heat_map, shares_chart, spread_chart
from judging.figures import sheet
from judging.figures.asked import Asked
from judging.figures.rules import Relevances
from judging.figures.selectors import (
    STEPS,
    grade_ranges,
    relevance_by_similarity,
    relevance_counted,
    relevance_of_ranks,
)
from judging.figures.sheet import COUNT, DECIMAL, PLAIN, SHARE, Chart, Sheet, Value
from judging.work.rules import GRADES

MEAN = Axis("mean relevance", 0, 4, 1)
SPREAD = [
    sheet.Column("pairs", "Pairs", COUNT),
    sheet.Column("mean", "Mean", DECIMAL),
    sheet.Column("deviation", "Standard deviation", DECIMAL),
    *(sheet.Column(f"relevance_{relevance}", f"Relevance {relevance}", COUNT) for relevance in GRADES),
]


def similarity(asked: Asked) -> Sheet:
    groups = relevance_by_similarity(asked.scope)
    bands = range(min(groups), max(groups) + 1) if groups else range(0)
    columns = [sheet.Column("from", "From", ".2f"), sheet.Column("below", "Below", ".2f"), *SPREAD]
    rows = [[step / STEPS, (step + 1) / STEPS, *_spread_row(found)] for step, found in groups.items()]
    filled = {f"{step / STEPS:.2f}".replace("-", "−"): groups.get(step) for step in bands}
    return _spread_sheet(filled, "similarity, from", columns, rows)


def rank(asked: Asked) -> Sheet:
    groups = relevance_of_ranks(asked.scope)
    bands = range(1, max(groups) + 1) if groups else range(0)
    columns = [sheet.Column("rank", "Rank", PLAIN), *SPREAD]
    rows = [[place, *_spread_row(found)] for place, found in groups.items()]
    notes = ["Ranks of imported judgments are the places of the pairs in their block of 20."] * asked.has_imported
    return _spread_sheet({str(place): groups.get(place) for place in bands}, "rank", columns, rows, notes)


def _spread_row(found: Relevances) -> list[Value]:
    return [found.n, found.mean, found.deviation, *found.counts]


def _spread_sheet(
    bands: Mapping[str, Relevances | None],
    x_name: str,
    columns: Sequence[sheet.Column],
    rows: Sequence[Sequence[Value]],
    notes: Sequence[str] = (),
) -> Sheet:
    if not rows:
        return Sheet([], columns, [])
    spreads = [_spread(label, found) for label, found in bands.items()]
    counts = [found.counts if found else (0,) * len(GRADES) for found in bands.values()]
    label = f"Mean relevance by {x_name.partition(',')[0]}"
    charts = [
        Chart("Mean, and one standard deviation either way", spread_chart(label, spreads, MEAN, x_name=x_name)),
        Chart("How the pairs divide", shares_chart(f"Shares of {label[5:]}", list(bands), counts, x_name=x_name)),
    ]
    n = sum(found.n for found in bands.values() if found)
    return Sheet(charts, columns, rows, facts=f"{n:,} settled pairs.", notes=notes)


def _spread(label: str, found: Relevances | None) -> Spread:
    if found is None or found.mean is None or found.deviation is None:
        return Spread(label, None, 0, 0, "")
    title = f"{label}: mean {found.mean:.2f}, standard deviation {found.deviation:.2f}, {found.n:,} pairs"
    return Spread(label, found.mean, found.mean - found.deviation, found.mean + found.deviation, title)


def grades(asked: Asked) -> Sheet:
    ranges = grade_ranges(asked.scope)
    total = sum(ranges.values())
    columns = [
        sheet.Column("minimum", "Lowest grade", PLAIN),
        sheet.Column("maximum", "Highest grade", PLAIN),
        sheet.Column("pairs", "Pairs", COUNT),
        sheet.Column("share", "Share", SHARE),
    ]
    if not total:
        return Sheet([], columns, [])
    held = {(low, high): ranges.get((low, high), 0) for low in GRADES for high in GRADES if low <= high}
    most = max(held.values())
    cells = {
        (GRADES[-1] - high, low): Cell(
            (n / most) ** 0.5,
            (f"{n:,}", f"{100 * n / total:.2f} %"),
            f"lowest {low}, highest {high}: {n:,} pairs, {100 * n / total:.2f} %",
        )
        for (low, high), n in held.items()
    }
    chart = heat_map(
        "Pairs by their lowest and their highest grade",
        rows=[str(grade) for grade in reversed(GRADES)],
        columns=[str(grade) for grade in GRADES],
        cells=cells,
        names=("highest grade", "lowest grade"),
    )
    near = sum(n for (low, high), n in held.items() if high - low <= 1)
    far = held[0, 4]
    facts = (
        f"{total:,} pairs. {100 * near / total:.2f} % hold grades at most one apart; "
        f"lowest 0 and highest 4: {far:,} pairs, {100 * far / total:.2f} %."
    )
    rows = [[low, high, n, n / total] for (low, high), n in held.items()]
    return Sheet([Chart("Pairs by lowest and highest grade", chart)], columns, rows, facts=facts)


def relevance(asked: Asked) -> Sheet:
    found = relevance_counted(asked.scope)
    columns = [
        sheet.Column("relevance", "Relevance", PLAIN),
        sheet.Column("pairs", "Pairs", COUNT),
        sheet.Column("share", "Share", SHARE),
    ]
    if not found.n:
        return Sheet([], columns, [])
    bars = [
        Column(str(level), n, (f"{n:,}", f"{100 * n / found.n:.2f} %"), f"r{level}")
        for level, n in enumerate(found.counts)
    ]
    axis = Axis.over("pairs", 0, 1.15 * max(found.counts))  # room for the words above the highest
    chart = columns_chart("Settled pairs by relevance", bars, axis, x_name="relevance", height=240)
    rows = [[level, n, n / found.n] for level, n in enumerate(found.counts)]
    mode = max(GRADES, key=lambda level: found.counts[level])
    facts = f"{found.n:,} settled pairs; the most frequent relevance is {mode}, with {found.counts[mode]:,} pairs."
    return Sheet([Chart("Settled pairs by relevance", chart)], columns, rows, facts=facts)
