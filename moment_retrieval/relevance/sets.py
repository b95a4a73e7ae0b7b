"""Proxies that compare sets (bag of words, part of speech, synset), and METEOR.

A text becomes a *bag*: one set for each part compared (BoW has one part, the others have verbs and nouns). Two bags are
as alike as the weighted mean of intersection over union of their parts; of two empty sets that is 0.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.relevance import (
    DECIMALS,
    NLTK,
    Normalisation,
    Ranked,
    RankingNotOffered,
    content_words,
    tokens,
    words,
)
from moment_retrieval.relevance.tagger import LexiconTagger
from moment_retrieval.relevance.wordnet import WordNet, meteor


class Meteor:
    """METEOR as a similarity of given pairs: left is the reference, the caption of the moment."""

    def __init__(self, wordnet: WordNet, how: Normalisation, *, name: str, version: str) -> None:
        self.wordnet, self.how, self.name = wordnet, how, name
        self.model = f"WordNet {wordnet.version}"
        self.version = f"{version}, {NLTK}"
        self.normalisation = str(how)

    def pairs(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        read = {text: tokens(text, self.how) for text in {*first, *second}}
        scores = (meteor(read[one], read[other], self.wordnet) for one, other in zip(first, second, strict=True))
        return np.fromiter(scores, np.float64, len(first))

    def top(
        self, queries: Sequence[str], captions: Sequence[str], first_caption: NDArray[np.intp], *, depth: int
    ) -> Iterator[Ranked]:
        raise not_alone(self.name)


def not_alone(name: str) -> RankingNotOffered:
    return RankingNotOffered(
        f"{name} scores given pairs and is never run on all of them. Name the similarity whose best moments it ranks"
        f" again, such as '{name} over bow'."
    )


Bag = tuple[frozenset[Hashable], ...]


class Reader(Protocol):
    @property
    def weights(self) -> tuple[float, ...]:
        """Of the parts; their sum is 1."""

    def read(self, text: str) -> Bag:
        """The sets of ``text``, one for each weight."""


@dataclass(frozen=True)
class BagOfWords:
    """The words that are no stop words."""

    how: Normalisation
    weights: tuple[float, ...] = (1.0,)

    def read(self, text: str) -> Bag:
        return (content_words(text, self.how),)


@dataclass(frozen=True)
class PartOfSpeech:
    """Verbs and nouns as they stand; cleaned, in lower case."""

    tagger: LexiconTagger
    how: Normalisation
    weights: tuple[float, ...] = (0.5, 0.5)

    def read(self, text: str) -> Bag:
        tags, case = self.tagger.tag(text), _case(self.how)
        return frozenset(map(case, tags.verbs)), frozenset(map(case, tags.nouns))


class Senses(Protocol):
    def sense(self, word: str, context: frozenset[str]) -> Hashable:
        """Return what ``word`` stands for in a sentence of the words ``context``."""


@dataclass(frozen=True)
class Synsets:
    """Verbs and nouns replaced by what they mean in this sentence: their senses."""

    tagger: LexiconTagger
    verbs: Senses
    nouns: Senses
    how: Normalisation
    weights: tuple[float, ...] = (0.5, 0.5)

    def read(self, text: str) -> Bag:
        tags, context, case = self.tagger.tag(text), frozenset(words(text, self.how)), _case(self.how)
        return (
            frozenset(self.verbs.sense(case(word), context) for word in tags.verbs),
            frozenset(self.nouns.sense(case(word), context) for word in tags.nouns),
        )


def _case(how: Normalisation) -> Callable[[str], str]:
    return str if how is Normalisation.OFFICIAL else str.lower


def iou(first: frozenset[Hashable], second: frozenset[Hashable]) -> float:
    """Intersection over union; 0 for two empty sets."""
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared) if shared else 0.0


def alike(first: Bag, second: Bag, weights: Sequence[float]) -> float:
    return sum(weight * iou(*parts) for weight, *parts in zip(weights, first, second, strict=True))


class Postings:
    """Many bags, by what they hold: comparing one bag with all of them costs little more than what they share."""

    def __init__(self, bags: Sequence[Bag], weights: Sequence[float]) -> None:
        self.weights = tuple(weights)
        self.size = np.array([[len(items) for items in bag] for bag in bags]).reshape(len(bags), len(self.weights)).T
        rows_by_item: list[defaultdict[Hashable, list[int]]] = [defaultdict(list) for _ in weights]
        for row, bag in enumerate(bags):
            for holders, items in zip(rows_by_item, bag, strict=True):
                for item in items:
                    holders[item].append(row)
        self.holders = [{item: np.array(rows) for item, rows in part.items()} for part in rows_by_item]

    def scores(self, bag: Bag) -> NDArray[np.float64]:
        """How alike ``bag`` is to each [N]."""
        result = np.zeros(self.size.shape[1])
        for weight, holders, size, items in zip(self.weights, self.holders, self.size, bag, strict=True):
            shared = np.zeros(len(size), np.int64)
            for item in items & holders.keys():
                shared[holders[item]] += 1
            some = np.flatnonzero(shared)
            result[some] += weight * (shared[some] / (size[some] + len(items) - shared[some]))
        return result


def best_moments(scores: NDArray[np.float64], first_caption: NDArray[np.intp], depth: int) -> Ranked:
    """The moments of the highest scores [C] of their captions, rounded; ties keep the order of moments."""
    best = np.maximum.reduceat(scores, first_caption).round(DECIMALS)
    last = len(best) - min(depth, len(best))
    bound = np.partition(best, last)[last]
    above, at = np.flatnonzero(best > bound), np.flatnonzero(best == bound)
    moments = np.concatenate([above, at[: len(best) - last - len(above)]])
    moments = moments[np.lexsort((moments, -best[moments]))]
    return moments, best[moments]


@dataclass(frozen=True)
class SetSimilarity:
    """A proxy of sets as a similarity."""

    name: str
    model: str
    version: str
    normalisation: str
    reader: Reader

    def pairs(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        read, weights = self.reader.read, self.reader.weights
        return np.array([alike(read(one), read(other), weights) for one, other in zip(first, second, strict=True)])

    def top(
        self, queries: Sequence[str], captions: Sequence[str], first_caption: NDArray[np.intp], *, depth: int
    ) -> Iterator[Ranked]:
        postings = Postings([self.reader.read(text) for text in captions], self.reader.weights)
        for query in queries:
            yield best_moments(postings.scores(self.reader.read(query)), first_caption, depth)
