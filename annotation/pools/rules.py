"""Which moments enter a query's pool, by similarity, by runs or by a coverage study, and in what order. Pure.

By similarity, the product of queries and captions is taken block by block. A bound on each query's last rank, found in
the first columns, discards almost everything else at one comparison; what is left is ranked by similarities computed
once more in double precision, so that every machine ranks alike.

By runs, as at TREC: the union of the best of each run. A run answers with spans, which need not be moments of the
corpus; each becomes the moment that it overlaps most, where it overlaps one enough.

A coverage study adds the best by similarity, to say how relevance falls with rank, and a random draw of all others.
Source: TVR-Ranking, appendix B.3 (arXiv:2407.06597): 10 random queries, the 60 best and 60 random others.
"""

import os
import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.metrics.iou import span_iou
from moment_retrieval.records import Span
from moment_retrieval.relevance import DECIMALS, Ranked

Vectors = NDArray[np.float32]
Indexes = NDArray[np.intp]
Numbers = NDArray[np.int64]
Contenders = tuple[Numbers, Numbers, Vectors]  # row, caption and cosine of each
T = TypeVar("T")

BATCH_SIZE = 20
BATCHES = 2
DEPTH = BATCH_SIZE * BATCHES  # ranks kept for a query
SCALE = 10**DECIMALS

ROWS = 512  # queries of a block
COLUMNS = 2048  # captions of a block: its product stays near
PAIRS = 1024  # cosines taken exactly at once
HEAD = 12_288  # captions that give the bound
MARGIN = np.float32(4e-6)  # more than single precision and rounding can move a cosine
FAR_BITS, MOMENT_BITS = 21, 27  # of a key that sorts: a distance in millionths, a moment; the rest is the row


@dataclass(frozen=True)
class Ranker:
    """Ranks blocks of queries; a machine with a faster product overrides ``survivors``."""

    captions: Vectors  # [C, D]
    first: Indexes  # [M]
    moment_of: Numbers  # [C]
    keep: int
    threads: ClassVar[int | None] = None  # blocks ranked at the same time; None for one a core

    @classmethod
    def of(cls, captions: Vectors, first: Indexes, depth: int) -> Self:
        if len(first) == 0:
            raise ValueError("there is no moment to rank")
        widths = np.diff(np.append(first, len(captions)))
        if first[0] != 0 or (widths <= 0).any():
            raise ValueError("first_caption must start at 0 and ascend")
        return cls(captions, first, np.repeat(np.arange(len(first)), widths), min(depth, len(first)))

    def ranked(self, queries: Vectors) -> tuple[Indexes, NDArray[np.float64]]:
        """Moments [B, K] and similarities [B, K] for a block of queries [B, D]."""
        row, caption, cosine = self.survivors(queries)
        row, caption = self._contenders(row, caption, cosine)
        keys = _by_row_and_distance(row, self.moment_of[caption], _distance(self._exact(queries, row, caption)))
        starts = np.searchsorted(keys >> (FAR_BITS + MOMENT_BITS), np.arange(len(queries)))
        best = keys[starts[:, None] + np.arange(self.keep)]
        far = best >> MOMENT_BITS & (2**FAR_BITS - 1)
        return (best & (2**MOMENT_BITS - 1)).astype(np.intp), (SCALE - far) / SCALE

    def _exact(self, queries: Vectors, row: Numbers, caption: Numbers) -> NDArray[np.float64]:
        """Cosines [N] in double precision, some at a time: they fit into the cache."""
        cosine = np.empty(len(row))
        for start in range(0, len(row), PAIRS):
            some = slice(start, start + PAIRS)
            ours, theirs = queries[row[some]].astype(np.float64), self.captions[caption[some]]
            ours *= theirs
            cosine[some] = ours.sum(axis=1)
        return cosine

    def survivors(self, queries: Vectors) -> Contenders:
        """Row, caption and cosine of all that may be among the best ``keep`` moments of a query."""
        last = max(int(np.searchsorted(self.first, HEAD)), self.keep)  # the head holds at least ``keep`` whole moments
        head = int(self.first[last]) if last < len(self.first) else len(self.captions)
        cosines = queries @ self.captions[:head].T
        moments = int(np.searchsorted(self.first, head))
        best = np.maximum.reduceat(cosines, self.first[:moments], axis=1)
        bound = np.partition(best, moments - self.keep, axis=1)[:, moments - self.keep, None] - MARGIN
        parts = [_above(cosines, bound, 0)]
        product = np.empty((len(queries), COLUMNS), np.float32)
        for start in range(head, len(self.captions), COLUMNS):
            block = self.captions[start : start + COLUMNS]
            cosines = product if len(block) == COLUMNS else np.empty((len(queries), len(block)), np.float32)
            np.matmul(queries, block.T, out=cosines)
            parts.append(_above(cosines, bound, start))
        row, caption, cosine = (np.concatenate(part) for part in zip(*parts, strict=True))
        return row, caption, cosine

    def _contenders(self, row: Numbers, caption: Numbers, cosine: Vectors) -> tuple[Numbers, Numbers]:
        """Those so near the last place, or better, that exact similarities decide between them."""
        far = _distance(cosine)
        keys = _by_row_and_distance(row, self.moment_of[caption], far)
        starts = np.searchsorted(keys >> (FAR_BITS + MOMENT_BITS), np.arange(row.max() + 1))
        last = keys[starts + self.keep - 1] >> MOMENT_BITS & (2**FAR_BITS - 1)
        near = far <= last[row] + int(np.ceil(MARGIN * SCALE))
        return row[near], caption[near]


