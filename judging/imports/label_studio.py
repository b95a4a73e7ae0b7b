"""Read exports of Label Studio into pairs with their grades. Pure.

It is read piece by piece: an element is a task with its annotations (the full form) or one annotation (JSON-MIN).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain, count
from typing import Any

from annotation.corpora.importers.base import ImportFileError
from annotation.corpora.importers.fields import BrokenJson, elements
from annotation.pools.rules import BATCH_SIZE
from core.exceptions import NotPossible
from core.texts import storable
from judging.work.rules import TVR_RANKING, Rules

TYPES = ("rating", "choices", "number")  # controls whose value can be a grade


class BadMapping(NotPossible):
    """It does not say what has to be known; the message says why in plain words."""


@dataclass(frozen=True)
class Mapped:
    """Which field of a task's data names the pair, or the query and the moment; which control holds the grade.

    ``control`` may be empty where an export has only one. ``grades`` says what a value means; without any, values are
    the grades, of the scale of ``rules``.
    """

    pair: str = ""
    query: str = ""
    moment: str = ""
    control: str = ""
    grades: Mapping[str, int] = field(default_factory=dict)
    rules: Rules = TVR_RANKING

    def grade_of(self, value: object) -> int:
        """The grade that a control's value means. Raises ValueError where it means none."""
        text = _text(value)
        if self.grades:
            if text not in self.grades:
                raise ValueError(f"the value {text[:60]!r} is mapped to no grade")
            return self.grades[text]
        if text not in {str(grade) for grade in self.rules.grades}:
            raise ValueError(f"the value {text[:60]!r} is no grade from 0 to {self.rules.top_grade}")
        return int(text)


def mapped(
    *,
    pair: str = "",
    query: str = "",
    moment: str = "",
    control: str = "",
    grades: Iterable[str] = (),
    rules: Rules = TVR_RANKING,
) -> Mapped:
    """A mapping from what somebody wrote; ``grades`` are lines such as ``Perfect=4``. Raises BadMapping where the pair
    is not named, or named twice, or a line is no ``value=grade``."""
    pair, query, moment, control = (name.strip() for name in (pair, query, moment, control))
    if pair and (query or moment):
        raise BadMapping("Name either the field of the pair, or those of the query and the moment.")
    if not pair and not (query and moment):
        raise BadMapping("Name the field that holds the pair, or those of the query and of the moment.")
    return Mapped(pair, query, moment, control, dict(_graded(line, rules) for line in grades if line.strip()), rules)


def _graded(line: str, rules: Rules) -> tuple[str, int]:
    value, equals, grade = line.rpartition("=")
    if not equals or not value.strip() or grade.strip() not in {str(level) for level in rules.grades}:
        advice = f"write it as Perfect={rules.top_grade}; grades go from 0 to {rules.top_grade}"
        raise BadMapping(f"{line.strip()[:80]!r} does not say which grade a value is: {advice}.")
    return value.strip(), int(grade)


