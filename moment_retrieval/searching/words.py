"""Typed words to the rows that a model reads, by what made its query features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from moment_retrieval.errors import ScoringError
from moment_retrieval.features.extractors import EXTRACTORS, Kind, Sentence, Setup, Way, extractor_of
from moment_retrieval.features.stores import Rows

ADVICE = "If they are an official file, say on the page Features which text model made it"


class UnknownWords(ScoringError):
    """Nobody can make features of typed words as those of the training were made."""


@dataclass(frozen=True)
class WordsBy:
    """What makes the query features: a way of ``features.extractors``, and the model it asks for."""

    way: str
    model: str = ""


class Words:
    """An extractor of query features, loaded."""

    def __init__(self, by: WordsBy, *, setup: Setup | None = None) -> None:
        """Raises UnknownWords, MissingModel."""
        if not can_read(by.way):
            raise UnknownWords(f"it is not known what made the query features of this training. {ADVICE}")
        self._extractor: Any = extractor_of(Way(by.way), Kind.QUERY, model=by.model, setup=setup or Setup(device="cpu"))

    @property
    def name(self) -> str:
        return str(self._extractor.name)

    @property
    def width(self) -> int:
        return int(self._extractor.width)

    def rows(self, text: str) -> Rows:
        """One row for each token [n, width]."""
        rows: Rows = next(iter(self._extractor.rows([Sentence("typed", text)])))
        return rows


def can_read(way: str) -> bool:
    """Whether a way makes features of queries."""
    return any(way == one.value and Kind.QUERY in about.kinds for one, about in EXTRACTORS.items())
