"""Agreement of annotators: over time, between every two of them, and by the order of pairs.

Case studies: single queries with the relevance of their candidates and the line of similarity.
"""

from collections.abc import Mapping, Sequence
from datetime import date

from core.charts.canvas import Axis, Canvas
from core.charts.kinds import (
    Cell,
    Ranked,
    Series,
    Spread,
    columns_chart,
    heat_map,
    lines_chart,
    ranked_chart,
    spread_chart,
)
from core.charts.kinds import Column as Bar
from judging.figures.asked import Asked
from judging.figures.rules import Agreement, Unit, agreement_over_time, tables_of
from judging.figures.selectors import LATEST, agreement_by_day, cases, grades_shared, order_effects
from judging.figures.sheet import COUNT, DECIMAL, PLAIN, SHARE, Chart, Column, Sheet
from judging.projects.policies import policy_in_force
from judging.quality.rules.agreement import FEWEST_PAIRS, Counts, kappas_of
from judging.quality.rules.quality import Effect

LEAST_REACH = 0.5  # of an axis of deviations: a chart of noise must not look like mountains


def over_time(asked: Asked) -> Sheet:
    rows = agreement_by_day(asked.scope, zone=policy_in_force(asked.project.pk).time_zone)
    unit, periods = agreement_over_time(rows)
    columns = [
        Column("from", f"{unit.capitalize()} from" if unit is not Unit.DAY else "Day"),
        Column("pairs", "Pairs", COUNT),
        Column("within_one", "At most one apart", SHARE),
        Column("alpha_ordinal", "Krippendorff’s α, ordinal", DECIMAL),
    ]
    if not periods:
        return Sheet([], columns, [])
    bands = [_day_words(period.start, unit) for period in periods]
    lowest = min((period.alpha for period in periods if period.alpha is not None), default=0.0)
    lines = [
        Series("at most one apart", [period.consensus for period in periods]),
        Series("Krippendorff’s α", [period.alpha for period in periods]),
    ]
    axis = Axis.over("agreement", min(0.0, lowest), 1.0)
    bars = [Bar(label, period.n, (f"{period.n:,} pairs",)) for label, period in zip(bands, periods, strict=True)]
    height = Axis.over("pairs", 0, max(period.n for period in periods), about=4)
    x_name = {Unit.DAY: "day", Unit.WEEK: "week from", Unit.MONTH: "month"}[unit]
    charts = [
        Chart("Agreement of first rounds", lines_chart("Agreement over time", bands, lines, axis, x_name=x_name)),
        Chart("Pairs judged twice", columns_chart("Pairs over time", bars, height, x_name=x_name, height=110)),
    ]
    facts = f"First rounds of {sum(period.n for period in periods):,} pairs."
    return Sheet(charts, columns, [_period_row(period) for period in periods], facts=facts)


def _period_row(period: Agreement) -> list[str | int | float | None]:
    return [period.start.isoformat(), period.n, period.consensus, period.alpha]


def _day_words(day: date, unit: Unit) -> str:
    return f"{day:%b %Y}" if unit is Unit.MONTH else f"{day.day} {day:%b}"


def partners(asked: Asked) -> Sheet:
    numbers = {user: number for number, user in asked.annotators.items()}
    tables = tables_of(grades_shared(asked.scope), numbers)
    columns = [
        Column("annotator", "Annotator", PLAIN),
        Column("other", "Other", PLAIN),
        Column("pairs", "Shared pairs", COUNT),
        Column(f"kappa_{asked.weights}", f"κ, {asked.weights}", DECIMAL),
    ]
    if not tables:
        return Sheet([], columns, [])
    kappas = {both: _kappa(table, asked) for both, table in tables.items()}
    rows = [[*both, int(tables[both].sum()), kappas[both]] for both in sorted(tables)]
    told = [value for value in kappas.values() if value is not None]
    mean = f"mean κ {sum(told) / len(told):.2f}" if told else "κ is undefined for all of them"
    facts = f"{len({one for both in tables for one in both})} annotators, {len(tables)} pairs of them; {mean}."
    chart = Chart(f"Cohen’s κ, {asked.weights}", _matrix(tables, kappas))
    return Sheet([chart], columns, rows, facts=facts)


