"""Ways to write a row that breaks a rule: the valid part is prepared, the rest is a call."""

from collections.abc import Callable
from typing import Any

from django.db.models import Model

Write = Callable[[], object]
Prepare = Callable[[], Write]
Make = Callable[..., Any]  # makes a row; keywords replace its values
Refused = dict[str, Prepare]  # a constraint's name
More = dict[str, dict[str, Prepare]]  # words of the refusal; a sentence


def called(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value() if callable(value) else value for name, value in values.items()}


def maker(model: type[Model], /, **defaults: Any) -> Make:
    """Return what makes a valid row; a default that is callable is called for each."""
    return lambda **values: model._default_manager.create(**called({**defaults, **values}))


def again(make: Make, /, **values: Any) -> Prepare:
    """Write a second row that shares ``values`` (each made once) with the first."""

    def prepare() -> Write:
        arguments = called(values)
        make(**arguments)
        return lambda: make(**arguments)

    return prepare


def twice(make: Make, /, *fields: str, **values: Any) -> Prepare:
    """Write a second row that shares ``fields`` with the first, and has other ``values``."""

    def prepare() -> Write:
        first = make()
        return lambda: make(**{field: getattr(first, field) for field in fields}, **values)

    return prepare


def change(make: Make, /, **values: Any) -> Prepare:
    """Change a valid row to ``values``, past every check in Python."""

    def prepare() -> Write:
        row = make()
        return lambda: type(row)._default_manager.filter(pk=row.pk).update(**called(values))

    return prepare


def adding(make: Make, /, **values: Any) -> Prepare:
    """Write a row with ``values`` (each made before, where it is callable)."""

    def prepare() -> Write:
        arguments = called(values)
        return lambda: make(**arguments)

    return prepare


def deletion(make: Make) -> Prepare:
    return lambda: make().delete  # type: ignore[no-any-return]
