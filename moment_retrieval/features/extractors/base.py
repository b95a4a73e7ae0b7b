"""Sources of features, and the loop that extracts them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from moment_retrieval.errors import MissingModel, ScoringError
from moment_retrieval.features.attributes import Attributes
from moment_retrieval.features.files import FeatureWriter
from moment_retrieval.features.stores import Rows

MOST_REASONS = 50  # failures that an outcome keeps with their reasons
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Film:
    """A video: its name in the corpus and its file, of whatever name."""

    name: str
    path: Path


@dataclass(frozen=True)
class Line:
    """Words spoken from ``start_s`` to ``end_s``, in seconds."""

    start_s: float
    end_s: float
    text: str


@dataclass(frozen=True)
class Speech:
    """Speech in a video of ``clips`` clips; possibly none."""

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
        """Extractor and version: stored with the features."""

    @property
    def width(self) -> int:
        """Numbers in a row."""

    @property
    def attributes(self) -> Attributes:
        """How its features are made, for the file that keeps them (``features.attributes``)."""

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
    n_made: int = 0  # items whose features were made now
    n_present: int = 0  # items whose features were there
    failures: int = 0  # items without features; the first of them with their reasons in ``reasons``
    reasons: dict[str, str] = field(default_factory=dict)

    def fail(self, name: str, reason: str) -> None:
        self.failures += 1
        if len(self.reasons) < MOST_REASONS:
            self.reasons[name] = reason


def extract(
    items: Iterable[Any],
    extractor: Extractor,
    writer: FeatureWriter,
    *,
    total: int = 0,
    on_progress: OnProgress | None = None,
) -> Outcome:
    """Add the features of all items that the writer does not have; one bad file does not keep the others back.

    Args:
        items: films, speeches or sentences, as the extractor takes them; their names differ.
        writer: is left open: ``finish`` makes the file.
        on_progress: called with items dealt with, and all.
    """
    outcome, waiting = Outcome(), iter(items)
    while batch := list(islice(waiting, extractor.batch)):
        new_items = [item for item in batch if item.name not in writer]
        outcome.n_present += len(batch) - len(new_items)
        _make(new_items, extractor, writer, outcome)
        if on_progress:
            on_progress(outcome.n_made + outcome.n_present + outcome.failures, total)
    return outcome


def _make(items: list[Any], extractor: Extractor, writer: FeatureWriter, outcome: Outcome) -> None:
    index = 0
    while index < len(items):
        try:
            for rows in extractor.rows(items[index:]):
                writer.add(items[index].name, rows)
                outcome.n_made += 1
                index += 1
        except ScoringError as error:
            outcome.fail(items[index].name, str(error))
            index += 1


@dataclass(frozen=True)
class Setup:
    """How models are run."""

    device: str = "auto"  # a GPU where there is one; or torch's name of a device
    threads: int = 1

    def device_name(self) -> str:
        """Torch's name of the device; sets the threads. Raises MissingModel: a GPU is requested where there is none."""
        import torch

        torch.set_num_threads(self.threads)
        has_gpu = torch.cuda.is_available()
        if self.device.startswith("cuda") and not has_gpu:
            raise MissingModel(f"the device is {self.device!r}, and torch sees no GPU here")
        return ("cuda" if has_gpu else "cpu") if self.device == "auto" else self.device


DEFAULT = Setup()
