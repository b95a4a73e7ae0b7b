"""What a word means in its sentence: a sense of WordNet chosen by Lesk, or a class of a table."""

import ast
import csv
from collections.abc import Hashable, Iterable, Mapping
from enum import StrEnum
from typing import Protocol

from annotation.similarity.wordnet import Sense, WordNet


class Ties(StrEnum):
    """Which of the senses wins that share the same number of words with the sentence."""

    FIRST = "nltk-3.10"  # the most frequent one
    LAST_NAME = "nltk-3.5"  # the one whose name is last in the alphabet: what the published matrices hold


class Senses(Protocol):
    def sense(self, word: str, context: frozenset[str]) -> Hashable:
        """What ``word`` means among the words of its sentence."""


class WordNetSenses:
    """Lesk's choice: the sense whose definition shares most words with the sentence; a word of no sense is its own."""

    def __init__(self, wordnet: WordNet, part: str, ties: Ties = Ties.FIRST) -> None:
        self.wordnet, self.part, self.ties = wordnet, part, ties

    def sense(self, word: str, context: frozenset[str]) -> str:
        senses = self.wordnet.senses(self.wordnet.lemma(word, self.part), self.part)
        return max(senses, key=lambda sense: self._merit(sense, context)).name if senses else word

    def _merit(self, sense: Sense, context: frozenset[str]) -> tuple[int, str]:
        shared = len(context & sense.definition)
        return (shared, sense.name if self.ties is Ties.LAST_NAME else "")


class ClassTable:
    """Classes of lemmas; a lemma without gets a new class, whose number is that of the words known so far."""

    def __init__(self, wordnet: WordNet, part: str, classes: Mapping[str, int]) -> None:
        self.wordnet, self.part, self.classes = wordnet, part, dict(classes)

    def sense(self, word: str, context: frozenset[str]) -> int:
        return self.classes.setdefault(self.wordnet.lemma(word, self.part), len(self.classes))


def read_classes(lines: Iterable[str]) -> dict[str, int]:
    """Class of each word of a CSV with columns ``id`` and ``instances``, a list of words as Python writes it.

    Raises:
        ValueError: a word is in two classes.
    """
    classes: dict[str, int] = {}
    for row in csv.DictReader(lines):
        for word in ast.literal_eval(row["instances"]):
            if classes.setdefault(word, int(row["id"])) != int(row["id"]):
                raise ValueError(f"{word!r} is in class {classes[word]} and in class {row['id']}.")
    return classes
