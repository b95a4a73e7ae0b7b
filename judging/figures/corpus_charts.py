"""TVR's analyses of a data set as figures of the project's corpus: lengths, variety, frequent words, actions."""

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.models import TextStatistics
from annotation.statistics.analyses import LONGEST_BIN, MOST_COUNTED, MOST_WORDS, SECONDS, SHARES
from core.charts.canvas import Axis, Canvas
from core.charts.kinds import Column as Bar
from core.charts.kinds import Series, columns_chart, lines_chart
from judging.figures.charts import COUNT, OF_ALL, Chart, Column, DrawnFigure, Value
from judging.figures.selectors import FigureFilters

PUBLISHED_SHARES = {  # of 100 queries labelled by hand each, in %: at least two actions, at least two people
    "TACoS": (20, 0),
    "Charades-STA": (6, 12),
    "ActivityNet Captions": (44, 44),
    "DiDeMo": (6, 10),
    "TVR": (67, 66),
}


def analyses_of(filters: FigureFilters) -> Mapping[str, Any]:
    """Return the analyses as last computed; nothing where they are not."""
    row = TextStatistics.objects.filter(project=filters.project, computed_at__isnull=False).first()
    analyses: Mapping[str, Any] = row.data.get("analyses", {}) if row else {}
    return analyses if analyses.get("texts") else {}


def lengths(filters: FigureFilters) -> DrawnFigure:
    return lengths_figure(analyses_of(filters), texts="descriptions")


def lengths_figure(analyses: Mapping[str, Any], *, texts: str) -> DrawnFigure:
    """Draw lengths and centres of moments and lengths of texts; nothing where there are no analyses.

    Args:
        analyses: ``span_analyses`` and ``text_analyses`` of the moments and of their texts.
        texts: what these are called, in the plural.
    """
    columns = [Column("measure", "Measure"), Column("bin", "Bin"), Column("count", "Number", COUNT), OF_ALL]
    if not analyses:
        return DrawnFigure([], columns, [])
    seconds = [f"{index * SECONDS}–{(index + 1) * SECONDS}" for index in range(LONGEST_BIN)]
    shares = [f"{index / SHARES:.2f}" for index in range(SHARES)]
    words = [*map(str, range(MOST_WORDS)), f"{MOST_WORDS}+"]
    parts = [
        ("Moments by length", "seconds", [*seconds, f"{LONGEST_BIN * SECONDS}+"], "seconds", "moments"),
        (
            "Moments by their share of the video",
            "shares",
            shares,
            "share of the video",
            "moments",
        ),
        ("Moments by their centre in the video", "centres", shares, "centre of the moment, 1 is the end", "moments"),
        (f"{texts.capitalize()} by length", "words", words, "words", texts),
    ]
    charts, rows = [], list[list[Value]]()
    for heading, name, bands, x_name, unit in parts:
        counts: Sequence[int] = analyses[name]
        charts.append(Chart(heading, bars_chart(heading, bands, counts, x_name=x_name, unit=unit)))
        total = sum(counts) or 1
        rows += [[name, band, n, n / total] for band, n in zip(bands, counts, strict=True)]
    facts = f"{sum(analyses['seconds']):,} moments, {analyses['texts']:,} {texts}."
    return DrawnFigure(charts, columns, rows, facts=facts)


def bars_chart(label: str, bands: Sequence[str], counts: Sequence[int], *, x_name: str, unit: str) -> Canvas:
    bars = [Bar(band, n, (f"{n:,} {unit}",)) for band, n in zip(bands, counts, strict=True)]
    return columns_chart(label, bars, Axis.over(unit, 0, max(*counts, 1)), x_name=x_name, height=150)


def variety(filters: FigureFilters) -> DrawnFigure:
    analyses = analyses_of(filters)
    return variety_figure(analyses, texts="descriptions", notes=_notes_of(analyses) if analyses else [])


