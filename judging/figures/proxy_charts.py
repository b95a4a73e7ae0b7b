"""Figures 4, 5 and 8 of On Semantic Similarity in Video Retrieval for the project's corpus: proxies of relevance."""

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.statistics.proxies import PROXIES
from core.charts.canvas import Axis, LogAxis
from core.charts.kinds import Cell, Series, Spread, heat_map, lines_chart, spread_chart
from judging.figures.charts import COUNT, DECIMAL, Chart, Column, DrawnFigure, Value
from judging.figures.corpus_charts import analyses_of
from judging.figures.selectors import FigureFilters
from moment_retrieval.relevance.figures import THRESHOLDS

LABELS = {"bow": "BoW", "pos": "PoS", "synset": "SYN", "meteor": "MET", "sentence": "Sentence"}
DIRECTIONS = {"v2t": "From a moment to its caption", "t2v": "From a caption to its moment"}
RECALL_AXIS = Axis("geometric mean of R@1, R@5 and R@10", 0, 1, 0.25)
MORE_PROXIES = (
    "By word vectors and by features of videos, which need files of your own: moment-retrieval relevance --proxy "
    "word-vectors or features, and relevance-figures for the same figures."
)
PROXY = Column("proxy", "Proxy")


def proxies(filters: FigureFilters) -> DrawnFigure:
    """Draw the average number of relevant captions against the threshold, a line for each proxy (Figure 4)."""
    columns = [PROXY, Column("threshold", "Threshold", ".2f"), Column("captions", "Captions", DECIMAL)]
    analyses = proxies_of(filters)
    relevant: Mapping[str, Sequence[float]] = analyses.get("relevant", {})
    if not relevant:
        return DrawnFigure([], columns, [], notes=notes_of(analyses))
    names = [name for name in PROXIES if name in relevant]
    chart = lines_chart(
        "Relevant captions of a moment by threshold",
        [f"{least:.2f}" for least in THRESHOLDS],
        [Series(LABELS[name], relevant[name]) for name in names],
        LogAxis.covering("captions", 1, max(max(counts) for counts in relevant.values())),
        x_name="threshold T",
    )
    rows: list[list[Value]] = [
        [LABELS[name], least, n] for name in names for least, n in zip(THRESHOLDS, relevant[name], strict=True)
    ]
    heading = "Captions of relevance T or more, on average"
    return DrawnFigure([Chart(heading, chart)], columns, rows, facts=facts_of(analyses), notes=notes_of(analyses))


def bounds(filters: FigureFilters) -> DrawnFigure:
    """Draw the recall of the site's sentence model with its bounds by each proxy, in both directions (Figure 5)."""
    columns = [
        *(PROXY, Column("direction", "Direction"), Column("smallest", "Smallest", DECIMAL)),
        *(Column("instance", "One caption right", DECIMAL), Column("largest", "Largest", DECIMAL)),
    ]
    analyses = proxies_of(filters)
    recall: Sequence[tuple[str, str, float, float, float]] = analyses.get("bounds", [])
    if not recall:
        return DrawnFigure([], columns, [], notes=notes_of(analyses))
    charts = []
    for direction, heading in DIRECTIONS.items():
        spreads = []
        for name, towards, least, usual, most in recall:
            if towards == direction:
                title = f"{LABELS[name]}: {usual:.3f}, between {least:.3f} and {most:.3f}"
                spreads.append(Spread(LABELS[name], usual, least, most, title))
        label = f"Bounds of recall by proxy, {heading[0].lower()}{heading[1:]}"
        charts.append(Chart(heading, spread_chart(label, spreads, RECALL_AXIS, x_name="proxy")))
    rows: list[list[Value]] = [[LABELS[name], towards, *numbers] for name, towards, *numbers in recall]
    notes = [
        f"The system is the sentence model {analyses['system']}, which compares captions with descriptions of moments."
        " The proxy by its own vectors is left out.",
        *notes_of(analyses),
    ]
    return DrawnFigure(charts, columns, rows, facts=facts_of(analyses), notes=notes)


def correlation(filters: FigureFilters) -> DrawnFigure:
    """Draw Pearson's correlation of every two proxies as a table of colours (Figure 8)."""
    columns = [
        *(PROXY, Column("other", "Other"), Column("correlation", "Correlation", DECIMAL)),
        Column("moments", "Moments", COUNT),
    ]
    analyses = proxies_of(filters)
    pairs: Sequence[tuple[str, str, float | None, int]] = analyses.get("correlations", [])
    if not pairs:
        return DrawnFigure([], columns, [], notes=notes_of(analyses))
    names = [name for name in PROXIES if name in analyses["relevant"]]
    cells = {(index, index): Cell(1.0, ("1",), f"{LABELS[name]} and itself") for index, name in enumerate(names)}
    for one, other, value, n in pairs:
        number = "undefined" if value is None else f"{value:.3f}"
        cell = Cell(
            abs(value or 0),
            ("?" if value is None else f"{value:.2f}".replace("-", "−"),),
            f"{LABELS[one]} and {LABELS[other]}: {number}, over {n:,} moments",
            "below" if (value or 0) < 0 else "",
        )
        row, column = names.index(one), names.index(other)
        cells[row, column] = cells[column, row] = cell
    labels = [LABELS[name] for name in names]
    heading = "Pearson’s correlation of proxies, averaged over moments"
    chart = heat_map(heading, rows=labels, columns=labels, cells=cells, names=("proxy", "proxy"))
    rows: list[list[Value]] = [[LABELS[one], LABELS[other], value, n] for one, other, value, n in pairs]
    return DrawnFigure([Chart(heading, chart)], columns, rows, facts=facts_of(analyses), notes=notes_of(analyses))


def proxies_of(filters: FigureFilters) -> Mapping[str, Any]:
    """Return the comparison of proxies as last computed; nothing where it is not."""
    report: Mapping[str, Any] = analyses_of(filters).get("proxies", {})
    return report


def facts_of(report: Mapping[str, Any]) -> str:
    sample, n_moments = report["sample"], report["moments"]
    if sample == n_moments:
        return f"All {n_moments:,} moments with a caption, the first caption of each."
    return f"{sample:,} of {n_moments:,} moments with a caption, by chance; the first caption of each."


def notes_of(report: Mapping[str, Any]) -> list[str]:
    """Say which proxies are left out, and why, those of the same reason together; and where there are more."""
    names_by_reason: dict[str, list[str]] = {}
    missing: Mapping[str, str] = report.get("missing", {})
    for name in PROXIES:  # the database keeps no order of keys
        if name in missing:
            names_by_reason.setdefault(missing[name], []).append(LABELS[name])
    return [*(f"Not computed: {', '.join(names)}. {reason}" for reason, names in names_by_reason.items()), MORE_PROXIES]
