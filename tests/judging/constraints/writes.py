"""Ways to write a row that breaks a rule: the valid part is prepared, the rest is a call."""

from collections.abc import Callable

Write = Callable[[], object]
Prepare = Callable[[], Write]
Refused = dict[str, Prepare]  # a constraint's name
More = dict[str, tuple[str, Prepare]]  # a sentence; words of the refusal


def again(make: Callable[..., object], **values: object) -> Callable[[], Write]:
    """Write a second row that shares ``values`` (each made once) with the first."""

    def prepare() -> Write:
        arguments = {name: value() if callable(value) else value for name, value in values.items()}
        make(**arguments)
        return lambda: make(**arguments)

    return prepare


def change(make: Callable[..., object], **values: object) -> Callable[[], Write]:
    """Change a valid row to ``values``, past every check in Python."""

    def prepare() -> Write:
        row = make()
        return lambda: type(row)._default_manager.filter(pk=row.pk).update(**values)  # type: ignore[attr-defined]

    return prepare
