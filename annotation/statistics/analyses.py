"""The analyses of TVR's data set for any corpus: lengths, centres, variety of texts, frequent words, actions. Pure.

Source: TVR (Lei et al., ECCV 2020), section 3 and figures 2, 3, 13 and 15; its Table 2 counts actions and people by
hand in 100 queries, here a tagger counts them in all.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random
from typing import Any, NamedTuple

from annotation.statistics.rules import WORD
from moment_retrieval.relevance import stop_words

SECONDS = 5  # of a bin of lengths
LONGEST_BIN = 12  # from here on moments share a bin: 60 s
SHARES = 20  # bins of what is divided by the video's length, and points of the curves
MOST_WORDS = 30  # of a text; longer ones share a bin
GRAM = 4  # words
SAMPLE = 10_000  # texts of the curve of frequencies
TOP_LEMMAS = 20
MOST_COUNTED = 3  # "three or more"


class Text(NamedTuple):
    """A description with what a tagger says of it.

    Texts of the same ``key``, their lemmas, count as equal; ``people``: how many the text speaks of.
    """

    text: str
    key: str
    verbs: tuple[str, ...] = ()  # lemmas
    nouns: tuple[str, ...] = ()  # lemmas
    people: int = 0
    words: tuple[str, ...] = ()  # as they are written, where nobody tagged the text


@dataclass
class Spans:
    """Lengths and centres of moments, in bins."""

    seconds: Counter[int] = field(default_factory=Counter)
    shares: Counter[int] = field(default_factory=Counter)
    centres: Counter[int] = field(default_factory=Counter)

    def add(self, start_s: float, end_s: float, duration_s: float) -> None:
        self.seconds[min(LONGEST_BIN, int((end_s - start_s) // SECONDS))] += 1
        self.shares[_bin((end_s - start_s) / duration_s)] += 1
        self.centres[_bin((start_s + end_s) / 2 / duration_s)] += 1


def _bin(share: float) -> int:
    return min(SHARES - 1, max(0, int(share * SHARES)))


def span_analyses(spans: Iterable[tuple[float, float, float]]) -> dict[str, list[int]]:
    """Count moments by seconds, by their share of the video, and by where in it their centre is.

    Args:
        spans: start, end and the length of the video in seconds, of each moment.
    """
    counts = Spans()
    for span in spans:
        counts.add(*span)
    return {
        "seconds": [counts.seconds[index] for index in range(LONGEST_BIN + 1)],
        "shares": [counts.shares[index] for index in range(SHARES)],
        "centres": [counts.centres[index] for index in range(SHARES)],
    }


def text_analyses(texts: Sequence[Text], *, tagged: bool) -> dict[str, Any]:
    """Say how varied texts are, and what they speak of; ``tagged``: whether somebody looked for verbs and nouns."""
    words = [WORD.findall(one.text.lower()) for one in texts]
    analyses: dict[str, Any] = {
        "texts": len(texts),
        "words": length_counts(words),
        "grams": unique_grams(words),
        "frequencies": frequency_curve([one.key for one in texts]),
        "people": _up_to_most(one.people for one in texts),
    }
    if tagged:
        analyses |= {
            "actions": _up_to_most(len(one.verbs) for one in texts),
            "verbs": _most(lemma for one in texts for lemma in one.verbs if lemma not in stop_words()),
            "nouns": _most(lemma for one in texts for lemma in one.nouns if lemma not in stop_words()),
        }
    else:
        analyses["frequent_words"] = _most(word for one in texts for word in one.words)
    return analyses


def length_counts(words: Iterable[Sequence[str]]) -> list[int]:
    """Count texts by their number of words, from none up; longer ones than ``MOST_WORDS`` share the last bin."""
    lengths = Counter(min(MOST_WORDS, len(one)) for one in words)
    return [lengths[n] for n in range(MOST_WORDS + 1)]


def unique_grams(words: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Count the different runs of four words in the first 5 %, 10 %, … of the texts, in an order by chance.

    Returns:
        Pairs of how many texts, and how many different runs they hold.
    """
    order = list(range(len(words)))
    Random(0).shuffle(order)
    grams: set[tuple[str, ...]] = set()
    points, ends = [], {round(len(words) * step / SHARES) for step in range(1, SHARES + 1)} - {0}
    for count, index in enumerate(order, 1):
        text = words[index]
        grams.update(tuple(text[at : at + GRAM]) for at in range(len(text) - GRAM + 1))
        if count in ends:
            points.append((count, len(grams)))
    return points


def frequency_curve(keys: Sequence[str]) -> list[float]:
    """Say which share of 10,000 texts by chance the most frequent 5 %, 10 %, … of their different texts make up.

    Args:
        keys: of the texts; equal ones count as one text.
    """
    sample = Random(0).sample(list(keys), min(SAMPLE, len(keys)))
    counts = sorted(Counter(sample).values(), reverse=True)
    sums = list(accumulate(counts, initial=0))
    return [sums[round(len(counts) * step / SHARES)] / max(1, len(sample)) for step in range(1, SHARES + 1)]


def _up_to_most(numbers: Iterable[int]) -> list[int]:
    counts = Counter(min(MOST_COUNTED, n) for n in numbers)
    return [counts[n] for n in range(MOST_COUNTED + 1)]


def _most(lemmas: Iterable[str]) -> list[tuple[str, int]]:
    return sorted(Counter(lemmas).items(), key=lambda one: (-one[1], one[0]))[:TOP_LEMMAS]
