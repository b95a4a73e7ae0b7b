"""Models are kept in memory as long as there is room."""

from collections.abc import Hashable
from dataclasses import dataclass

from models_runner.search.worker import ValueCache


@dataclass(frozen=True)
class Block:
    nbytes: int


class TestCache:
    def test_what_is_cached_is_not_made_again(self) -> None:
        cache: ValueCache[Block] = ValueCache(10)
        first = cache.get("a", lambda: Block(4))
        assert cache.get("a", lambda: Block(5)) is first

    def test_what_was_not_requested_longest_goes_first(self) -> None:
        cache: ValueCache[Block] = ValueCache(10)
        for name in ("a", "b", "a", "c"):
            cache.get(name, lambda: Block(4))
        assert "a" in cache and "c" in cache and "b" not in cache
        assert cache.nbytes == 8

    def test_one_that_is_too_large_is_cached_alone(self) -> None:
        cache: ValueCache[Block] = ValueCache(10)
        cache.get("a", lambda: Block(4))
        cache.get("huge", lambda: Block(40))
        assert len(cache) == 1 and "huge" in cache

    def test_what_another_needs_is_requested_with_it(self) -> None:
        cache: ValueCache[Block] = ValueCache(12)
        cache.get("first", lambda: Block(4))
        cache.get("conquer", lambda: Block(4), needs=("first",))
        for name in ("other", "conquer", "next"):
            cache.get(name, lambda: Block(4), needs=("first",) if name == "conquer" else ())
        assert "first" in cache and "conquer" in cache and "other" not in cache

    def test_what_needs_another_goes_with_it(self) -> None:
        """Else it would keep in memory what nobody counts any more."""
        cache: ValueCache[Block] = ValueCache(12)
        cache.get("first", lambda: Block(4))
        cache.get("conquer", lambda: Block(4), needs=("first",))
        cache.get("other", lambda: Block(8))
        assert len(cache) == 1 and cache.nbytes == 8

    def test_what_is_too_large_is_cached_with_what_it_needs(self) -> None:
        cache: ValueCache[Block] = ValueCache(10)
        for name in ("other", "first"):
            cache.get(name, lambda: Block(4))
        cache.get("huge", lambda: Block(40), needs=("first",))
        assert len(cache) == 2 and "first" in cache

    def test_so_many_are_cached_as_the_size_says(self) -> None:
        dropped_keys: list[Hashable] = []
        cache: ValueCache[Block] = ValueCache(2, size=lambda _: 1, on_drop=dropped_keys.append)
        for name in ("a", "b", "a", "c"):
            cache.get(name, lambda: Block(400))
        assert dropped_keys == ["b"] and len(cache) == 2
