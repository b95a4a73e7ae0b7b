"""An export as pairs with their grades, and what is to be told of it. Pure."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, count
from typing import NamedTuple

from annotation.corpora.importers import ImportFileError
from annotation.corpora.importers.entries import BrokenJson, elements
from annotation.pools.rules.pooling import BATCH_SIZE
from judging.imports.label_studio.mapping import Mapped
from judging.imports.label_studio.reading import Elements, Given, Key, Outcome, Told

GRADES_KEPT = 4  # of a pair
OnTold = Callable[[Told], None]


class _Grade(NamedTuple):
    """``place`` is that in the file."""

    at: datetime
    place: int
    person: int | str
    grade: int
    line: int
    item: str


@dataclass
class Export:
    """What an export comes to: grades by pair, as (pair number, people, grades), and counts of what gave none."""

    pairs: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)  # of the query of a block of pairs, where fields name them
    tasks: int = 0
    refused: int = 0
    left_out: int = 0
    predictions: int = 0
    control: str = ""

    def counts(self) -> dict[str, int]:
        return {
            "tasks": self.tasks,
            "refused": self.refused,
            "left_out": self.left_out,
            "predictions": self.predictions,
        }


def read_export(parts: Iterable[str], mapped: Mapped, on_told: OnTold | None = None) -> Export:
    """Read a whole export; no more than one task of it is held at a time, beside the grades.

    Raises:
        ImportFileError: it is no list of tasks, or which control holds the grade cannot be told.
    """
    gathering = _Gathering(Export(), on_told or (lambda told: None))
    reader = Elements(mapped)
    try:
        for line, element in elements(parts):
            gathering.export.tasks += 1
            for item in reader.read(line, element):
                gathering.tell(item) if isinstance(item, Told) else gathering.take(item)
    except BrokenJson as error:
        raise ImportFileError(f"Line {error.line}: {error}. An export is a JSON list of tasks.") from error
    gathering.export.predictions, gathering.export.control = reader.predictions, reader.control
    return gathering.done()


class _Gathering:
    def __init__(self, export: Export, on_told: OnTold) -> None:
        self.export, self.on_told = export, on_told
        self.grades: dict[Key, list[_Grade]] = {}
        self.seen: set[object] = set()
        self.places = count()

    def tell(self, told: Told) -> None:
        if told.outcome == Outcome.REFUSED:
            self.export.refused += 1
        else:
            self.export.left_out += 1
        self.on_told(told)

    def take(self, given: Given) -> None:
        if isinstance(given.annotation, int | str):
            if given.annotation in self.seen:
                self.tell(Told(given.line, given.item, Outcome.REFUSED, "this annotation stands in the file before"))
                return
            self.seen.add(given.annotation)
        held = self.grades.setdefault(given.key, [])
        held.append(_Grade(given.at, next(self.places), given.person, given.grade, given.line, given.item))

    def done(self) -> Export:
        """Pairs by number; each with its first four grades, the others told."""
        numbers = dict(zip(self.grades, self._numbers(), strict=True))
        people = _people(grade.person for held in self.grades.values() for grade in held)
        for key, held in sorted(self.grades.items(), key=lambda entry: numbers[entry[0]]):
            held.sort(key=lambda grade: (grade.at, grade.place))
            first = held[:GRADES_KEPT]
            for grade in held[GRADES_KEPT:]:
                self._too_many(numbers[key], grade)
            pair = (numbers[key], tuple(people[one.person] for one in first), tuple(one.grade for one in first))
            self.export.pairs.append(pair)
        return self.export

    def _too_many(self, pair: int, grade: _Grade) -> None:
        reason = f"pair {pair} has four earlier grades, and more make no pair"
        self.tell(Told(grade.line, grade.item, Outcome.REFUSED, reason))

    def _numbers(self) -> Iterator[int]:
        """The pair number of each key; those that fields name fill blocks of 20, each of one query, as they come."""
        blocks: dict[str, tuple[int, int]] = {}  # the block that a query fills, and how many pairs it has
        free, taken = count(), set[str]()
        for key in self.grades:
            if isinstance(key, int):
                yield key
                continue
            block, filled = blocks.get(key[0], (0, BATCH_SIZE))
            if filled == BATCH_SIZE:
                block, filled = next(free), 0
                parts = (f"{key[0]} ({part})" for part in count(2))
                text = next(text for text in chain([key[0]], parts) if text not in taken)
                taken.add(text)
                self.export.texts[block] = text
            blocks[key[0]] = (block, filled + 1)
            yield block * BATCH_SIZE + filled


def _people(named: Iterable[int | str]) -> dict[int | str, int]:
    """Everybody's number: their own, or for those known by an address the next that is free, as they come."""
    found = dict.fromkeys(named)
    numbers = {person: person for person in found if isinstance(person, int)}
    free = count(max(numbers, default=0) + 1)
    return {person: person if isinstance(person, int) else next(free) for person in found}