def _text(value: object) -> str:
    """A number without a point where it is whole."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


LARGEST_PAIR, LARGEST_PERSON = 2**53, 2**31 - 1
LONGEST_NAME = 500  # of a query, moment or control
NAMES_SHOWN, NUMBER_SHOWN = 10, 40  # names of controls; characters of a number
OF_MIN = ("annotation_id", "annotator")  # only that form has these beside the data
OF_TASK = ("id", "created_at", "updated_at", "lead_time")  # beside them, of every task
Key = int | tuple[str, str]


class Outcome(StrEnum):
    """Outcomes of an annotation that gives no judgment."""

    REFUSED = "refused"  # something is wrong with it
    LEFT_OUT = "left out"  # as whoever made it meant: skipped, a draft


@dataclass(frozen=True)
class ExportedGrade:
    """One grade; ``person`` is a number, or for those named by an e-mail address the address, which is kept nowhere."""

    line: int
    item: str
    person: int | str
    grade: int
    at: datetime


@dataclass(frozen=True)
class Ungraded:
    line: int
    item: str
    outcome: Outcome
    reason: str


OnUngraded = Callable[[Ungraded], None]


class Export:
    """Content of an export, read element by element: grades by pair, and counts of what gave none.

    Args:
        on_ungraded: called with each annotation that gives no judgment.
    """

    def __init__(self, mapped: Mapped, on_ungraded: OnUngraded) -> None:
        self.mapped, self.control = mapped, mapped.control  # found in the file where none is named
        self.on_ungraded = on_ungraded
        self.counts = {"tasks": 0, "refused": 0, "left_out": 0, "predictions": 0}
        self.pairs: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = []  # number, people, grades
        self.texts: dict[int, str] = {}  # of the query of a block of pairs, where fields name them
        self.grades: dict[Key, list[ExportedGrade]] = {}
        self.seen: set[object] = set()

    def read(self, line: int, element: object) -> None:
        self.counts["tasks"] += 1
        if not isinstance(element, dict):
            self._report(line, "", "no task: an object is expected")
        elif isinstance(element.get("data"), dict) and not any(name in element for name in OF_MIN):
            self._read_task(line, element)
        else:
            self._read_annotation(line, element, f"task {_number(element.get('id'))}", element, element)

    def _report(self, line: int, item: str, reason: str, outcome: Outcome = Outcome.REFUSED) -> None:
        self.counts[outcome.name.lower()] += 1
        self.on_ungraded(Ungraded(line, item, outcome, reason))

    def _read_task(self, line: int, task: Mapping[str, Any]) -> None:
        rows = task.get("annotations", task.get("completions"))  # what old exports call them
        name = f"task {_number(task.get('id'))}"
        if not isinstance(rows, list):
            self._report(line, name, "the task holds no list of annotations")
            return
        self.counts["predictions"] += _length(task.get("predictions"))
        for draft in range(_length(task.get("drafts"))):
            self._report(line, f"{name}, draft {draft + 1}", "a draft that was never submitted", Outcome.LEFT_OUT)
        for row in rows:
            if isinstance(row, dict):
                item = f"{name}, annotation {_number(row.get('id'))}"
                self._read_annotation(line, row, item, task["data"], None)
            else:
                self._report(line, name, "an annotation without its content; export tasks as JSON")

    def _read_annotation(
        self, line: int, row: Mapping[str, Any], item: str, data: Mapping[str, Any], flat: Mapping[str, Any] | None
    ) -> None:
        """``flat`` is the element itself where the controls are named in it."""
        if row.get("was_cancelled") or row.get("skipped"):
            self._report(line, item, "skipped by its annotator", Outcome.LEFT_OUT)
            return
        try:
            value = self._value(row.get("result")) if flat is None else self._flat_value(flat)
            person = _person(row.get("completed_by") if flat is None else flat.get("annotator"))
            grade = self.mapped.grade_of(value)
            key = self._key(data)
            number = row.get("id") if flat is None else flat.get("annotation_id")
            if isinstance(number, int | str) and number in self.seen:
                raise ValueError("this annotation stands in the file before")
        except ValueError as error:
            self._report(line, item, str(error))
            return
        if isinstance(number, int | str):
            self.seen.add(number)
        self.grades.setdefault(key, []).append(ExportedGrade(line, item, person, grade, _time(row.get("created_at"))))

    def _value(self, result: object) -> object:
        """Return the control's value in a list of results; the same value for several regions is one."""
        regions = result if isinstance(result, list) else []
        graded = [one for one in regions if isinstance(one, dict) and one.get("type") in TYPES]
        graded = [one for one in graded if isinstance(one.get("value"), dict)]
        names = {_control(one.get("from_name")) for one in graded}
        if not self.control and len(names) > 1:
            raise ImportFileError(f"Several controls could hold the grade: {_listed(sorted(names))}. Say which one.")
        if not self.control and names:
            (self.control,) = names
        values = [one["value"].get(one["type"]) for one in graded if _control(one.get("from_name")) == self.control]
        return _single(values)

    def _flat_value(self, element: Mapping[str, Any]) -> object:
        if not self.control:
            names = [name for name, value in element.items() if _looks_rated(value)]
            if len(names) != 1:
                could = _listed(names or self._possible(element))
                which = f"could be {could}" if could else "none was found that holds one of the values"
                raise ImportFileError(f"This is the JSON-MIN form: say which control holds the grade ({which}).")
            (self.control,) = map(_control, names)
        value = next((value for name, value in element.items() if _control(name) == self.control), None)
        values = value if isinstance(value, list) else [] if value is None else [value]
        return _single([_of_control(one) for one in values])

    def _possible(self, element: Mapping[str, Any]) -> list[str]:
        """Fields that could be the control's: their value means a grade."""
        other_fields = {*OF_MIN, *OF_TASK, self.mapped.pair, self.mapped.query, self.mapped.moment}
        names = []
        for name in element:
            with suppress(ValueError):
                self.mapped.grade_of(_single([_of_control(element[name])]))
                names.append(name)
        return [name for name in names if name not in other_fields]

    def _key(self, data: Mapping[str, Any]) -> Key:
        if self.mapped.pair:
            return _pair_number(data.get(self.mapped.pair), self.mapped.pair)
        return _name(data, self.mapped.query), _name(data, self.mapped.moment)

    def finish(self) -> None:
        """Number the pairs; each has as many grades as its rounds ask for, the others are refused."""
        most_grades = self.mapped.rules.most_grades
        numbers = dict(zip(self.grades, self._numbers(), strict=True))
        people = _people(grade.person for grades in self.grades.values() for grade in grades)
        for key, grades in sorted(self.grades.items(), key=lambda entry: numbers[entry[0]]):
            grades.sort(key=lambda grade: grade.at)  # stable: at the same time, as they stand in the file
            first = grades[:most_grades]
            for grade in grades[most_grades:]:
                reason = f"pair {numbers[key]} has {most_grades} earlier grades, and more make no pair"
                self._report(grade.line, grade.item, reason)
            pair = (numbers[key], tuple(people[one.person] for one in first), tuple(one.grade for one in first))
            self.pairs.append(pair)

    def _numbers(self) -> Iterator[int]:
        """The pair number of each key; those that fields name fill blocks of 20, each of one query, as they come."""
        blocks: dict[str, tuple[int, int]] = {}  # the block that a query fills, and how many pairs it has
        free, block_texts = count(), set[str]()
        for key in self.grades:
            if isinstance(key, int):
                yield key
                continue
            block, filled = blocks.get(key[0], (0, BATCH_SIZE))
            if filled == BATCH_SIZE:
                block, filled = next(free), 0
                parts = (f"{key[0]} ({part})" for part in count(2))
                text = next(text for text in chain([key[0]], parts) if text not in block_texts)
                block_texts.add(text)
                self.texts[block] = text
            blocks[key[0]] = (block, filled + 1)
            yield block * BATCH_SIZE + filled