def _kappa(table: Counts, asked: Asked) -> float | None:
    found = kappas_of(table[None], asked.weights)
    return float(found[0]) if len(found) else None


def _matrix(tables: Mapping[tuple[int, int], Counts], kappas: Mapping[tuple[int, int], float | None]) -> Canvas:
    numbers = sorted({number for both in tables for number in both})
    place = {number: index for index, number in enumerate(numbers)}
    cells = {}
    for (one, other), kappa in kappas.items():
        n = int(tables[one, other].sum())
        words = "undefined" if kappa is None else f"{kappa:.3f}"
        title = f"annotators {one} and {other}: κ {words}, {n:,} shared pairs"
        short = "?" if kappa is None else _short(kappa)
        css = "below" if (kappa or 0) < 0 else ""
        cell = Cell(abs(kappa or 0), (short,), title, css, is_faint=n < FEWEST_PAIRS)
        cells[place[one], place[other]] = cells[place[other], place[one]] = cell
    labels = [str(number) for number in numbers]
    return heat_map(
        "Cohen’s κ of every two annotators", rows=labels, columns=labels, cells=cells, names=("annotator", "annotator")
    )


def _short(kappa: float) -> str:
    """Two decimals in as few letters as can be."""
    text = f"{kappa:.2f}"
    return ".00" if float(text) == 0 else text.replace("0.", ".").replace("-", "−")


def order(asked: Asked) -> Sheet:
    number = asked.annotator
    found = order_effects(asked.scope, annotator_id=asked.annotators[number] if number is not None else None)
    columns = [
        Column("by", "By"),
        Column("group", "Group"),
        Column("judgments", "Judgments", COUNT),
        Column("mean", "Mean", DECIMAL),
        Column("against_others", "Against others", DECIMAL),
        Column("half_width", "± 95 %", DECIMAL),
    ]
    if not found.judgments:
        return Sheet([], columns, [])
    parts = [("position", found.by_position), ("previous grade", found.by_previous)]
    charts = [Chart(f"By {name}", _effects_chart(name, effects)) for name, effects in parts]
    rows = [[name.replace(" ", "_"), _group(e), *e[1:]] for name, effects in parts for e in effects]
    limit = ", the latest ones" if found.judgments >= LATEST else ""
    return Sheet(charts, columns, rows, facts=f"{found.judgments:,} judgments of finished work{limit}.")


def _effects_chart(name: str, effects: Sequence[Effect]) -> Canvas:
    reach = max([LEAST_REACH, *(abs(e.deviation or 0) + (e.half_width or 0) for e in effects)])
    spreads = []
    for e in effects:
        if e.deviation is None:
            spreads.append(Spread(_group(e), None, 0, 0, ""))
            continue
        half = e.half_width or 0.0
        title = f"{_group(e)}: {e.deviation:+.2f} ± {half:.2f}, mean grade {e.mean:.2f}, {e.n:,} judgments"
        spreads.append(Spread(_group(e), e.deviation, e.deviation - half, e.deviation + half, title))
    axis = Axis.over("difference from others’ grades", -reach, reach, about=4)
    return spread_chart(f"Deviation from others by {name}", spreads, axis, x_name=name)


def _group(effect: Effect) -> str:
    return "first" if effect.group is None else str(effect.group)


COLUMNS = [
    Column("query", "Query", PLAIN),
    Column("text", "Text"),
    Column("rank", "Rank", PLAIN),
    Column("similarity", "Similarity", ".6f"),
    Column("relevance", "Relevance", PLAIN),
    Column("state", "State"),
]


def case_studies(asked: Asked) -> Sheet:
    page, found = cases(asked.scope, words=asked.words, page=asked.given.get("page"))
    charts, rows = [], []
    for case in found:
        query = case.query
        candidates = [Ranked(rank, level, state, near) for rank, level, state, near in case.candidates]
        canvas = ranked_chart(f"Relevance by rank of the candidates of: {query.text}", candidates)
        charts.append(Chart(query.text, canvas, note=f"Query {query.number}, split {query.split}"))
        rows += [[query.number, query.text, one.rank, one.similarity, one.relevance, one.state] for one in candidates]
    n = page.paginator.count
    facts = f"{n:,} quer{'y' if n == 1 else 'ies'} with a settled pair." if charts else ""
    return Sheet(charts, COLUMNS, rows, facts=facts, more={"page": page})
