"""What the worker of the queue `search` keeps in memory between queries: text models, and trainings with their indexes.

Nothing of it is imported by the process that serves pages: torch stays out of there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from models_runner.retrieval.searching.held import Held

if TYPE_CHECKING:
    from models_runner.retrieval.searching.searchers import Searcher
    from models_runner.retrieval.searching.words import Words

Stamp = tuple[int, int]


@dataclass(frozen=True)
class Source:
    """A training to search with.

    Attributes:
        folder: where it lies.
        way, model: what made its query features; made_by: its name with its version.
        first: CONQUER's: whose best videos it looks into.
    """

    folder: Path
    way: str
    model: str
    made_by: str
    first: Source | None = None


def searcher_of(source: Source) -> Searcher:
    """The training, loaded now or kept from an earlier query. Raises ScoringError."""
    searcher: Searcher = _held().get((source, _stamp(source)), lambda: _opened(source))
    return searcher


def _opened(source: Source) -> Searcher:
    from models_runner.retrieval.searching.searchers import CandidateSearcher, CorpusSearcher

    words = _words(source.way, source.model)
    if source.first is None:
        return CorpusSearcher.open(source.folder, words, source.made_by)
    first = searcher_of(source.first)
    assert isinstance(first, CorpusSearcher)
    return CandidateSearcher.open(source.folder, words, first, source.made_by)


@cache
def _held() -> Held[tuple[Source, Stamp], Any]:
    return Held(settings.SEARCH_MEMORY_MB * 2**20)


@cache
def _words(way: str, model: str) -> Words:
    from models_runner.retrieval.searching.words import Words, WordsBy

    return Words(WordsBy(way, model))


def _stamp(source: Source) -> Stamp:
    """Of the best weights: others that lie there later are loaded anew."""
    try:
        told = (source.folder / "best" / "weights.safetensors").stat()
    except OSError:
        return (0, 0)
    return (told.st_mtime_ns, told.st_size)


def forget() -> None:
    """Let go of everything."""
    _held.cache_clear()
    _words.cache_clear()
