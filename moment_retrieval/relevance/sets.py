"""Proxies that compare sets (bag of words, part of speech, synset), METEOR, and matrices of relevance by either.

A text becomes a *bag*: one set for each part compared (BoW has one part, the others have verbs and nouns). Two bags are
as alike as the weighted mean of intersection over union of their parts; of two empty sets that is 0. The matrices are
equation 5 of Wray et al.: the relevance of every caption to every video.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.relevance import DECIMALS, Normalisation, Ranked, RankingNotOffered, content_words, tokens, words
from moment_retrieval.relevance.tagger import Tagger
from moment_retrieval.relevance.wordnet import Senses, WordNet

ALPHA, BETA, GAMMA = 0.9, 3, 0.5
Words = list[tuple[int, str]]  # with their places
Match = tuple[int, int]  # place in the hypothesis, place in the reference


class Edition(StrEnum):
    """Which nltk: the older matches a word by its stem and once more by its synonyms, so that scores can pass 1."""

    NLTK_3_10 = "nltk-3.10"
    NLTK_3_5 = "nltk-3.5"  # what the published matrices hold


def meteor(
    reference: Sequence[str], hypothesis: Sequence[str], wordnet: WordNet, edition: Edition = Edition.NLTK_3_10
) -> float:
    """Return METEOR of two captions (Lavie and Agarwal, 2007) as nltk computes it; it is not symmetric.

    Words, in lower case, are matched exactly, then by Porter's stems, then by WordNet's synonyms: the last word of the
    hypothesis first, each with the last word of the reference that is still free. Identical captions of n words have
    1 - 0.5 / n**3, captions without a match 0.
    """
    matches = _matches(list(enumerate(reference)), list(enumerate(hypothesis)), wordnet, edition)
    if not matches:
        return 0.0
    precision, recall = len(matches) / len(hypothesis), len(matches) / len(reference)
    mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
    return (1 - GAMMA * (_chunks(matches) / len(matches)) ** BETA) * mean


def _matches(reference: Words, hypothesis: Words, wordnet: WordNet, edition: Edition) -> list[Match]:
    """All matches by place in the hypothesis."""
    exact = _same(reference, hypothesis)
    reference_words, hypothesis_words = _free(reference, exact, 1), _free(hypothesis, exact, 0)
    stemmed = [
        [(position, wordnet.stem(word)) for position, word in side] for side in (reference_words, hypothesis_words)
    ]
    by_stem = _same(*stemmed)
    if edition is Edition.NLTK_3_10:
        reference_words, hypothesis_words = (
            _free(stemmed[0], by_stem, 1),
            _free(stemmed[1], by_stem, 0),
        )  # synonyms of stems, as it is there
    synonyms = _taken(reference_words, [(position, wordnet.synonyms(word)) for position, word in hypothesis_words])
    return sorted([*exact, *by_stem, *synonyms], key=lambda match: match[0])


def _same(reference: Words, hypothesis: Words) -> list[Match]:
    return _taken(reference, [(position, (word,)) for position, word in hypothesis])


def _taken(reference: Words, hypothesis: Sequence[tuple[int, Collection[str]]]) -> list[Match]:
    """Each hypothesis word, the last first, takes the last free reference word that it wants."""
    free, matches = list(reference), []
    for position, forms in reversed(hypothesis):
        for index in range(len(free) - 1, -1, -1):
            if free[index][1] in forms:
                matches.append((position, free.pop(index)[0]))
                break
    return matches


def _free(words: Words, matches: Sequence[Match], side: int) -> Words:
    positions = {match[side] for match in matches}
    return [word for word in words if word[0] not in positions]


def _chunks(matches: Sequence[Match]) -> int:
    """Runs of matches that are neighbours in both captions."""
    return 1 + sum(after != (before[0] + 1, before[1] + 1) for before, after in pairwise(matches))


def kernel(
    first: Sequence[Sequence[str]],
    second: Sequence[Sequence[str]],
    wordnet: WordNet,
    edition: Edition = Edition.NLTK_3_10,
) -> float:
    """Two videos with several captions each: the mean of both sides' best matches (Wray et al. cite the kernel)."""
    scores = np.array([[meteor(one, other, wordnet, edition) for other in second] for one in first])
    return float((scores.max(axis=1).mean() + scores.max(axis=0).mean()) / 2)


class Meteor:
    """METEOR as a similarity of given pairs: left is the reference, the caption of the moment."""

    def __init__(self, wordnet: WordNet, how: Normalisation, *, name: str, version: str) -> None:
        self.wordnet, self.how, self.name = wordnet, how, name
        self.model = f"WordNet {wordnet.version}"
        self.version = f"{version}, {Edition.NLTK_3_10}"
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
SHARE = 0.25  # of a video's captions, in which what enters its bag occurs


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

    tagger: Tagger
    how: Normalisation
    weights: tuple[float, ...] = (0.5, 0.5)

    def read(self, text: str) -> Bag:
        tags, case = self.tagger.tag(text), _case(self.how)
        return frozenset(map(case, tags.verbs)), frozenset(map(case, tags.nouns))


@dataclass(frozen=True)
class Synsets:
    """Verbs and nouns replaced by what they mean in this sentence: their senses, or their classes."""

    tagger: Tagger
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


def common(bags: Sequence[Bag], *, share: float = SHARE) -> Bag:
    """The bag of a video with several captions: what at least ``share`` of their bags hold."""
    counts = (Counter(item for items in part for item in items) for part in zip(*bags, strict=True))
    return tuple(frozenset(item for item, n in count.items() if n >= share * len(bags)) for count in counts)


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


Captions = Sequence[Sequence[str]]  # of each video, or of each column, one or several


def set_relevance(reader: Reader, videos: Captions, columns: Captions) -> NDArray[np.float64]:
    """IoU [N, M] of ``videos`` [N] and ``columns`` [M]; of several captions counts what a quarter of them holds."""
    rows, others = ([common([reader.read(text) for text in texts]) for texts in side] for side in (videos, columns))
    postings = Postings(others, reader.weights)
    return np.array([postings.scores(row) for row in rows]).reshape(len(rows), len(others))


def meteor_relevance(
    wordnet: WordNet,
    videos: Captions,
    columns: Captions,
    *,
    how: Normalisation = Normalisation.OFFICIAL,
    edition: Edition = Edition.NLTK_3_10,
) -> NDArray[np.float64]:
    """METEOR [N, M], the video's caption being the reference; with several captions the matching kernel."""
    rows, others = ([[tokens(text, how) for text in texts] for texts in side] for side in (videos, columns))

    def score(row: Sequence[Sequence[str]], other: Sequence[Sequence[str]]) -> float:
        if len(row) == len(other) == 1:
            return meteor(row[0], other[0], wordnet, edition)
        return kernel(row, other, wordnet, edition)

    return np.array([[score(row, other) for other in others] for row in rows]).reshape(len(rows), len(others))


def with_own(relevance: NDArray[np.float64], owners: Sequence[int]) -> NDArray[np.float64]:
    """The relevance [N, M] with 1 between each column and its own video, one of ``owners`` [M].

    So the paper has it (equation 5); the released script leaves these as they come out.
    """
    result = relevance.copy()
    result[np.asarray(owners), np.arange(len(owners))] = 1.0
    return result
