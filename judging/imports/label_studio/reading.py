"""One element of an export: a task with its annotations (the full form), or one annotation (JSON-MIN). Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from annotation.corpora.importers import ImportFileError
from core.texts import storable
from judging.imports.label_studio.mapping import TYPES, Mapped

LARGEST_PAIR, LARGEST_PERSON = 2**53, 2**31 - 1
LONGEST_NAME = 500  # of a query, moment or control
NAMES_SHOWN, NUMBER_SHOWN = 10, 40  # names of controls; characters of a number
OF_MIN = ("annotation_id", "annotator")  # only that form has these beside the data
OF_TASK = ("id", "created_at", "updated_at", "lead_time")  # beside them, of every task
Key = int | tuple[str, str]


class Outcome(StrEnum):
    """What becomes of an annotation that gives no judgment."""

    REFUSED = "refused"  # something is wrong with it
    LEFT_OUT = "left out"  # as whoever made it meant: skipped, a draft


@dataclass(frozen=True)
class Given:
    """One grade; ``person`` is a number, or for those named by an e-mail address the address, which is kept nowhere."""

    line: int
    item: str
    annotation: object
    key: Key
    person: int | str
    grade: int
    at: datetime


@dataclass(frozen=True)
class Told:
    line: int
    item: str
    outcome: Outcome
    reason: str


class Elements:
    """Reads element after element; it remembers which control holds the grades."""

    def __init__(self, mapped: Mapped) -> None:
        self.mapped, self.control = mapped, mapped.control
        self.predictions = 0

    def read(self, line: int, element: object) -> Iterator[Given | Told]:
        if not isinstance(element, dict):
            yield Told(line, "", Outcome.REFUSED, "no task: an object is expected")
        elif isinstance(element.get("data"), dict) and not any(name in element for name in OF_MIN):
            yield from self._task(line, element)
        else:
            yield self._annotation(line, element, f"task {_number(element.get('id'))}", element, element)

    def _task(self, line: int, task: Mapping[str, Any]) -> Iterator[Given | Told]:
        held = task.get("annotations", task.get("completions"))  # what old exports call them
        name = f"task {_number(task.get('id'))}"
        if not isinstance(held, list):
            yield Told(line, name, Outcome.REFUSED, "the task holds no list of annotations")
            return
        self.predictions += _length(task.get("predictions"))
        for draft in range(_length(task.get("drafts"))):
            yield Told(line, f"{name}, draft {draft + 1}", Outcome.LEFT_OUT, "a draft that was never submitted")
        for row in held:
            if isinstance(row, dict):
                yield self._annotation(line, row, f"{name}, annotation {_number(row.get('id'))}", task["data"], None)
            else:
                yield Told(line, name, Outcome.REFUSED, "an annotation without its content; export tasks as JSON")

    def _annotation(
        self, line: int, row: Mapping[str, Any], item: str, data: Mapping[str, Any], flat: Mapping[str, Any] | None
    ) -> Given | Told:
        """``flat`` is the element itself where the controls are named in it."""
        if row.get("was_cancelled") or row.get("skipped"):
            return Told(line, item, Outcome.LEFT_OUT, "skipped by its annotator")
        try:
            value = self._value(row.get("result")) if flat is None else self._flat_value(flat)
            person = _person(row.get("completed_by") if flat is None else flat.get("annotator"))
            grade = self.mapped.grade_of(value)
            key = self._key(data)
        except ValueError as error:
            return Told(line, item, Outcome.REFUSED, str(error))
        number = row.get("id") if flat is None else flat.get("annotation_id")
        return Given(line, item, number, key, person, grade, _time(row.get("created_at")))

    def _value(self, result: object) -> object:
        """What the control says in a list of results; the same value for several regions is one."""
        found = [one for one in result or [] if _holds_a_grade(one)] if isinstance(result, list) else []
        names = {_control(one.get("from_name")) for one in found}
        if not self.control and len(names) > 1:
            raise ImportFileError(f"Several controls could hold the grade: {_listed(sorted(names))}. Say which one.")
        if not self.control and names:
            (self.control,) = names
        values = [one["value"].get(one["type"]) for one in found if _control(one.get("from_name")) == self.control]
        return _single(values)

    def _flat_value(self, element: Mapping[str, Any]) -> object:
        if not self.control:
            named = [name for name, value in element.items() if _looks_rated(value)]
            if len(named) != 1:
                raise ImportFileError(_which_control(named or self._possible(element)))
            (self.control,) = map(_control, named)
        value = next((value for name, value in element.items() if _control(name) == self.control), None)
        values = value if isinstance(value, list) else [] if value is None else [value]
        return _single([_of_control(one) for one in values])

    def _possible(self, element: Mapping[str, Any]) -> list[str]:
        """Fields that could be the control's: their value means a grade."""
        known = {*OF_MIN, *OF_TASK, self.mapped.pair, self.mapped.query, self.mapped.moment}
        return [name for name, value in element.items() if name not in known and self._is_graded(value)]

    def _is_graded(self, value: object) -> bool:
        try:
            self.mapped.grade_of(_single([_of_control(value)]))
        except ValueError:
            return False
        return True

    def _key(self, data: Mapping[str, Any]) -> Key:
        if self.mapped.pair:
            return _pair_number(data.get(self.mapped.pair), self.mapped.pair)
        return _name(data, self.mapped.query), _name(data, self.mapped.moment)


