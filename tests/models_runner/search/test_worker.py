"""Models are kept in memory as long as there is room."""

from collections.abc import Hashable
from dataclasses import dataclass

from models_runner.search.worker import Held


@dataclass(frozen=True)
class Block:
    nbytes: int


class TestHeld:
    def test_what_is_held_is_not_made_again(self) -> None:
        held: Held[Block] = Held(10)
        first = held.get("a", lambda: Block(4))
        assert held.get("a", lambda: Block(5)) is first

    def test_what_was_not_asked_for_longest_goes_first(self) -> None:
        held: Held[Block] = Held(10)
        for name in ("a", "b", "a", "c"):
            held.get(name, lambda: Block(4))
        assert "a" in held and "c" in held and "b" not in held
        assert held.nbytes == 8

    def test_one_that_is_too_large_is_held_alone(self) -> None:
        held: Held[Block] = Held(10)
        held.get("a", lambda: Block(4))
        held.get("huge", lambda: Block(40))
        assert len(held) == 1 and "huge" in held

    def test_what_another_needs_is_asked_for_with_it(self) -> None:
        held: Held[Block] = Held(12)
        held.get("first", lambda: Block(4))
        held.get("conquer", lambda: Block(4), needs=("first",))
        for name in ("other", "conquer", "next"):
            held.get(name, lambda: Block(4), needs=("first",) if name == "conquer" else ())
        assert "first" in held and "conquer" in held and "other" not in held

    def test_what_needs_another_goes_with_it(self) -> None:
        """Else it would keep in memory what nobody counts any more."""
        held: Held[Block] = Held(12)
        held.get("first", lambda: Block(4))
        held.get("conquer", lambda: Block(4), needs=("first",))
        held.get("other", lambda: Block(8))
        assert len(held) == 1 and held.nbytes == 8

    def test_what_is_too_large_is_held_with_what_it_needs(self) -> None:
        held: Held[Block] = Held(10)
        for name in ("other", "first"):
            held.get(name, lambda: Block(4))
        held.get("huge", lambda: Block(40), needs=("first",))
        assert len(held) == 2 and "first" in held

    def test_so_many_are_held_as_the_size_says(self) -> None:
        gone: list[Hashable] = []
        held: Held[Block] = Held(2, size=lambda _: 1, on_drop=gone.append)
        for name in ("a", "b", "a", "c"):
            held.get(name, lambda: Block(400))
        assert gone == ["b"] and len(held) == 2
