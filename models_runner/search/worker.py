"""What the worker of the queue `search` keeps in memory between queries: text models, and trainings with their indexes.

Nothing of it is imported by the process that serves pages: torch stays out of there.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from moment_retrieval.searching.corpora import Held

if TYPE_CHECKING:
    from moment_retrieval.searching.queries import Words
    from moment_retrieval.searching.searchers import Searcher

Stamp = tuple[int, int]
TEXT_MODELS = 2  # at once, with the trainings that read words by them: CONQUER and its candidates may read by two


@dataclass(frozen=True)
class Source:
    """A training to search with.

    Attributes:
        folder: where it lies.
        way, model: what made its query features; made_by: its name with its version.
        is_said: people say that it made them.
        first: CONQUER's: whose best videos it looks into.
    """

    folder: Path
    way: str
    model: str
    made_by: str
    is_said: bool = False
    first: Source | None = None


def searcher_of(source: Source) -> Searcher:
    """The training, loaded now or kept from an earlier query. Raises ScoringError."""
    _words(source)  # so that it counts as asked for
    first = None if source.first is None else searcher_of(source.first)
    needs = (_text(source), _key(source.first)) if source.first else (_text(source),)
    searcher: Searcher = _held().get(_key(source), lambda: _opened(source, first), needs=needs)
    return searcher


def _opened(source: Source, first: Searcher | None) -> Searcher:
    from moment_retrieval.searching.searchers import CandidateSearcher, CorpusSearcher

    if first is None:
        return CorpusSearcher.open(source.folder, _words(source), source.made_by, is_said=source.is_said)
    assert isinstance(first, CorpusSearcher)
    return CandidateSearcher.open(source.folder, _words(source), first, source.made_by, is_said=source.is_said)


@cache
def _held() -> Held[Any]:
    return Held(settings.SEARCH_MEMORY_MB * 2**20)


@cache
def _texts() -> Held[Words]:
    return Held(TEXT_MODELS, size=lambda _: 1, on_drop=lambda key: _held().drop(key))


def _words(source: Source) -> Words:
    from moment_retrieval.searching.queries import Words, WordsBy

    return _texts().get(_text(source), lambda: Words(WordsBy(source.way, source.model)))


def _text(source: Source) -> Hashable:
    return source.way, source.model


def _key(source: Source) -> Hashable:
    return source, _stamp(source), _key(source.first) if source.first else None


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
    _texts.cache_clear()
