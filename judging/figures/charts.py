"""Figures with the tables of their numbers: relevance, grades, agreement, order effects, single queries, coverage."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from django.contrib.staticfiles import finders
from django.utils.safestring import SafeString, mark_safe

from core.charts.canvas import Axis, Canvas, Plot, document
from core.charts.kinds import (
    Cell,
    Series,
    Spread,
    columns_chart,
    heat_map,
    lines_chart,
    parts_chart,
    spread_chart,
)
from core.charts.kinds import Column as Bar
from core.lists import csv_text
from judging.figures.rules import Relevances, Unit, agreement_over_time, tables_of
from judging.figures.selectors import (
    LATEST,
    STEPS,
    Effect,
    FigureFilters,
    Judged,
    agreement_by_day,
    cases,
    grade_ranges,
    grades_shared,
    order_effects,
    relevance_by_similarity,
    relevance_counted,
    relevance_of_equal_captions,
    relevance_of_ranks,
)
from judging.guidelines.selectors import policy_in_force
from judging.quality.rules.agreement import FEWEST_PAIRS, Counts, kappas_of
from judging.work.rules import Rules, near_words

STYLESHEETS = ("css/app.css", "css/charts.css")
RULES = "svg.chart"  # how the lines of a stylesheet begin that files bring with them
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
    moments: Sequence[Judged] = ()  # of the bars, to look at

    @property
    def svg(self) -> SafeString:
        return mark_safe(self.canvas.inline())  # noqa: S308  # nosec B703 B308 - ElementTree escapes


@dataclass(frozen=True)
class DrawnFigure:
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
        rows = ([round(value, 6) if isinstance(value, float) else value for value in row] for row in self.rows)
        return csv_text((column.name for column in self.columns), rows)

    def svg(self, title: str, *, empty: str) -> bytes:
        charts = [(chart.heading, chart.canvas) for chart in self.charts] or [(empty, Canvas(empty, 560, 1))]
        return document(title, charts, standalone_style())


@cache
def standalone_style() -> str:
    """The rules for charts with the colours of a light page filled in: what a file shows that no page surrounds."""
    rules = "\n".join(Path(str(finders.find(name))).read_text(encoding="utf-8") for name in STYLESHEETS)
    light = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", rules)
    colours: dict[str, str] = {}
    for block in re.findall(r":root \{([^}]*)\}", light):
        colours |= dict(re.findall(r"--([\w-]+):\s*([^;]+?)\s*(?:;|$)", block))
    rules = "\n".join(line for line in light.splitlines() if line.startswith(RULES))
    return re.sub(r"var\(--([\w-]+)\)", lambda match: colours[match[1]], rules)


PAIRS, OF_ALL = Column("pairs", "Pairs", COUNT), Column("share", "Share", SHARE)


def by_relevance(scale: Rules) -> list[Column]:
    return [Column(f"relevance_{relevance}", f"Relevance {relevance}", COUNT) for relevance in scale.grades]


def spread_columns(scale: Rules) -> list[Column]:
    moments = [Column("mean", "Mean", DECIMAL), Column("deviation", "Standard deviation", DECIMAL)]
    return [PAIRS, *moments, *by_relevance(scale)]


def similarity(filters: FigureFilters) -> DrawnFigure:
    groups = relevance_by_similarity(filters.scope, filters.rules)
    bands = range(min(groups), max(groups) + 1) if groups else range(0)
    columns = [Column("from", "From", ".2f"), Column("below", "Below", ".2f"), *spread_columns(filters.rules)]
    rows = [[step / STEPS, (step + 1) / STEPS, *_spread_row(group)] for step, group in groups.items()]
    filled = {
        f"{step / STEPS:.2f}".replace("-", "−"): groups.get(step, Relevances.none(filters.rules)) for step in bands
    }
    return _spread_figure(filters.rules, filled, columns, rows, x_name="similarity, from")


def rank(filters: FigureFilters) -> DrawnFigure:
    groups = relevance_of_ranks(filters.scope, filters.rules)
    by_chance = groups.pop(0, None)
    columns = [Column("rank", "Rank", PLAIN), *spread_columns(filters.rules)]
    rows = [[position, *_spread_row(group)] for position, group in groups.items()]
    has_imported = filters.project.queries.filter(is_placeholder=True).exists()
    notes = ["Ranks of imported judgments are the places of the pairs in their block of 20."] * has_imported
    if by_chance:
        notes.append(f"Drawn by chance from all other moments: {by_chance.n:,} pairs, mean {by_chance.mean or 0:.2f}.")
    bands = {
        str(position): groups.get(position, Relevances.none(filters.rules))
        for position in range(1, max(groups, default=0) + 1)
    }
    return _spread_figure(filters.rules, bands, columns, rows, x_name="rank", notes=notes)


def _spread_row(group: Relevances) -> list[Value]:
    return [group.n, group.mean, group.deviation, *group.counts]


def _spread_figure(
    scale: Rules,
    bands: Mapping[str, Relevances],
    columns: Sequence[Column],
    rows: Sequence[Sequence[Value]],
    *,
    x_name: str,
    notes: Sequence[str] = (),
) -> DrawnFigure:
    if not rows:
        return DrawnFigure([], columns, [])
    spreads = []
    for label, group in bands.items():
        mean, deviation = group.mean, group.deviation or 0.0
        title = f"mean {mean or 0:.2f}, standard deviation {deviation:.2f}, {group.n:,} pairs"
        spreads.append(_spread(label, mean, deviation, title))
    counts = [group.counts for group in bands.values()]
    label = f"Mean relevance by {x_name.partition(',')[0]}"
    mean_axis = Axis("mean relevance", 0, scale.top_grade, 1)
    shares = shares_chart(f"Shares of {label[5:]}", list(bands), counts, scale, x_name=x_name)
    charts = [
        Chart("Mean, and one standard deviation either way", spread_chart(label, spreads, mean_axis, x_name=x_name)),
        Chart("How the pairs divide", shares),
    ]
    n = sum(group.n for group in bands.values())
    return DrawnFigure(charts, columns, rows, facts=f"{n:,} settled pairs.", notes=notes)


def _spread(label: str, middle: float | None, half: float, title: str) -> Spread:
    """Return a point with ``half`` of its line on either side; only its label where there is nothing to say."""
    if middle is None:
        return Spread(label, None, 0, 0, "")
    return Spread(label, middle, middle - half, middle + half, f"{label}: {title}")


def grades(filters: FigureFilters) -> DrawnFigure:
    counts = grade_ranges(filters.scope)
    total = sum(counts.values())
    columns = [Column("minimum", "Lowest grade", PLAIN), Column("maximum", "Highest grade", PLAIN), PAIRS, OF_ALL]
    if not total:
        return DrawnFigure([], columns, [])
    scale = filters.rules
    top, spread = scale.top_grade, scale.max_spread
    ranges = {(low, high): counts.get((low, high), 0) for low in scale.grades for high in scale.grades if low <= high}
    most = max(ranges.values())
    cells = {
        (top - high, low): Cell(
            (n / most) ** 0.5,
            (f"{n:,}", f"{100 * n / total:.2f} %"),
            f"lowest {low}, highest {high}: {n:,} pairs, {100 * n / total:.2f} %",
        )
        for (low, high), n in ranges.items()
    }
    chart = heat_map(
        "Pairs by their lowest and their highest grade",
        rows=[str(grade) for grade in reversed(scale.grades)],
        columns=[str(grade) for grade in scale.grades],
        cells=cells,
        names=("highest grade", "lowest grade"),
    )
    near = sum(n for (low, high), n in ranges.items() if high - low <= spread)
    far = ranges[0, top]
    facts = (
        f"{total:,} pairs. {100 * near / total:.2f} % hold grades {near_words(spread)}; "
        f"lowest 0 and highest {top}: {far:,} pairs, {100 * far / total:.2f} %."
    )
    rows = [[low, high, n, n / total] for (low, high), n in ranges.items()]
    return DrawnFigure([Chart("Pairs by lowest and highest grade", chart)], columns, rows, facts=facts)


def relevance(filters: FigureFilters) -> DrawnFigure:
    pairs = relevance_counted(filters.scope, filters.rules)
    columns = [Column("relevance", "Relevance", PLAIN), PAIRS, OF_ALL]
    if not pairs.n:
        return DrawnFigure([], columns, [])
    bars = [
        Bar(str(level), n, (f"{n:,}", f"{100 * n / pairs.n:.2f} %"), f"r{filters.rules.shade(level)}")
        for level, n in enumerate(pairs.counts)
    ]
    axis = Axis.over("pairs", 0, 1.15 * max(pairs.counts))  # room for the words above the highest
    chart = columns_chart("Settled pairs by relevance", bars, axis, x_name="relevance", height=240)
    rows = [[level, n, n / pairs.n] for level, n in enumerate(pairs.counts)]
    mode = max(filters.rules.grades, key=lambda level: pairs.counts[level])
    facts = f"{pairs.n:,} settled pairs; the most frequent relevance is {mode}, with {pairs.counts[mode]:,} pairs."
    return DrawnFigure([Chart("Settled pairs by relevance", chart)], columns, rows, facts=facts)


LEAST_REACH = 0.5  # of an axis of deviations: a chart of noise must not look like mountains


UNIT_NAMES = {Unit.DAY: "day", Unit.WEEK: "week from", Unit.MONTH: "month"}


def band_of(first: date, unit: Unit) -> str:
    """Name a period in a chart by its first day."""
    return f"{first:%b %Y}" if unit is Unit.MONTH else f"{first.day} {first:%b}"


def over_time(filters: FigureFilters) -> DrawnFigure:
    scale, zone = filters.rules, policy_in_force(filters.project.pk).time_zone
    unit, periods = agreement_over_time(agreement_by_day(filters.scope, zone=zone, judges=scale.judges), scale)
    near = near_words(scale.max_spread)
    columns = [
        Column("from", f"{unit.capitalize()} from" if unit is not Unit.DAY else "Day"),
        PAIRS,
        Column("within_one", near.capitalize(), SHARE),
        Column("alpha_ordinal", "Krippendorff’s α, ordinal", DECIMAL),
    ]
    if not periods:
        return DrawnFigure([], columns, [])
    bands = [band_of(period.start, unit) for period in periods]
    lowest = min((period.alpha for period in periods if period.alpha is not None), default=0.0)
    lines = [
        Series(near, [period.consensus for period in periods]),
        Series("Krippendorff’s α", [period.alpha for period in periods]),
    ]
    axis = Axis.over("agreement", min(0.0, lowest), 1.0)
    bars = [Bar(label, period.n, (f"{period.n:,} pairs",)) for label, period in zip(bands, periods, strict=True)]
    height = Axis.over("pairs", 0, max(period.n for period in periods), about=4)
    x_name = UNIT_NAMES[unit]
    charts = [
        Chart("Agreement of first rounds", lines_chart("Agreement over time", bands, lines, axis, x_name=x_name)),
        Chart(
            "Pairs with a whole first round", columns_chart("Pairs over time", bars, height, x_name=x_name, height=110)
        ),
    ]
    facts = f"First rounds of {sum(period.n for period in periods):,} pairs."
    numbers = [[period.start.isoformat(), period.n, period.consensus, period.alpha] for period in periods]
    return DrawnFigure(charts, columns, numbers, facts=facts)


def partners(filters: FigureFilters) -> DrawnFigure:
    numbers = {user: number for number, user in filters.annotators.items()}
    tables = tables_of(grades_shared(filters.scope), numbers, len(filters.rules.grades))
    columns = [
        Column("annotator", "Annotator", PLAIN),
        Column("other", "Other", PLAIN),
        Column("pairs", "Shared pairs", COUNT),
        Column(f"kappa_{filters.weights}", f"κ, {filters.weights}", DECIMAL),
    ]
    if not tables:
        return DrawnFigure([], columns, [])
    kappas: dict[tuple[int, int], float | None] = {
        both: next(iter(kappas_of(table[None], filters.weights).tolist()), None) for both, table in tables.items()
    }
    rows = [[*both, int(tables[both].sum()), kappas[both]] for both in sorted(tables)]
    defined = [value for value in kappas.values() if value is not None]
    mean = f"mean κ {sum(defined) / len(defined):.2f}" if defined else "κ is undefined for all of them"
    facts = f"{len({one for both in tables for one in both})} annotators, {len(tables)} pairs of them; {mean}."
    chart = Chart(f"Cohen’s κ, {filters.weights}", _matrix(tables, kappas))
    return DrawnFigure([chart], columns, rows, facts=facts)


def _matrix(tables: Mapping[tuple[int, int], Counts], kappas: Mapping[tuple[int, int], float | None]) -> Canvas:
    numbers = sorted({number for both in tables for number in both})
    index = {number: i for i, number in enumerate(numbers)}
    cells = {}
    for (one, other), kappa in kappas.items():
        n = int(tables[one, other].sum())
        value = "undefined" if kappa is None else f"{kappa:.3f}"
        title = f"annotators {one} and {other}: κ {value}, {n:,} shared pairs"
        short = "?" if kappa is None else _short(kappa)
        css = "below" if (kappa or 0) < 0 else ""
        cell = Cell(abs(kappa or 0), (short,), title, css, is_faint=n < FEWEST_PAIRS)
        cells[index[one], index[other]] = cells[index[other], index[one]] = cell
    labels = [str(number) for number in numbers]
    return heat_map(
        "Cohen’s κ of every two annotators", rows=labels, columns=labels, cells=cells, names=("annotator", "annotator")
    )


def _short(kappa: float) -> str:
    """Two decimals in as few letters as can be."""
    text = f"{kappa:.2f}"
    return ".00" if float(text) == 0 else text.replace("0.", ".").replace("-", "−")


def order(filters: FigureFilters) -> DrawnFigure:
    number = filters.annotator
    effects_by = order_effects(filters.scope, annotator_id=filters.annotators[number] if number is not None else None)
    columns = [
        *(Column("by", "By"), Column("group", "Group"), Column("judgments", "Judgments", COUNT)),
        *(Column("mean", "Mean", DECIMAL), Column("against_others", "Against others", DECIMAL)),
        Column("half_width", "± 95 %", DECIMAL),
    ]
    if not effects_by.judgments:
        return DrawnFigure([], columns, [])
    parts = [("position", effects_by.by_position), ("previous grade", effects_by.by_previous)]
    charts = [Chart(f"By {name}", _effects_chart(name, effects)) for name, effects in parts]
    rows = [[name.replace(" ", "_"), _group(e), *e[1:]] for name, effects in parts for e in effects]
    limit = ", the latest ones" if effects_by.judgments >= LATEST else ""
    return DrawnFigure(charts, columns, rows, facts=f"{effects_by.judgments:,} judgments of finished work{limit}.")


def _effects_chart(name: str, effects: Sequence[Effect]) -> Canvas:
    reach = max([LEAST_REACH, *(abs(e.deviation or 0) + (e.half_width or 0) for e in effects)])
    spreads = []
    for e in effects:
        title = f"{e.deviation or 0:+.2f} ± {e.half_width or 0:.2f}, mean grade {e.mean:.2f}, {e.n:,} judgments"
        spreads.append(_spread(_group(e), e.deviation, e.half_width or 0.0, title))
    axis = Axis.over("difference from others’ grades", -reach, reach, about=4)
    return spread_chart(f"Deviation from others by {name}", spreads, axis, x_name=name)


def _group(effect: Effect) -> str:
    return "first" if effect.group is None else str(effect.group)


QUERY = (Column("query", "Query", PLAIN), Column("text", "Text"))
COLUMNS = [
    *(*QUERY, Column("rank", "Rank", PLAIN), Column("similarity", "Similarity", ".6f")),
    *(Column("relevance", "Relevance", PLAIN), Column("state", "State"), Column("caption", "Caption")),
]


def case_studies(filters: FigureFilters) -> DrawnFigure:
    page, page_cases = cases(filters.scope, words=filters.words, page=filters.parameters.get("page"))
    charts, rows = [], []
    for query, judged in page_cases:
        candidates = [Ranked(one.rank, one.relevance, one.state, one.similarity) for one in judged]
        canvas = ranked_chart(f"Relevance by rank of the candidates of: {query.text}", candidates, filters.rules)
        charts.append(Chart(query.text, canvas, f"Query {query.number}, split {query.split}", judged))
        rows += [
            [query.number, query.text, one.rank, one.similarity, one.relevance, one.state, one.caption]
            for one in judged
        ]
    n = page.paginator.count
    facts = f"{n:,} quer{'y' if n == 1 else 'ies'} with a settled pair. {_of_equal_captions(filters)}" if charts else ""
    return DrawnFigure(charts, COLUMNS, rows, facts=facts, more={"page": page})


def _of_equal_captions(filters: FigureFilters) -> str:
    """Say how often a caption equal to the query is not enough for the highest grade (paper, section 4.4)."""
    counts = relevance_of_equal_captions(filters.scope, filters.rules).counts
    total, best = sum(counts), counts[-1]
    if not total:
        return ""
    pairs, share = f"{total:,} pair{'' if total == 1 else 's'}", f"{100 * (total - best) / total:.2f} %"
    top = filters.rules.top_grade
    return (
        f"Of {pairs} of similarity 1.0, {total - best:,} ({share}) did not settle on {top}; paper: 11.76 %, not on 4."
    )


SIMILARITY_AXIS = Axis("similarity", 0, 1, 0.25)
SHARE_AXIS = Axis("share of pairs", 0, 100, 25, " %")
OUT = {"dropped": "×", "withdrawn": "–", "escalated": "!", "open": "·"}  # what stands where there is no relevance


def shares_chart(
    label: str, bands: Sequence[str], counts: Sequence[Sequence[int]], scale: Rules, *, x_name: str
) -> Canvas:
    """How each band divides into the relevances: a full column each, relevance 0 at its foot."""
    parts = [(f"r{scale.shade(relevance)}", str(relevance)) for relevance in scale.grades]
    return parts_chart(label, bands, counts, parts, SHARE_AXIS, x_name=x_name, heading="relevance")


class Ranked(NamedTuple):
    """A candidate: its rank, what its pair settled with or else its state, its similarity if it is known."""

    rank: int
    relevance: int | None
    state: str
    similarity: float | None


def ranked_chart(label: str, candidates: Sequence[Ranked], scale: Rules) -> Canvas:
    """Bars of relevance by rank with the line of similarity (paper, Figure 6)."""
    right = SIMILARITY_AXIS if any(candidate.similarity is not None for candidate in candidates) else None
    axis = Axis("relevance", 0, scale.top_grade, 1)
    plot = Plot(label, [str(one.rank) for one in candidates], axis, right=right, x_name="rank", height=120)
    for index, one in enumerate(candidates):
        if one.relevance is None:
            plot.words(plot.x(index), plot.foot - 5, OUT[one.state], "out")
        else:
            title = f"rank {one.rank}: relevance {one.relevance}"
            plot.bar(index, 0, max(one.relevance, 0.06), f"r{scale.shade(one.relevance)}", title)
    if right:
        plot.line([one.similarity for one in candidates], "line similarity", axis=right)
        for index, one in enumerate(candidates):
            if one.similarity is not None:
                title = f"rank {one.rank}: similarity {one.similarity:.3f}"
                plot.dot(index, one.similarity, title, "similarity", axis=right)
    return plot
