"""What a coverage study found, as charts and numbers."""

from annotation.models import Pooling
from core.charts.canvas import Axis
from core.charts.kinds import Column, columns_chart, shares_chart
from judging.figures import sheet
from judging.figures.sheet import COUNT, PLAIN, Chart, Sheet, Value
from judging.studies.rules import Coverage, Found
from judging.studies.selectors import coverage_found, moments_drawn_from, queries_studied
from judging.work.rules import GRADES

COLUMNS = [
    sheet.Column("query", "Query", PLAIN),
    sheet.Column("text", "Text"),
    sheet.Column("band", "Ranks"),
    sheet.Column("moments", "Moments", COUNT),
    sheet.Column("settled", "Settled", COUNT),
    sheet.Column("open", "Still to judge", COUNT),
    sheet.Column("dropped", "Dropped", COUNT),
    *(sheet.Column(f"relevance_{relevance}", f"Relevance {relevance}", COUNT) for relevance in GRADES),
    sheet.Column("relevant", "Relevant", COUNT),
    sheet.Column("drawn_from", "Drawn from", COUNT),
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
    return Sheet(_charts(found), COLUMNS, rows)


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
        Column(name, mean, () if mean is None else (f"{mean:.1f}",)) for name, mean in zip(bands, means, strict=True)
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
