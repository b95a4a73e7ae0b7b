"""Which moments retrieval systems and coverage studies add to a query's pool, and in what order. Pure.

As at TREC: the union of the best of each run. A run answers with spans, which need not be moments of the corpus; each
becomes the moment that it overlaps most, where it overlaps one enough.

A coverage study adds the best by similarity, to say how relevance falls with rank, and a random draw of all others.
Source: TVR-Ranking, appendix B.3 (arXiv:2407.06597): 10 random queries, the 60 best and 60 random others.
"""

import random
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, TypeVar

DEPTH, DEPTHS = 20, (1, 1000)  # ranks of a run that are looked at
IOU_MIN = 0.7  # the strictest of the measures
T = TypeVar("T")
QUERIES, TOP, OTHERS = 10, 60, 60  # the paper's


class Place(NamedTuple):
    """A moment of some video."""

    moment: int
    start_s: float
    end_s: float


class Found(NamedTuple):
    """A moment that a source returned for a query, and at what rank."""

    source: int
    moment: int
    rank: int


def moment_of(start_s: float, end_s: float, places: Iterable[Place], *, iou_min: float) -> int | None:
    """The moment that the span overlaps most, the first by id of several; None where its IoU is below ``iou_min``.

    Args:
        places: the moments of the span's video.
        iou_min: above 0; an IoU equal to it is enough.
    """
    overlaps = [(-span_iou(start_s, end_s, place.start_s, place.end_s), place.moment) for place in places]
    best, moment = min(overlaps, default=(0.0, -1))
    return moment if -best >= iou_min else None


def span_iou(start_s: float, end_s: float, other_start_s: float, other_end_s: float) -> float:
    """Intersection over union of two spans of one video; 0.0 for a span that ends before it starts."""
    intersection = min(end_s, other_end_s) - max(start_s, other_start_s)
    if intersection <= 0:
        return 0.0
    union = (end_s - start_s) + (other_end_s - other_start_s) - intersection
    return intersection / union


def best_ranks(ranked: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Moment to its best rank, of what one source returned for one query as (moment, rank)."""
    best: dict[int, int] = {}
    for moment, rank in ranked:
        best[moment] = min(rank, best.get(moment, rank))
    return best


def pooled(found: Iterable[Found], *, depth: int, held: Collection[int] = ()) -> list[int]:
    """The moments to add to a query's pool: returned within ``depth`` by some source, and not held yet.

    The best rank in any source goes first, then what more sources returned, then the smaller id.
    """
    best: dict[int, dict[int, int]] = {}
    for source, moment, rank in found:
        if rank <= depth and moment not in held:
            ranks = best.setdefault(moment, {})
            ranks[source] = min(rank, ranks.get(source, rank))
    return sorted(best, key=lambda moment: (min(best[moment].values()), -len(best[moment]), moment))


def in_batches(candidates: Sequence[T], size: int) -> list[Sequence[T]]:
    """Whole batches, the last one perhaps short."""
    return [candidates[start : start + size] for start in range(0, len(candidates), size)]


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