def _which_control(found: Sequence[str]) -> str:
    could = f"could be {_listed(found)}" if found else "none was found that holds one of the values"
    return f"This is the JSON-MIN form: say which control holds the grade ({could})."


def _control(name: object) -> str:
    """The name of a control as it is shown and stored."""
    return storable(str(name))[:LONGEST_NAME]


def _listed(names: Sequence[str]) -> str:
    some = ", ".join(_control(name) for name in names[:NAMES_SHOWN])
    return f"{some} and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else some


def _number(value: object) -> str:
    """What an export calls a task or an annotation, short enough to be repeated in a report."""
    return storable(str(value))[:NUMBER_SHOWN] if isinstance(value, int | str | None) else "of no number"


def _holds_a_grade(result: object) -> bool:
    return isinstance(result, dict) and result.get("type") in TYPES and isinstance(result.get("value"), dict)


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


def _person(named: object) -> int | str:
    """The number Label Studio knows somebody by; or their address, if that is all it says."""
    if isinstance(named, dict):
        named = named.get("email") if named.get("id") is None else named["id"]
    if isinstance(named, str) and named.strip():
        named = int(named) if named.strip().isdecimal() and len(named.strip()) < 12 else named.strip().lower()
    if isinstance(named, int) and not isinstance(named, bool):
        if not 0 <= named <= LARGEST_PERSON:
            raise ValueError("the number of its annotator is negative or too large")
        return named
    if not isinstance(named, str) or not named:
        raise ValueError("nobody is named as its annotator")
    return named


def _pair_number(value: object, field: str) -> int:
    text = str(value).strip() if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not text.isdecimal() or len(text) > 17 or int(text) > LARGEST_PAIR:
        raise ValueError(f"the field {field!r} of its data holds no pair number")
    return int(text)


def _name(data: Mapping[str, Any], field: str) -> str:
    value = data.get(field)
    written = str(value) if isinstance(value, int | str) else ""
    text = written.encode("utf-8", "replace").decode().replace("\0", "").strip()
    if not text or len(text) > LONGEST_NAME:
        raise ValueError(f"the field {field!r} of its data holds no name of 1 to {LONGEST_NAME} characters")
    return text


def _time(text: object) -> datetime:
    """What cannot be read comes first."""
    try:
        read = datetime.fromisoformat(text) if isinstance(text, str) else datetime.min
    except ValueError:
        read = datetime.min
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0
