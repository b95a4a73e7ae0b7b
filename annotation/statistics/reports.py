"""Figures of texts as people read them: names of groups, histograms, tables, CSV."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from annotation.statistics.collection import value_rows
from core.charts.kinds import Bin, Histogram

Figures = Mapping[str, Any]
MOST_BINS = 50  # numbers of words with a bin of their own
IN_SIGHT = 0.99  # of the texts have one; longer ones share the last
STEP = 0.05  # of similarities
NAMES = {
    "all": "All",
    "kind video": "Of the video",
    "kind subtitle": "Of the speech",
    "kind both": "Of both",
    "split val": "Validation queries",
    "split test": "Test queries",
    "split train": "Training queries",
}
SIDES = ("descriptions", "captions")
MEASURES = ("texts", "distinct", "vocabulary", "with_names")
COLUMNS = ("group", "texts", "measure", "value")
HISTOGRAM_COLUMNS = ("group", "texts", "histogram", "from", "to", "count")


def group_name(group: str) -> str:
    return NAMES.get(group) or f"Query set {group.removeprefix('set ')}"


def words_histogram(figures: Figures) -> Histogram:
    """How many descriptions and captions have each number of words; the last bin holds all longer ones."""
    lengths = [dict(figures[side]["lengths"]) for side in SIDES]
    last = _last_bin(lengths)
    bins = [
        Bin(
            f"{words} word{'' if words == 1 else 's'}",
            tuple(side.get(words, 0) for side in lengths),
            _tick(words, last),
        )
        for words in range(last + 1)
    ]
    beyond = tuple(sum(n for words, n in side.items() if words > last) for side in lengths)
    return Histogram([*bins, Bin(f"more than {last} words", beyond, "more")] if any(beyond) else bins, SIDES)


def _tick(words: int, last: int) -> str:
    return str(words) if words % 5 == 0 and last - words > 2 else ""  # room for the word at the end


def _last_bin(lengths: Sequence[Mapping[int, int]]) -> int:
    """The number of words up to which nearly all texts are, of the side with the longer ones."""
    lasts = [10]
    for side in lengths:
        left, total = sum(side.values()), sum(side.values())
        for words in sorted(side):
            left -= side[words]
            if left <= total * (1 - IN_SIGHT):
                lasts.append(words)
                break
    return min(max(lasts), MOST_BINS)


def similarity_histogram(figures: Figures, *, limit: float) -> Histogram:
    """Captions by their similarity to the description, from 0 or the least up to 1; a line where the check fails."""
    counts = {round(low / STEP): n for low, _, n in figures["similarity"]["bins"]}
    first, end = min([0, *counts]), round(1 / STEP)
    bins = [
        Bin(
            f"{at * STEP:.2f} to {(at + 1) * STEP:.2f}", (counts.get(at, 0),), f"{at * STEP:.1f}" if at % 2 == 0 else ""
        )
        for at in range(first, end)
    ]
    return Histogram(bins, ("captions",), ticks_at=0, mark=limit / STEP - first)


def measure_rows(data: Figures) -> Iterator[tuple[str, str, str, object]]:
    """The figures in long form: group, texts, measure, value."""
    for figures in data["groups"]:
        group = figures["group"]
        for side in SIDES:
            yield from ((group, side, name, figures[side][name]) for name in MEASURES)
            yield from ((group, side, f"words_{name}", _told(n)) for name, n in figures[side]["words"].items())
            yield from ((group, side, f"first_word {word}", n) for word, n in figures[side]["first_words"])
        yield group, "both", "pairs", figures["pairs"]
        yield group, "both", "changed", figures["changed"]
        yield group, "both", "similarity_texts", figures["similarity"]["texts"]
        yield group, "both", "similarity_mean", _told(figures["similarity"]["mean"])
        yield group, "both", "replaced", figures["replaced"]
        yield from ((group, "both", f"replacement {word}", n) for word, n in figures["replacements"])
    for column, measure, value in value_rows(data.get("collection", [])):
        yield column, "collection", measure, value
    for row in data["candidates"]:
        for name in ("queries", "mean", "least", "most"):
            yield f"split {row['split']}", "candidates", f"rank_{row['rank']}_{name}", _told(row[name])


def histogram_rows(data: Figures) -> Iterator[tuple[str, str, str, object, object, int]]:
    """The histograms in long form; a bin goes from its first number up to, but without, its second."""
    for figures in data["groups"]:
        group = figures["group"]
        for side in SIDES:
            yield from ((group, side, "words", words, words + 1, n) for words, n in figures[side]["lengths"])
        yield from ((group, "both", "similarity", low, high, n) for low, high, n in figures["similarity"]["bins"])


def _told(value: float | None) -> object:
    return "" if value is None else round(value, 6)