def variety_figure(analyses: Mapping[str, Any], *, texts: str, notes: Sequence[str] = ()) -> DrawnFigure:
    """Draw how varied texts are, as ``text_analyses`` counts it; nothing where there are no analyses."""
    columns = [Column("measure", "Measure"), Column("at", "Up to", ",.2f"), Column("value", "Value", ",.3f")]
    if not analyses:
        return DrawnFigure([], columns, [])
    grams, frequencies = analyses["grams"], analyses["frequencies"]
    shares = [f"{100 * (index + 1) / SHARES:.0f} %" for index in range(SHARES)]
    charts = [
        Chart(
            "Different runs of four words",
            lines_chart(
                f"Different runs of four words by number of {texts}",
                [f"{n:,}" for n, _ in grams],
                [Series("different runs", [runs for _, runs in grams])],
                Axis.over("runs of four words", 0, max(1, *(runs for _, runs in grams)) if grams else 1),
                x_name=texts,
            ),
        ),
        Chart(
            "How much the most frequent texts make up",
            lines_chart(
                f"Share of {texts} by their most frequent texts",
                shares,
                [
                    Series(texts, [100 * share for share in frequencies]),
                    Series("if all were different", [100 * (index + 1) / SHARES for index in range(SHARES)]),
                ],
                Axis(f"share of {texts}", 0, 100, 25, " %"),
                x_name="different texts, the most frequent first",
            ),
        ),
    ]
    rows: list[list[Value]] = [["runs_of_four_words", float(n), float(runs)] for n, runs in grams]
    rows += [["frequent_texts", (index + 1) / SHARES, share] for index, share in enumerate(frequencies)]
    return DrawnFigure(charts, columns, rows, facts=f"{analyses['texts']:,} {texts}.", notes=notes)


def _notes_of(analyses: Mapping[str, Any]) -> list[str]:
    return [] if "verbs" in analyses else [NO_WORDNET]


NO_WORDNET = "WordNet is not installed, so words are not brought to their base form, and verbs and nouns are unknown."


def frequent_words(filters: FigureFilters) -> DrawnFigure:
    columns = [Column("kind", "Kind"), Column("word", "Word"), Column("count", "Number", COUNT)]
    analyses = analyses_of(filters)
    kinds = [kind for kind in ("verbs", "nouns", "frequent_words") if analyses.get(kind)]
    charts, rows = [], list[list[Value]]()
    for kind in kinds:
        words, counts = zip(*analyses[kind], strict=True)
        heading = f"Most frequent {kind.removeprefix('frequent_')}"
        x_name = "base form" if "verbs" in analyses else "word"
        charts.append(Chart(heading, bars_chart(heading, words, counts, x_name=x_name, unit="times")))
        rows += [[kind, word, n] for word, n in analyses[kind]]
    facts = f"{analyses['texts']:,} descriptions; stop words and names left out." if charts else ""
    return DrawnFigure(charts, columns, rows, facts=facts, notes=_notes_of(analyses) if analyses else [])


def actions(filters: FigureFilters) -> DrawnFigure:
    columns = [
        *(Column("what", "Of a description"), Column("number", "Number"), Column("count", "Descriptions", COUNT)),
        OF_ALL,
    ]
    analyses = analyses_of(filters)
    if not analyses:
        return DrawnFigure([], columns, [])
    bands = [*map(str, range(MOST_COUNTED)), f"{MOST_COUNTED}+"]
    charts, rows, shares = [], list[list[Value]](), {}
    for position, kind in enumerate(("actions", "people")):
        counts = analyses.get(kind)
        if counts is None:
            continue
        heading = f"Descriptions by number of {kind}"
        charts.append(Chart(heading, bars_chart(heading, bands, counts, x_name=kind, unit="descriptions")))
        total = sum(counts) or 1
        rows += [[kind, band, n, n / total] for band, n in zip(bands, counts, strict=True)]
        shares[kind] = 100 * sum(counts[2:]) / total
        rows += [[f"{kind}, {name}", "2+", None, both[position] / 100] for name, both in PUBLISHED_SHARES.items()]
    ours = ", ".join(f"{share:.0f} % with at least two {kind}" for kind, share in shares.items())
    published = "; ".join(f"{name} {one} and {other} %" for name, (one, other) in PUBLISHED_SHARES.items())
    notes = [
        "Ours are counted by a tagger: main verbs as actions; names, and nouns such as woman, as people.",
        f"As published, with at least two actions and two people, by hand in 100 queries each: {published}.",
        *_notes_of(analyses),
    ]
    return DrawnFigure(charts, columns, rows, facts=f"{analyses['texts']:,} descriptions: {ours}.", notes=notes)