def _control(name: object) -> str:
    """The name of a control as it is shown and stored."""
    return storable(str(name))[:LONGEST_NAME]


def _listed(names: Sequence[str]) -> str:
    some = ", ".join(_control(name) for name in names[:NAMES_SHOWN])
    return f"{some} and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else some


def _number(value: object) -> str:
    """Return an export's number of a task or an annotation, short enough to be repeated in a report."""
    return storable(str(value))[:NUMBER_SHOWN] if isinstance(value, int | str | None) else "of no number"


def _of_control(value: object) -> object:
    """JSON-MIN keeps some values as the control gave them: {"rating": 4}."""
    if not isinstance(value, dict):
        return value
    return next((value[kind] for kind in TYPES if kind in value), None)


def _looks_rated(value: object) -> bool:
    """Only a control gives such a list; a choice in words could be anything of the data."""
    return isinstance(value, list) and any(isinstance(one, dict) and _of_control(one) is not None for one in value)


def _single(values: list[object]) -> object:
    flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
    if not flat or flat == [None]:
        raise ValueError("it holds no grade")
    if any(one != flat[0] for one in flat):
        raise ValueError("it holds several values where one grade is expected")
    if isinstance(flat[0], bool | dict) or flat[0] is None:
        raise ValueError("its value is neither a number nor a choice")
    return flat[0]


def _person(person: object) -> int | str:
    """The number Label Studio knows somebody by; or their address, if that is all it says."""
    if isinstance(person, dict):
        person = person.get("email") if person.get("id") is None else person["id"]
    if isinstance(person, str) and person.strip():
        person = int(person) if person.strip().isdecimal() and len(person.strip()) < 12 else person.strip().lower()
    if isinstance(person, int) and not isinstance(person, bool):
        if not 0 <= person <= LARGEST_PERSON:
            raise ValueError("the number of its annotator is negative or too large")
        return person
    if not isinstance(person, str) or not person:
        raise ValueError("nobody is named as its annotator")
    return person


def _pair_number(value: object, field: str) -> int:
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not text.isdecimal() or len(text) > 17 or int(text) > LARGEST_PAIR:
        raise ValueError(f"the field {field!r} of its data holds no pair number")
    return int(text)


def _name(data: Mapping[str, Any], field: str) -> str:
    value = data.get(field)
    raw_text = str(value) if isinstance(value, int | str) else ""
    text = raw_text.encode("utf-8", "replace").decode().replace("\0", "").strip()
    if not text or len(text) > LONGEST_NAME:
        raise ValueError(f"the field {field!r} of its data holds no name of 1 to {LONGEST_NAME} characters")
    return text


def _time(text: object) -> datetime:
    """Read a time; one that cannot be read comes first."""
    try:
        read = datetime.fromisoformat(text) if isinstance(text, str) else datetime.min
    except ValueError:
        read = datetime.min
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


def read_export(parts: Iterable[str], mapped: Mapped, on_ungraded: OnUngraded | None = None) -> Export:
    """Read a whole export; no more than one task of it is held at a time, beside the grades. Raises ImportFileError
    where it is no list of tasks, or the control that holds the grade is ambiguous."""
    export = Export(mapped, on_ungraded or (lambda annotation: None))
    try:
        for line, element in elements(parts):
            export.read(line, element)
    except BrokenJson as error:
        raise ImportFileError(f"Line {error.line}: {error}. An export is a JSON list of tasks.") from error
    export.finish()
    return export


def _people(persons: Iterable[int | str]) -> dict[int | str, int]:
    """Everybody's number: their own, or for those known by an address the next that is free, as they come."""
    people = dict.fromkeys(persons)
    free = count(max((person for person in people if isinstance(person, int)), default=0) + 1)
    return {person: person if isinstance(person, int) else next(free) for person in people}
