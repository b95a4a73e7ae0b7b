"""METEOR of two captions (Lavie and Agarwal, 2007) as nltk computes it, in two versions; not symmetric.

Words are matched exactly, then by Porter's stems, then by WordNet's synonyms: always the last word of the hypothesis
first, and each with the last word of the reference that is still free.
"""

from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.relevance import Normalisation, Ranked, RankingNotOffered, tokens
from moment_retrieval.relevance.wordnet import WordNet

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
    """The score of words in lower case; identical captions of n words have 1 - 0.5 / n**3, strangers 0."""
    matches = _matches(list(enumerate(reference)), list(enumerate(hypothesis)), wordnet, edition)
    if not matches:
        return 0.0
    precision, recall = len(matches) / len(hypothesis), len(matches) / len(reference)
    mean = precision * recall / (ALPHA * precision + (1 - ALPHA) * recall)
    return (1 - GAMMA * (_chunks(matches) / len(matches)) ** BETA) * mean


def _matches(reference: Words, hypothesis: Words, wordnet: WordNet, edition: Edition) -> list[Match]:
    """All matches by place in the hypothesis."""
    exact = _same(reference, hypothesis)
    left, right = _free(reference, exact, 1), _free(hypothesis, exact, 0)
    stemmed = [[(place, wordnet.stem(word)) for place, word in side] for side in (left, right)]
    by_stem = _same(*stemmed)
    if edition is Edition.NLTK_3_10:
        left, right = _free(stemmed[0], by_stem, 1), _free(stemmed[1], by_stem, 0)  # synonyms of stems, as it is there
    synonyms = _taken(left, [(place, wordnet.synonyms(word)) for place, word in right])
    return sorted([*exact, *by_stem, *synonyms], key=lambda match: match[0])


def _same(reference: Words, hypothesis: Words) -> list[Match]:
    return _taken(reference, [(place, (word,)) for place, word in hypothesis])


def _taken(reference: Words, wanted: Sequence[tuple[int, Collection[str]]]) -> list[Match]:
    """Each hypothesis word, the last first, takes the last free reference word that it wants."""
    free, found = list(reference), []
    for place, words in reversed(wanted):
        for index in range(len(free) - 1, -1, -1):
            if free[index][1] in words:
                found.append((place, free.pop(index)[0]))
                break
    return found


def _free(words: Words, matches: Sequence[Match], side: int) -> Words:
    taken = {match[side] for match in matches}
    return [word for word in words if word[0] not in taken]


def _chunks(matches: Sequence[Match]) -> int:
    """Runs of matches that are neighbours in both captions."""
    return 1 + sum(after != (before[0] + 1, before[1] + 1) for before, after in pairwise(matches))


def kernel(
    left: Sequence[Sequence[str]],
    right: Sequence[Sequence[str]],
    wordnet: WordNet,
    edition: Edition = Edition.NLTK_3_10,
) -> float:
    """Two videos with several captions each: the mean of both sides' best matches (Wray et al. cite the kernel)."""
    scores = np.array([[meteor(one, other, wordnet, edition) for other in right] for one in left])
    return float((scores.max(axis=1).mean() + scores.max(axis=0).mean()) / 2)


class Meteor:
    """METEOR as a similarity of given pairs: left is the reference, the caption of the moment."""

    def __init__(self, wordnet: WordNet, how: Normalisation, *, name: str, version: str) -> None:
        self.wordnet, self.how, self.name = wordnet, how, name
        self.model = f"WordNet {wordnet.version}"
        self.version = f"{version}, {Edition.NLTK_3_10}"
        self.normalisation = str(how)

    def pairs(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        read = {text: tokens(text, self.how) for text in {*left, *right}}
        scores = (meteor(read[one], read[other], self.wordnet) for one, other in zip(left, right, strict=True))
        return np.fromiter(scores, np.float64, len(left))

    def top(
        self, queries: Sequence[str], captions: Sequence[str], first_caption: NDArray[np.intp], *, depth: int
    ) -> Iterator[Ranked]:
        raise not_alone(self.name)


def not_alone(name: str) -> RankingNotOffered:
    return RankingNotOffered(
        f"{name} scores given pairs and is never run on all of them. Name the similarity whose best moments it ranks"
        f" again, such as '{name} over bow'."
    )
