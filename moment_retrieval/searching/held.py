"""What is dear to load, kept in memory as long as there is room: the one that was not asked for longest goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


def _nbytes(value: Any) -> int:
    return int(value.nbytes)


class Held(Generic[Value]):
    """Values by key, of ``limit`` bytes together; one that is larger is held alone, with what it needs."""

    def __init__(
        self,
        limit: int,
        *,
        size: Callable[[Value], int] = _nbytes,
        on_drop: Callable[[Hashable], object] = lambda key: None,
    ) -> None:
        self.limit = limit
        self._size, self._on_drop = size, on_drop
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._needs: dict[Hashable, tuple[Hashable, ...]] = {}

    def get(self, key: Hashable, make: Callable[[], Value], *, needs: tuple[Hashable, ...] = ()) -> Value:
        """The value of a key, made if it is not held.

        Args:
            key: whose value.
            make: called for it.
            needs: keys of what the value holds on to; they stay as long as it does, and it goes when one of them goes.
        """
        if key not in self._values:
            self._values[key] = make()
        self._needs[key] = needs
        kept = (*(one for one in needs if one in self), key)
        for one in kept:
            self._values.move_to_end(one)
        while self.nbytes > self.limit and (oldest := next(iter(self._values))) not in kept:
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
