"""What features are made of, and the loop that makes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from moment_retrieval.errors import ScoringError
from moment_retrieval.features.stores import Rows
from moment_retrieval.features.writer import FeatureWriter

TOLD = 50  # failures that an outcome keeps with their reasons
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Film:
    """A video: its name in the corpus and its file, of whatever name."""

    name: str
    path: Path


@dataclass(frozen=True)
class Line:
    """What is said from ``start_s`` to ``end_s``, in seconds."""

    start_s: float
    end_s: float
    text: str


@dataclass(frozen=True)
class Speech:
    """What is said in a video of so many clips; nothing, it may be."""

    name: str
    clips: int
    lines: Sequence[Line] = ()


@dataclass(frozen=True)
class Sentence:
    """A query: its number as text, and its words."""

    name: str
    text: str


class Extractor(Protocol):
    """Makes the feature rows of films, speeches or sentences."""

    @property
    def name(self) -> str:
        """What made the features, with its version: kept beside them."""

    @property
    def width(self) -> int:
        """Numbers in a row."""

    @property
    def batch(self) -> int:
        """Items that it takes at a time."""

    def rows(self, items: Sequence[Any]) -> Iterator[Rows]:
        """The rows of each item [n, width], in order.

        Raises:
            ScoringError: no features can be made of the first item that is left, for the reason it says.
        """


@dataclass
class Outcome:
    """What became of an extraction.

    Attributes:
        made: items whose features were made now.
        kept: items whose features were there.
        failures: items without features; the first of them with their reasons in ``reasons``.
        stopped: whether it was asked to stop before the end.
    """

    made: int = 0
    kept: int = 0
    failures: int = 0
    reasons: dict[str, str] = field(default_factory=dict)
    stopped: bool = False

    def fail(self, name: str, reason: str) -> None:
        self.failures += 1
        if len(self.reasons) < TOLD:
            self.reasons[name] = reason


def extract(
    items: Iterable[Any],
    extractor: Extractor,
    writer: FeatureWriter,
    *,
    total: int = 0,
    on_progress: OnProgress | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Add the features of all items that the writer does not have; one bad file does not keep the others back.

    Args:
        items: films, speeches or sentences, as the extractor takes them; their names differ.
        extractor: makes the rows.
        writer: is left open: ``finish`` makes the file.
        total: of items, for progress.
        on_progress: called with items dealt with, and all.
        should_stop: asked between items; where it says so, what is done is kept and the rest is left.
    """
    outcome, waiting = Outcome(), iter(items)
    while taken := list(islice(waiting, extractor.batch)):
        if should_stop():
            outcome.stopped = True
            break
        wanted = [item for item in taken if item.name not in writer]
        outcome.kept += len(taken) - len(wanted)
        _make(wanted, extractor, writer, outcome)
        if on_progress:
            on_progress(outcome.made + outcome.kept + outcome.failures, total)
    return outcome


def _make(items: list[Any], extractor: Extractor, writer: FeatureWriter, outcome: Outcome) -> None:
    place = 0
    while place < len(items):
        try:
            for rows in extractor.rows(items[place:]):
                writer.add(items[place].name, rows)
                outcome.made += 1
                place += 1
        except ScoringError as error:
            outcome.fail(items[place].name, str(error))
            place += 1