def _above(cosines: Vectors, bound: Vectors, start: int) -> Contenders:
    flat = np.flatnonzero(cosines > bound)
    row, column = np.divmod(flat, cosines.shape[1])
    return row, column + start, cosines.ravel()[flat]


def _distance(cosine: Vectors | NDArray[np.float64]) -> Numbers:
    """1 - cosine in millionths, so that the nearest sorts first; a cosine is -1 to 1."""
    far: Numbers = SCALE - np.rint(np.clip(cosine, -1.0, 1.0) * SCALE).astype(np.int64)
    return far


def _by_row_and_distance(row: Numbers, moment: Numbers, far: Numbers) -> Numbers:
    """One key for each moment of each row, with its smallest distance: sorted by row, distance, moment.

    Numbers are packed into keys because sorting plain integers is several times faster than an indirect sort.
    """
    keys = np.sort(row << (MOMENT_BITS + FAR_BITS) | moment << FAR_BITS | far)
    cells = keys >> FAR_BITS
    keys = keys[np.flatnonzero(np.concatenate([[True], cells[1:] != cells[:-1]]))]  # the smallest distance is first
    row, moment, far = (
        keys >> (MOMENT_BITS + FAR_BITS),
        keys >> FAR_BITS & (2**MOMENT_BITS - 1),
        keys & (2**FAR_BITS - 1),
    )
    ranked: Numbers = np.sort(row << (MOMENT_BITS + FAR_BITS) | far << MOMENT_BITS | moment)
    return ranked


def top_moments(
    queries: Vectors, captions: Vectors, first_caption: Indexes, *, depth: int = DEPTH, ranker: type[Ranker] = Ranker
) -> Iterator[Ranked]:
    """For each query the ``depth`` moments most similar to it, best first; ties keep the order of moments.

    The similarity of a query and a moment is the largest cosine to one of the moment's captions, rounded to 1e-6.

    Args:
        queries: [Q, D] unit vectors.
        captions: [C, D] unit vectors, all captions of the first moment first, then of the next.
        first_caption: [M] index of each moment's first caption, ascending from 0.
        ranker: who does it.

    Yields:
        Per query: indexes of moments [K] and their similarities [K], K = min(depth, M).

    Raises:
        ValueError: ``first_caption`` does not start at 0 or does not ascend.
    """
    from threadpoolctl import threadpool_limits

    pool = ranker.of(captions, first_caption, depth)
    blocks = [queries[start : start + ROWS] for start in range(0, len(queries), ROWS)]
    threads = ranker.threads or len(os.sched_getaffinity(0))
    with threadpool_limits(1), ThreadPoolExecutor(threads) as workers:
        for start in range(0, len(blocks), threads):  # a few blocks at a time: nothing piles up behind a slow reader
            for moments, similarities in workers.map(pool.ranked, blocks[start : start + threads]):
                yield from zip(moments, similarities, strict=True)


