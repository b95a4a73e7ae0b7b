"""Memory of the worker of the queue `search` between queries: text models, and trainings with their indexes.
Nothing of it is imported by the process that serves pages: torch stays out of there."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from django.conf import settings

if TYPE_CHECKING:
    from moment_retrieval.answers import Words
    from moment_retrieval.searchers import Searcher

Stamp = tuple[int, int]
Value = TypeVar("Value")
TEXT_MODELS = 2  # at once, with the trainings that read words by them: CONQUER and its candidates may read by two


@dataclass(frozen=True)
class SearchableTraining:
    folder: Path
    extractor: str = ""  # extractor and model: what made its query features; made_by: its name with its version
    model: str = ""
    made_by: str = ""
    is_assumed: bool = False  # people say that it made them
    layer: int = -1  # of the text model, counted from the last
    first: SearchableTraining | None = None  # of CONQUER: whose best videos it looks into


def searcher_of(source: SearchableTraining) -> Searcher:
    """The training, loaded now or kept from an earlier query. Raises ScoringError."""
    _words(source)  # so that it counts as used
    first = None if source.first is None else searcher_of(source.first)
    needs = (_text(source), _key(source.first)) if source.first else (_text(source),)
    searcher: Searcher = _searchers().get(_key(source), lambda: _opened(source, first), needs=needs)
    return searcher


def _opened(source: SearchableTraining, first: Searcher | None) -> Searcher:
    from moment_retrieval.searchers import CandidateSearcher, CorpusSearcher

    if first is None:
        return CorpusSearcher.open(source.folder, _words(source), source.made_by, is_assumed=source.is_assumed)
    assert isinstance(first, CorpusSearcher)
    return CandidateSearcher.open(source.folder, _words(source), first, source.made_by, is_assumed=source.is_assumed)


@cache
def _searchers() -> ValueCache[Any]:
    return ValueCache(settings.SEARCH_MEMORY_MB * 2**20)


@cache
def _texts() -> ValueCache[Words]:
    return ValueCache(TEXT_MODELS, size=lambda _: 1, on_drop=lambda key: _searchers().drop(key))


def _words(source: SearchableTraining) -> Words:
    from moment_retrieval.answers import Words

    return _texts().get(_text(source), lambda: Words(source.extractor, source.model, layer=source.layer))


def _text(source: SearchableTraining) -> Hashable:
    return source.extractor, source.model, source.layer


def _key(source: SearchableTraining) -> Hashable:
    return source, _stamp(source), _key(source.first) if source.first else None


def _stamp(source: SearchableTraining) -> Stamp:
    """Of the best weights: others that lie there later are loaded anew."""
    try:
        stat = (source.folder / "best" / "weights.safetensors").stat()
    except OSError:
        return (0, 0)
    return (stat.st_mtime_ns, stat.st_size)


class ValueCache(Generic[Value]):
    """Values by key, of ``limit`` bytes together; one that is larger is kept alone, with what it needs."""

    def __init__(
        self,
        limit: int,
        *,
        size: Callable[[Any], int] = attrgetter("nbytes"),
        on_drop: Callable[[Hashable], object] = lambda key: None,
    ) -> None:
        self.limit = limit
        self._size, self._on_drop = size, on_drop
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._needs: dict[Hashable, tuple[Hashable, ...]] = {}

    def get(self, key: Hashable, make: Callable[[], Value], *, needs: tuple[Hashable, ...] = ()) -> Value:
        """Return the value of a key, made if it is missing. ``needs`` are keys of values that it uses: they stay as
        long as it does, and it goes when one of them goes."""
        if key not in self._values:
            self._values[key] = make()
        self._needs[key] = needs
        pinned = (*(one for one in needs if one in self), key)
        for one in pinned:
            self._values.move_to_end(one)
        while self.nbytes > self.limit and (oldest := next(iter(self._values))) not in pinned:
            self.drop(oldest)
        return self._values[key]

    def drop(self, key: Hashable) -> None:
        """Let go of a value and of those that need it, here or elsewhere."""
        for other in [other for other, needs in self._needs.items() if key in needs]:
            self.drop(other)
        if key in self:
            del self._values[key], self._needs[key]
            self._on_drop(key)

    @property
    def nbytes(self) -> int:
        return sum(map(self._size, self._values.values()))

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)
