"""Coverage studies in figures: dots of their pairs beside Figures 4 a and b, and the figure of a study itself.

Source: TVR-Ranking, appendix B.3 (arXiv:2407.06597).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from annotation.models import Pooling
from core.charts.canvas import Axis
from core.charts.kinds import Column as Bar
from core.charts.kinds import Point, columns_chart, scatter_chart
from judging.figures import charts
from judging.figures.charts import COUNT, QUERY, Chart, Column, DrawnFigure, Value, by_relevance, shares_chart
from judging.figures.selectors import STEPS, FigureFilters, StudiedPair, has_unmeasured_studies, pairs_of_studies
from judging.studies.rules import Coverage
from judging.studies.selectors import moments_drawn_from, queries_planned, study_coverage
from judging.work.rules import Rules, rules_of

UNMEASURED = "Coverage studies that were planned before they kept similarities are left out."


def similarity(filters: FigureFilters) -> DrawnFigure:
    drawing = charts.similarity(filters)
    steps = [round(float(row[0] or 0) * STEPS) for row in drawing.rows] or [0]
    bands = [f"{step / STEPS:.2f}".replace("-", "−") for step in range(steps[0], steps[-1] + 1)]
    return _with_studies(
        filters, drawing, bands, x_name="similarity, from", place=lambda pair: pair.similarity * STEPS - steps[0] - 0.5
    )


def rank(filters: FigureFilters) -> DrawnFigure:
    drawing = charts.rank(filters)
    bands = [str(position) for position in range(1, max((int(row[0] or 0) for row in drawing.rows), default=0) + 1)]
    return _with_studies(
        filters, drawing, bands, x_name="rank", place=lambda pair: None if pair.is_random else pair.rank - 1
    )


def _with_studies(
    filters: FigureFilters,
    drawing: DrawnFigure,
    bands: Sequence[str],
    *,
    x_name: str,
    place: Callable[[StudiedPair], float | None],
) -> DrawnFigure:
    """Add a dot for each pair of the queries of coverage studies where the filter includes them (appendix B.3)."""
    if not (filters.pooled and drawing.charts):
        return drawing
    if has_unmeasured_studies(filters.project.pk):
        drawing = replace(drawing, notes=[*drawing.notes, UNMEASURED])
    pairs = pairs_of_studies(filters.scope)
    if not pairs:
        return drawing
    numbers = sorted({pair.number for pair in pairs})
    points = []
    for pair in pairs:
        x = place(pair)
        if x is not None:
            origin = "drawn by chance" if pair.is_random else f"rank {pair.rank}"
            words = f"{pair.text}: relevance {pair.relevance}, similarity {pair.similarity:.3f}, {origin}"
            points.append(Point(x, pair.relevance, numbers.index(pair.number), words))
    axis = Axis("relevance", 0, filters.rules.top_grade, 1)
    names = [f"query {number}" for number in numbers]
    canvas = scatter_chart(f"Pairs of coverage studies by {x_name}", bands, points, names, axis, x_name=x_name)
    chart = Chart("Queries of coverage studies", canvas, note="a colour for each query, a dot for each pair")
    return replace(drawing, charts=[*drawing.charts, chart])


def coverage_columns(scale: Rules) -> list[Column]:
    return [
        *(*QUERY, Column("band", "Ranks"), Column("moments", "Moments", COUNT), Column("settled", "Settled", COUNT)),
        *(Column("open", "Still to judge", COUNT), Column("dropped", "Dropped", COUNT), *by_relevance(scale)),
        *(Column("relevant", "Relevant", COUNT), Column("drawn_from", "Drawn from", COUNT)),
    ]


def study_figure(study: Pooling) -> DrawnFigure:
    """Return charts over all queries of the study, and a row for each query and band."""
    coverage, scale = study_coverage(study), rules_of(study.project)
    drawn_from = moments_drawn_from(study)
    rows: list[list[Value]] = []
    for query in queries_planned(study):
        for one in coverage.by_query.get(query.pk, []):
            counts = [one.moments, one.settled, one.open, one.out, *one.counts, one.relevant]
            from_others = drawn_from.get(query.pk) if one.band.first is None else None  # only others are drawn
            rows.append([query.number, query.text, one.band.name, *counts, from_others])
    return DrawnFigure(_coverage_charts(coverage, scale), coverage_columns(scale), rows)


def _coverage_charts(coverage: Coverage, scale: Rules) -> list[Chart]:
    if not any(one.settled for one in coverage.total):
        return []
    bands = [one.band.name for one in coverage.total]
    means = [one.relevant / len(coverage.by_query) if one.settled else None for one in coverage.total]
    bars = [Bar(name, mean, () if mean is None else (f"{mean:.1f}",)) for name, mean in zip(bands, means, strict=True)]
    axis = Axis.over("relevant moments per query", 0, max(1.0, 1.1 * max(mean or 0.0 for mean in means)))
    x_name = "rank by similarity"
    shares = shares_chart("Relevance by rank", bands, [one.counts for one in coverage.total], scale, x_name=x_name)
    relevant = columns_chart("Relevant moments by rank", bars, axis, x_name=x_name)
    return [Chart("How the moments divide", shares), Chart("Relevant moments judged, per query", relevant)]
