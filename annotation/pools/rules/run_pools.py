"""Which moments the answers of retrieval systems add to a query's pool, and in what order. Pure.

As at TREC: the union of the best of each run. A run answers with spans, which need not be moments of the corpus; each
becomes the moment that it overlaps most, where it overlaps one enough.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, TypeVar

DEPTH, DEPTHS = 20, (1, 1000)  # ranks of a run that are looked at
IOU_MIN = 0.7  # the strictest of the measures
T = TypeVar("T")


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
