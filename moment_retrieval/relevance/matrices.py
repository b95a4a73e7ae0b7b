"""Relevance of all videos to all captions by a proxy: the ground truth that semantic nDCG reads.

Notation: N videos, M columns: captions, or videos with all their captions.

Source: Wray, Doughty and Damen, CVPR 2021, equation 5 and section 3.2, and the scripts released with it.
"""

from __future__ import annotations

import csv
from ast import literal_eval
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from moment_retrieval.errors import InvalidRecord, MalformedFile, UnreadableFile, at
from moment_retrieval.relevance import Normalisation, tokens
from moment_retrieval.relevance.sets import Bag, Postings, Reader
from moment_retrieval.relevance.wordnet import WordNet, meteor
from moment_retrieval.tables import Floats, Ints

LEAST_SHARE = 0.25  # of a video's captions that hold what belongs to the video (MSR-VTT, section 4.1)


@dataclass(frozen=True)
class Captions:
    """Captions of N videos.

    Attributes:
        videos: [N] names, in the order of their first caption.
        texts: [M] captions.
        owners: [M] the video of each caption.
    """

    videos: tuple[str, ...]
    texts: tuple[str, ...]
    owners: Ints

    @classmethod
    def of(cls, rows: Sequence[tuple[str, str]]) -> Captions:
        """Return the captions of (video, caption) rows. Raises InvalidRecord: there are none."""
        if not rows:
            raise InvalidRecord("there is no caption")
        numbers = {name: number for number, name in enumerate(dict.fromkeys(name for name, _ in rows))}
        return cls(tuple(numbers), tuple(text for _, text in rows), np.array([numbers[name] for name, _ in rows]))

    def by_video(self) -> list[list[int]]:
        """Return the numbers of each video's captions."""
        return [np.flatnonzero(self.owners == number).tolist() for number in range(len(self.videos))]


def set_relevance(captions: Captions, reader: Reader, *, between_videos: bool = False) -> Floats:
    """Return the relevance [N, M] by a proxy that compares sets.

    What is in a quarter or more of a video's captions belongs to the video, counted by captions.

    Args:
        between_videos: columns are the videos too, M = N.
    """
    bags = [reader.read(text) for text in captions.texts]
    of_videos = [common(list(map(bags.__getitem__, numbers))) for numbers in captions.by_video()]
    postings = Postings(of_videos if between_videos else bags, reader.weights)
    return np.array([postings.scores(bag) for bag in of_videos])


def common(bags: Sequence[Bag]) -> Bag:
    """Return what is in LEAST_SHARE of the bags or more, part by part."""
    least = LEAST_SHARE * len(bags)
    counters = [Counter(chain.from_iterable(part)) for part in zip(*bags, strict=True)]
    return tuple(frozenset(item for item, n in counter.items() if n >= least) for counter in counters)


def meteor_relevance(
    captions: Captions, wordnet: WordNet, how: Normalisation, *, between_videos: bool = False
) -> Floats:
    """Return the relevance [N, M] by METEOR, captions of the row's video being the references.

    Of several captions: half the mean over the references of the best column caption, and half the mean over the
    column's captions of the best reference. The paper names a matching kernel and leaves its form open.
    """
    texts = [tokens(text, how) for text in captions.texts]
    scores = np.array([[meteor(one, other, wordnet) for other in texts] for one in texts])  # [captions, captions]
    rows = captions.by_video()
    columns = rows if between_videos else [[number] for number in range(len(texts))]
    return np.array([[_kernel(scores[np.ix_(row, column)]) for column in columns] for row in rows])


def _kernel(scores: Floats) -> float:
    return float(scores.max(axis=1).mean() + scores.max(axis=0).mean()) / 2


def with_own_captions(relevance: Floats, owners: Ints) -> Floats:
    """Return the relevance with 1 for a video's own captions (equation 5); the released script leaves the proxy's."""
    result = relevance.copy()
    result[owners, np.arange(len(owners))] = 1.0
    return result


class WordClasses:
    """Classes of words, as EPIC-KITCHENS-100 has them, in the place of senses.

    A lemma without a class gets one of its own, the number of words known so far; it keeps it.
    """

    def __init__(self, numbers: Mapping[str, int], lemma: Callable[[str], str]) -> None:
        self.numbers, self.lemma = dict(numbers), lemma

    def sense(self, word: str, context: frozenset[str]) -> int:
        """Return the class of a word; the sentence around it, ``context``, plays no part."""
        return self.numbers.setdefault(self.lemma(word), len(self.numbers))


def read_classes(path: Path) -> dict[str, int]:
    """Return the class of each word of a CSV file with the columns id, key and instances.

    Raises:
        UnreadableFile: there is no such file.
        MalformedFile: a column is missing, or a value is none.
        InvalidRecord: a word is in two classes.
    """
    numbers: dict[str, int] = {}
    with at(str(path)):
        try:
            with path.open(encoding="utf-8", newline="") as lines:
                rows = [
                    (int(row["id"]), [str(word) for word in literal_eval(row["instances"])])
                    for row in csv.DictReader(lines)
                ]
        except OSError as error:
            raise UnreadableFile(str(error)) from error
        except (KeyError, TypeError, ValueError, SyntaxError) as error:
            raise MalformedFile(f"expected the columns id, key and instances, a list of words: {error}") from error
        for number, words in rows:
            for word in words:
                if numbers.setdefault(word, number) != number:
                    raise InvalidRecord(f"{word!r} is in the classes {numbers[word]} and {number}")
    return numbers
