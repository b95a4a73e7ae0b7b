"""Word figures of texts before and after rewriting, and which words stand for names. Pure.

A word is a run of letters and digits, with the apostrophes and hyphens inside it, in small letters.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from annotation.captions.rewriting.english import PLURAL_VERB

LEFT_OUT = {"a", "an", "the"}
LONGER_WORD = re.compile(r"[^\W\d_]{2,}")  # not the s of a possessive
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
TOP = 20  # words that a table lists
MICRO = 10**6  # similarities are rounded to millionths, so that sums and bins are exact
BIN = 50_000  # a bin of similarities is 0.05 wide
BINS = range(-MICRO // BIN, MICRO // BIN)  # from -1 to 1; the last one holds 1, too


def replacement_words(pairs: Iterable[tuple[str, str]]) -> Counter[str]:
    """Words of captions that their descriptions do not hold, over pairs of (description, caption); no articles."""
    counts: Counter[str] = Counter()
    for description, caption in pairs:
        counts.update(replacements(description, caption))
    return counts


def replacements(description: str, caption: str) -> dict[str, int]:
    """How often each word is new; "walk" for "walks" is no new word, a verb only agrees with people now together."""
    if description == caption:
        return {}
    before = Counter(word.lower() for word in LONGER_WORD.findall(description))
    after = Counter(word.lower() for word in LONGER_WORD.findall(caption))
    agreed = Counter({PLURAL_VERB[word]: n for word, n in (before - after).items() if word in PLURAL_VERB})
    return {word: n for word, n in (after - before - agreed).items() if word not in LEFT_OUT}


Names = Callable[[str, str], bool]  # whether a text about a video names somebody


@dataclass(frozen=True)
class Row:
    """A description with its caption, and the groups it is counted in; a text that is not there is None."""

    groups: tuple[str, ...]
    description: str | None
    caption: str | None
    similarity: float | None = None
    video: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    text: str
    words: tuple[str, ...]
    names: bool


@dataclass
class Texts:
    """The descriptions of a group, or its captions."""

    texts: int = 0
    distinct: set[str] = field(default_factory=set)
    lengths: Counter[int] = field(default_factory=Counter)
    vocabulary: set[str] = field(default_factory=set)
    first_words: Counter[str] = field(default_factory=Counter)
    with_names: int = 0

    def add(self, measured: Measured) -> None:
        self.texts += 1
        self.distinct.add(measured.text)
        self.lengths[len(measured.words)] += 1
        self.vocabulary.update(measured.words)
        self.first_words.update(measured.words[:1])
        self.with_names += measured.names

    def figures(self) -> dict[str, Any]:
        return {
            "texts": self.texts,
            "distinct": len(self.distinct),
            "vocabulary": len(self.vocabulary),
            "with_names": self.with_names,
            "words": words_per_text(self.lengths),
            "lengths": sorted(self.lengths.items()),
            "first_words": _top(self.first_words),
        }


@dataclass
class Similarities:
    """Of captions to their descriptions, in millionths."""

    total: int = 0
    counted: int = 0
    bins: Counter[int] = field(default_factory=Counter)

    def add(self, similarity: float) -> None:
        micro = round(similarity * MICRO)
        self.total += micro
        self.counted += 1
        self.bins[min(micro // BIN, BINS.stop - 1)] += 1

    def figures(self) -> dict[str, Any]:
        mean = self.total / self.counted / MICRO if self.counted else None
        bins = [[n * BIN / MICRO, (n + 1) * BIN / MICRO, self.bins[n]] for n in sorted(self.bins)]
        return {"texts": self.counted, "mean": mean, "bins": bins}


@dataclass
class Group:
    """Descriptions and captions that are looked at together."""

    descriptions: Texts = field(default_factory=Texts)
    captions: Texts = field(default_factory=Texts)
    pairs: int = 0
    changed: int = 0
    replaced: Counter[str] = field(default_factory=Counter)
    similarities: Similarities = field(default_factory=Similarities)

    def add(
        self, before: Measured | None, after: Measured | None, replaced: Mapping[str, int], similarity: float | None
    ) -> None:
        if before:
            self.descriptions.add(before)
        if after:
            self.captions.add(after)
        if before and after:
            self.pairs += 1
            self.changed += before.text != after.text
            self.replaced.update(replaced)
        if similarity is not None:
            self.similarities.add(similarity)

    def figures(self) -> dict[str, Any]:
        return {
            "descriptions": self.descriptions.figures(),
            "captions": self.captions.figures(),
            "pairs": self.pairs,
            "changed": self.changed,
            "replaced": self.replaced.total(),
            "replacements": _top(self.replaced),
            "similarity": self.similarities.figures(),
        }


def figures(rows: Iterable[Row], *, names: Names) -> dict[str, dict[str, Any]]:
    """Figures of every group that a row names; one pass, nothing of a row is kept but its distinct texts and words."""
    groups: dict[str, Group] = {}
    for row in rows:
        before = _measured(row.description, row.video, names)
        after = before if row.caption == row.description else _measured(row.caption, row.video, names)
        replaced = replacements(row.description, row.caption) if row.description and row.caption else {}
        for name in row.groups:
            groups.setdefault(name, Group()).add(before, after, replaced, row.similarity)
    return {name: group.figures() for name, group in groups.items()}


def _measured(text: str | None, video: str, names: Names) -> Measured | None:
    if text is None:
        return None
    return Measured(text, tuple(WORD.findall(text.lower())), names(text, video))


def words_per_text(lengths: Mapping[int, int]) -> dict[str, float | None]:
    """Mean, median, least and most, from how many texts have each number of words; None where there is no text."""
    if not lengths:
        return {"mean": None, "median": None, "min": None, "max": None}
    total = sum(lengths.values())
    each = Counter(dict(sorted(lengths.items()))).elements()
    return {
        "mean": sum(words * n for words, n in lengths.items()) / total,
        "median": median(each),
        "min": min(lengths),
        "max": max(lengths),
    }


def _top(counts: Counter[str]) -> list[tuple[str, int]]:
    """The commonest words, those equally common by the alphabet."""
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:TOP]
