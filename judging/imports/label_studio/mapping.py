"""What of an export means what. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from judging.work.rules import GRADES

TYPES = ("rating", "choices", "number")  # controls whose value can be a grade


class BadMapping(ValueError):
    """It does not say what has to be known; the message says why in plain words."""


@dataclass(frozen=True)
class Mapped:
    """Which field of a task's data names the pair, or the query and the moment; which control holds the grade.

    ``control`` may be empty where an export has only one. ``grades`` says what a value means; without any, values are
    the grades.
    """

    pair: str = ""
    query: str = ""
    moment: str = ""
    control: str = ""
    grades: Mapping[str, int] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        return asdict(self)

    def grade_of(self, value: object) -> int:
        """The grade that a control's value means.

        Raises:
            ValueError: it means none.
        """
        text = _text(value)
        if self.grades:
            if text not in self.grades:
                raise ValueError(f"the value {text[:60]!r} is mapped to no grade")
            return self.grades[text]
        if text not in {str(grade) for grade in GRADES}:
            raise ValueError(f"the value {text[:60]!r} is no grade from 0 to 4")
        return int(text)


def mapped(
    *, pair: str = "", query: str = "", moment: str = "", control: str = "", grades: Iterable[str] = ()
) -> Mapped:
    """A mapping from what somebody wrote; ``grades`` are lines such as ``Perfect=4``.

    Raises:
        BadMapping: the pair is not named, or named twice; a line is no ``value=grade``.
    """
    pair, query, moment, control = (name.strip() for name in (pair, query, moment, control))
    if pair and (query or moment):
        raise BadMapping("Name either the field of the pair, or those of the query and the moment.")
    if not pair and not (query and moment):
        raise BadMapping("Name the field that holds the pair, or those of the query and of the moment.")
    return Mapped(pair, query, moment, control, dict(_graded(line) for line in grades if line.strip()))


def _graded(line: str) -> tuple[str, int]:
    value, equals, grade = line.rpartition("=")
    if not equals or not value.strip() or grade.strip() not in {str(known) for known in GRADES}:
        raise BadMapping(f"{line.strip()[:80]!r} does not say which grade a value is: write it as Perfect=4.")
    return value.strip(), int(grade)


def _text(value: object) -> str:
    """A number without a point where it is whole."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
