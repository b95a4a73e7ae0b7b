"""Which moments a coverage study has judged beyond the pool, and for which queries. Pure.

The best by similarity say how relevance falls with rank; a random draw of all others says what lies beyond.
Source: TVR-Ranking, appendix B.3 (arXiv:2407.06597): 10 random queries, the 60 best and 60 random others.
"""

import random
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

QUERIES, TOP, OTHERS = 10, 60, 60  # the paper's
T = TypeVar("T")


def queries_drawn(numbers: Iterable[int], n: int, *, seed: int) -> list[int]:
    """``n`` of the queries, or all of fewer, ascending; in whatever order they come, the same seed draws the same."""
    held = sorted(set(numbers))
    return sorted(random.Random(f"queries {seed}").sample(held, min(n, len(held))))


def top_of(frozen: Sequence[int], ranked: Iterable[int], top: int) -> list[int]:
    """The ``top`` best moments of a query: its frozen candidates as they rank, then the most similar others.

    Args:
        frozen: the query's candidates by similarity, best first; what was judged keeps its rank.
        ranked: moments by similarity as computed now, best first.
    """
    known = set(frozen)
    return [*frozen, *(moment for moment in ranked if moment not in known)][:top]


def others_drawn(pool: Iterable[int], top: Collection[int], n: int, *, seed: int, query: int) -> list[int]:
    """``n`` moments of the pool that are not among the best, or all of fewer, in the order drawn.

    Each is as likely as any other. The draw of one query does not depend on which other queries are in the study.

    Args:
        query: the query's number.
    """
    rest = sorted(set(pool) - set(top))
    return random.Random(f"others {seed} {query}").sample(rest, min(n, len(rest)))


def mixed(items: Sequence[T], *, seed: int, query: int) -> list[T]:
    """All of them in a random order, so that no batch of the study is all best or all others."""
    return random.Random(f"batches {seed} {query}").sample(items, len(items))
