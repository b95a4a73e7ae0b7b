"""Figures: relevance by similarity and rank, agreement over time and between annotators, single queries, coverage."""

from collections.abc import Mapping, Sequence
from datetime import date

from annotation.models import Pooling
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
    shares_chart,
    spread_chart,
)
from core.charts.kinds import Column as Bar
from judging.figures.asked import Asked
from judging.figures.rules import Agreement, Relevances, Unit, agreement_over_time, tables_of
from judging.figures.selectors import (
    LATEST,
    STEPS,
    agreement_by_day,
    cases,
    grade_ranges,
    grades_shared,
    order_effects,
    relevance_by_similarity,
    relevance_counted,
    relevance_of_ranks,
)
from judging.figures.sheet import COUNT, DECIMAL, PLAIN, SHARE, Chart, Column, Sheet, Value
from judging.projects.policies import policy_in_force
from judging.quality.rules.agreement import FEWEST_PAIRS, Counts, kappas_of
from judging.quality.rules.quality import Effect
from judging.studies.rules import Coverage, Found
from judging.studies.selectors import coverage_found, moments_drawn_from, queries_studied
from judging.work.rules import GRADES

MEAN = Axis("mean relevance", 0, 4, 1)
SPREAD = [
    Column("pairs", "Pairs", COUNT),
    Column("mean", "Mean", DECIMAL),
    Column("deviation", "Standard deviation", DECIMAL),
    *(Column(f"relevance_{relevance}", f"Relevance {relevance}", COUNT) for relevance in GRADES),
]


def similarity(asked: Asked) -> Sheet:
    groups = relevance_by_similarity(asked.scope)
    bands = range(min(groups), max(groups) + 1) if groups else range(0)
    columns = [Column("from", "From", ".2f"), Column("below", "Below", ".2f"), *SPREAD]
    rows = [[step / STEPS, (step + 1) / STEPS, *_spread_row(found)] for step, found in groups.items()]
    filled = {f"{step / STEPS:.2f}".replace("-", "−"): groups.get(step) for step in bands}
    return _spread_sheet(filled, "similarity, from", columns, rows)


def rank(asked: Asked) -> Sheet:
    groups = relevance_of_ranks(asked.scope)
    bands = range(1, max(groups) + 1) if groups else range(0)
    columns = [Column("rank", "Rank", PLAIN), *SPREAD]
    rows = [[place, *_spread_row(found)] for place, found in groups.items()]
    notes = ["Ranks of imported judgments are the places of the pairs in their block of 20."] * asked.has_imported
    return _spread_sheet({str(place): groups.get(place) for place in bands}, "rank", columns, rows, notes)


def _spread_row(found: Relevances) -> list[Value]:
    return [found.n, found.mean, found.deviation, *found.counts]


def _spread_sheet(
    bands: Mapping[str, Relevances | None],
    x_name: str,
    columns: Sequence[Column],
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
        Column("minimum", "Lowest grade", PLAIN),
        Column("maximum", "Highest grade", PLAIN),
        Column("pairs", "Pairs", COUNT),
        Column("share", "Share", SHARE),
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
        Column("relevance", "Relevance", PLAIN),
        Column("pairs", "Pairs", COUNT),
        Column("share", "Share", SHARE),
    ]
    if not found.n:
        return Sheet([], columns, [])
    bars = [
        Bar(str(level), n, (f"{n:,}", f"{100 * n / found.n:.2f} %"), f"r{level}")
        for level, n in enumerate(found.counts)
    ]
    axis = Axis.over("pairs", 0, 1.15 * max(found.counts))  # room for the words above the highest
    chart = columns_chart("Settled pairs by relevance", bars, axis, x_name="relevance", height=240)
    rows = [[level, n, n / found.n] for level, n in enumerate(found.counts)]
    mode = max(GRADES, key=lambda level: found.counts[level])
    facts = f"{found.n:,} settled pairs; the most frequent relevance is {mode}, with {found.counts[mode]:,} pairs."
    return Sheet([Chart("Settled pairs by relevance", chart)], columns, rows, facts=facts)


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


COVERAGE_COLUMNS = [
    Column("query", "Query", PLAIN),
    Column("text", "Text"),
    Column("band", "Ranks"),
    Column("moments", "Moments", COUNT),
    Column("settled", "Settled", COUNT),
    Column("open", "Still to judge", COUNT),
    Column("dropped", "Dropped", COUNT),
    *(Column(f"relevance_{relevance}", f"Relevance {relevance}", COUNT) for relevance in GRADES),
    Column("relevant", "Relevant", COUNT),
    Column("drawn_from", "Drawn from", COUNT),
]


def study_sheet(study: Pooling) -> Sheet:
    """Charts over all queries of the study, and a row for each query and band."""
    found = coverage_found(study)
    drawn_from = moments_drawn_from(study)
    queries = queries_studied(study)
    rows: list[list[Value]] = [
        [query.number, query.text, *_band_row(one, drawn_from.get(query.pk))]
        for query in queries
        for one in found.by_query.get(query.pk, [])
    ]
    return Sheet(_charts(found), COVERAGE_COLUMNS, rows)


def _band_row(one: Found, drawn_from: int | None) -> list[Value]:
    is_random = one.band.first is None
    counts = [one.moments, one.settled, one.open, one.out, *one.counts, one.relevant]
    return [one.band.name, *counts, drawn_from if is_random else None]


def _charts(found: Coverage) -> list[Chart]:
    if not any(one.settled for one in found.total):
        return []
    bands = [one.band.name for one in found.total]
    queries = len(found.by_query)
    means = [one.relevant / queries if one.settled else None for one in found.total]
    columns = [
        Bar(name, mean, () if mean is None else (f"{mean:.1f}",)) for name, mean in zip(bands, means, strict=True)
    ]
    axis = Axis.over("relevant moments per query", 0, max(1.0, 1.1 * max(mean or 0.0 for mean in means)))
    shares = shares_chart("Relevance by rank", bands, [one.counts for one in found.total], x_name="rank by similarity")
    return [
        Chart("How the moments divide", shares),
        Chart(
            "Relevant moments judged, per query",
            columns_chart("Relevant moments by rank", columns, axis, x_name="rank by similarity"),
        ),
    ]