RUN_DEPTH, DEPTHS = 20, (1, 1000)  # ranks of a run that are looked at
IOU_MIN = 0.7  # the strictest of the measures
QUERIES, TOP, OTHERS = 10, 60, 60  # the paper's


class Found(NamedTuple):
    """A moment that a source returned for a query, and at what rank."""

    source: int
    moment: int
    rank: int


def moment_of(span: Span, moments: Iterable[tuple[int, Span]], *, iou_min: float) -> int | None:
    """Return the moment of the span's video that it overlaps most, the first by id of several.

    None where its IoU is below ``iou_min``, which is above 0; an equal one is enough.
    """
    overlaps = [(-span_iou(span, other), moment) for moment, other in moments]
    best, moment = min(overlaps, default=(0.0, -1))
    return moment if -best >= iou_min else None


def best_ranks(ranked: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Moment to its best rank, of what one source returned for one query as (moment, rank)."""
    best: dict[int, int] = {}
    for moment, rank in ranked:
        best[moment] = min(rank, best.get(moment, rank))
    return best


def pooled(results: Iterable[Found], *, depth: int, candidate_ids: Collection[int] = ()) -> list[int]:
    """The moments to add to a query's pool: returned within ``depth`` by some source, and not held yet.

    The best rank in any source goes first, then what more sources returned, then the smaller id.
    """
    best: dict[int, dict[int, int]] = {}
    for source, moment, rank in results:
        if rank <= depth and moment not in candidate_ids:
            ranks = best.setdefault(moment, {})
            ranks[source] = min(rank, ranks.get(source, rank))
    return sorted(best, key=lambda moment: (min(best[moment].values()), -len(best[moment]), moment))


def in_batches(candidates: Sequence[T], size: int) -> list[Sequence[T]]:
    """Whole batches, the last one perhaps short."""
    return [candidates[start : start + size] for start in range(0, len(candidates), size)]


def queries_drawn(numbers: Iterable[int], n: int, *, seed: int) -> list[int]:
    """``n`` of the queries, or all of fewer, ascending; in whatever order they come, the same seed draws the same."""
    distinct_numbers = sorted(set(numbers))
    return sorted(random.Random(f"queries {seed}").sample(distinct_numbers, min(n, len(distinct_numbers))))


def top_of(frozen: Sequence[int], ranked: Iterable[int], top: int) -> list[int]:
    """The ``top`` best moments of a query: its frozen candidates as they rank, then the most similar others.

    Args:
        frozen: the query's candidates by similarity, best first; what was judged keeps its rank.
        ranked: moments by similarity as computed now, best first.
    """
    frozen_ids = set(frozen)
    return [*frozen, *(moment for moment in ranked if moment not in frozen_ids)][:top]


def others_drawn(pool: Iterable[int], top: Collection[int], n: int, *, seed: int, query: int) -> list[int]:
    """Draw ``n`` moments of the pool that are not among the best, or all of fewer, in the order drawn.

    Each is as likely as any other. The draw depends on the query's number, and not on the other queries of the study.
    """
    rest = sorted(set(pool) - set(top))
    return random.Random(f"others {seed} {query}").sample(rest, min(n, len(rest)))


def mixed(items: Sequence[T], *, seed: int, query: int) -> list[T]:
    """All of them in a random order, so that no batch of the study is all best or all others."""
    return random.Random(f"batches {seed} {query}").sample(items, len(items))
