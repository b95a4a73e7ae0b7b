"""Ranking in blocks, and going on with what was ranked before."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from annotation.pools.rules import top_moments
from annotation.train_sets.ranks import QUERIES, ROWS, Block, Parts, Query, TextRanker, block_size, ranked_blocks
from tests.conftest import hashed

CAPTIONS = ["a man sings", "a woman sings", "two dogs bark", "a man barks", "rain falls", "a dog sings"]
FIRST = np.array([0, 2, 3, 5])  # four moments
TEXTS = ["a man sings", "rain", "dogs", "a man sings", "two women", "rain", "a man sings"]


class Counting:
    """``hashed``, and what it was asked."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        return hashed(texts)


def ranker(vectors_of: Counting, depth: int = 3, repeated: Sequence[str] = ("a man sings", "rain")) -> TextRanker:
    return TextRanker(hashed(CAPTIONS), FIRST, depth=depth, vectors_of=vectors_of, repeated=set(repeated))


def blocks(texts: Sequence[str] = TEXTS, size: int = 2) -> Iterator[Sequence[Query]]:
    queries = list(enumerate(texts, start=100))
    return (queries[start : start + size] for start in range(0, len(queries), size))


def as_lists(ranked: Sequence[Block]) -> list[tuple[object, ...]]:
    return [(list(b.numbers), list(b.texts), b.ranks.moments.tolist(), b.ranks.millionths.tolist()) for b in ranked]


@pytest.mark.parametrize("depth", [1, 3, 4, 9])
def test_blocks_are_ranked_as_all_at_once(depth: int) -> None:
    ranked = list(ranked_blocks(blocks(), ranker(Counting(), depth)))
    whole = list(top_moments(hashed(TEXTS), hashed(CAPTIONS), FIRST, depth=depth))
    assert [number for block in ranked for number in block.numbers] == list(range(100, 107))
    assert [row.tolist() for block in ranked for row in block.ranks.moments] == [order.tolist() for order, _ in whole]
    similarities = [row / 1e6 for block in ranked for row in block.ranks.millionths]
    assert np.allclose(similarities, [similarity for _, similarity in whole], rtol=0, atol=1e-12)


def test_each_text_is_ranked_once() -> None:
    counting = Counting()
    list(ranked_blocks(blocks(), ranker(counting)))
    assert counting.texts == ["a man sings", "rain", "dogs", "two women"]


def test_a_block_holds_as_many_rows_at_every_depth() -> None:
    assert block_size(1) == block_size(40) == QUERIES
    assert block_size(ROWS) == block_size(10 * ROWS) == 1
    assert all(block_size(depth) * depth <= ROWS for depth in range(1, ROWS, 97))


class TestParts:
    def test_nothing_is_ranked_again_but_a_damaged_part(self, tmp_path: Path) -> None:
        whole = list(ranked_blocks(blocks(), ranker(Counting()), Parts(tmp_path, b"m")))
        counting = Counting()
        again = list(ranked_blocks(blocks(), ranker(counting), Parts(tmp_path, b"m")))
        assert (as_lists(again), counting.texts) == (as_lists(whole), [])
        for content, part_index in ((b"", 0), (b"nonsense", 1), (b"\x93NUMPY\x01\x00v\x00", 2)):
            next(tmp_path.glob(f"{part_index:06}-*")).write_bytes(content)
        assert as_lists(list(ranked_blocks(blocks(), ranker(Counting()), Parts(tmp_path, b"m")))) == as_lists(whole)

    def test_a_changed_query_costs_its_block_alone(self, tmp_path: Path) -> None:
        list(ranked_blocks(blocks(), ranker(Counting()), Parts(tmp_path, b"m")))
        changed = [*TEXTS[:2], "cats", *TEXTS[3:]]
        parts, counting = Parts(tmp_path, b"m"), Counting()
        ranked = list(ranked_blocks(blocks(changed), ranker(counting), parts))
        assert as_lists(ranked) == as_lists(list(ranked_blocks(blocks(changed), ranker(Counting()))))
        assert (parts.outdated, counting.texts) == (1, ["cats", "a man sings"])

    def test_a_part_that_was_not_finished_does_not_count(self, tmp_path: Path) -> None:
        list(ranked_blocks(blocks(), ranker(Counting()), Parts(tmp_path, b"m")))
        for path in tmp_path.glob("000001-*"):
            path.rename(path.with_suffix(".writing"))
        counting = Counting()
        list(ranked_blocks(blocks(), ranker(counting), Parts(tmp_path, b"m")))
        assert counting.texts == ["dogs", "a man sings"]
