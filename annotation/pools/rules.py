"""Which moments enter a query's pool, by similarity, by runs or by a coverage study, and in what order. Pure.

By similarity, the product of queries and captions is taken block by block in single precision. What may be among the
best by it is ranked by similarities computed once more in double precision, so that every machine ranks alike.

By runs, as at TREC: the union of the best of each run. A run answers with spans, which need not be moments of the
corpus; each becomes the moment that it overlaps most, where it overlaps one enough. Where a pool makes moments, the
others become moments themselves, those that overlap each other enough one of them.

A coverage study adds the best by similarity, to say how relevance falls with rank, and a random draw of all others.
Source: TVR-Ranking, appendix B.3 (arXiv:2407.06597): 10 random queries, the 60 best and 60 random others.
"""

import os
import random
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
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
T = TypeVar("T")

BATCH_SIZE = 20  # of the paper, and of files that are not of a project here
BATCHES = 2
DEPTH = BATCH_SIZE * BATCHES  # ranks kept for a query, at the least
DEPTHS = (1, 1000)  # how deep a pool may be


class Stratum(NamedTuple):
    """Ranks by similarity of which each batch of a query draws some at random."""

    first: int  # rank, from 1
    last: int
    sample: int  # how many are drawn for a batch, 1 to all

    @property
    def name(self) -> str:
        """Its name in a release's pool."""
        return f"ranks-{self.first}-{self.last}"

    def holds(self, rank: int) -> bool:
        return self.first <= rank <= self.last

    def __str__(self) -> str:
        return f"{self.first}-{self.last}: {self.sample}"


Rows = list[list[int]]  # of strata, each first, last and sample, as a project and a batch hold them


def strata_of(rows: Rows) -> list[Stratum]:
    return [Stratum(*row) for row in rows]


def strata_listed(rows: Rows) -> list[dict[str, int]]:
    """Return the strata for programs and files, each with its names."""
    return [stratum._asdict() for stratum in strata_of(rows)]


def strata_rows(value: object) -> Rows:
    """Return strata that a program or a file lists. Raises ValueError where they are not of three whole numbers."""
    if not isinstance(value, list):
        raise ValueError("Strata are a list.")
    for row in value:
        numbers = list(row.values()) if isinstance(row, dict) and row.keys() == set(Stratum._fields) else [None]
        if any(type(number) is not int or not 0 <= number <= LARGEST for number in numbers):
            raise ValueError("A stratum has first, last and sample, which are whole numbers.")
    return [[row[name] for name in Stratum._fields] for row in value]


def strata_words(rows: Rows) -> str:
    """Describe strata as ``strata_read`` reads them; empty where there are none."""
    return ", ".join(map(str, strata_of(rows)))


STRATUM = re.compile(r"([0-9]{1,4})\s*[-–]\s*([0-9]{1,4})\s*:\s*([0-9]{1,4})")
LARGEST = 9999  # number that is read


def strata_read(text: str) -> Rows:
    """Read strata as people write them, such as ``1-20: 20, 21-60: 10``. Raises ValueError where that is not it."""
    rows = []
    for part in filter(None, map(str.strip, text.split(","))):
        match = STRATUM.fullmatch(part)
        if match is None:
            raise ValueError(f"{part[:60]!r} is no stratum: write ranks and how many are drawn, as in 21-60: 10.")
        rows.append([int(number) for number in match.groups()])
    return rows


def check_strata(strata: Sequence[Stratum], *, batch_size: int) -> None:
    """Raise ValueError unless the strata follow each other from rank 1 on and fill a batch; there may be none.

    The database asks the same of a project (``strata_are_possible``); here the message says which stratum is wrong.
    """
    before = 0
    for stratum in strata:
        width = stratum.last - stratum.first + 1
        if stratum.first != before + 1:
            raise ValueError(f"The stratum {stratum} begins with rank {before + 1}, right behind the one before.")
        if width < 1 or stratum.last > DEPTHS[1]:
            raise ValueError(f"The stratum {stratum} ends with a rank from {stratum.first} to {DEPTHS[1]}.")
        if not 1 <= stratum.sample <= width:
            raise ValueError(f"Of the stratum {stratum}, 1 to {width} ranks can be drawn.")
        before = stratum.last
    total = sum(stratum.sample for stratum in strata)
    if strata and total != batch_size:
        raise ValueError(f"The strata draw {total} pairs for a batch, which has {batch_size}; make both the same.")


def ranks_drawn(ranks: Iterable[int], strata: Sequence[Stratum], *, seed: str) -> list[int]:
    """Draw the ranks of a batch: of each stratum as many as it says, or all of fewer, ascending.

    Within a stratum each rank is as likely as any other; the same seed draws the same of the same ranks. What a second
    batch draws of the rest makes the two together a random part of each stratum, too.

    Args:
        ranks: those that can be judged and that no batch holds.

    Source: stratified sampling without replacement, as xinfAP asks for: Yilmaz, Kanoulas and Aslam, SIGIR 2008.
    """
    chance = random.Random(seed)
    free = sorted(ranks)
    batch: list[int] = []
    for stratum in strata:
        inside = [rank for rank in free if stratum.holds(rank)]
        batch += chance.sample(inside, min(stratum.sample, len(inside)))
    return sorted(batch)


def depth_of(batch_size: int, strata: Sequence[Stratum] = ()) -> int:
    """Return how many ranks are kept for a query that is judged in batches of this size, drawn from these strata."""
    return max(DEPTH, BATCHES * batch_size, *(stratum.last for stratum in strata))


def second_batch_size(batch_size: int, strata: Sequence[Stratum]) -> int:
    """Return how many pairs a second batch holds: of each stratum as many as the first, or what that left."""
    draws = (min(stratum.sample, stratum.last - stratum.first + 1 - stratum.sample) for stratum in strata)
    return sum(draws) if strata else batch_size


SCALE = 10**DECIMALS

ROWS = 64  # queries of a block
MARGIN = np.float32(4e-6)  # more than single precision and rounding can move a cosine


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
        row, caption = self.survivors(queries)
        cosine = np.einsum("nd,nd->n", queries[row], self.captions[caption], dtype=np.float64)
        far = SCALE - np.rint(np.clip(cosine, -1.0, 1.0) * SCALE).astype(np.int64)  # in millionths, the nearest first
        moment = self.moment_of[caption]
        order = np.lexsort((far, moment, row))  # the nearest caption of each moment comes first
        row, moment, far = row[order], moment[order], far[order]
        is_nearest = np.append(True, (np.diff(row) != 0) | (np.diff(moment) != 0))
        row, moment, far = row[is_nearest], moment[is_nearest], far[is_nearest]
        order = np.lexsort((moment, far, row))
        starts = np.searchsorted(row, np.arange(len(queries)))  # rows ascend before and after
        best = order[starts[:, None] + np.arange(self.keep)]
        return moment[best], (SCALE - far[best]) / SCALE

    def survivors(self, queries: Vectors) -> tuple[Numbers, Numbers]:
        """Row and caption of all that may be among the best ``keep`` moments of a query, rows ascending."""
        cosines = queries @ self.captions.T  # [B, C]
        best = np.maximum.reduceat(cosines, self.first, axis=1)  # [B, M]
        bound = np.partition(best, -self.keep, axis=1)[:, -self.keep, None] - MARGIN
        row, caption = np.nonzero(cosines > bound)
        return row, caption


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


RUN_DEPTH = 20  # ranks of a run that are looked at
IOU_MIN = 0.7  # the strictest of the measures
JOIN_IOU = 0.5  # where spans become moments: from which overlap one is the moment of another
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


def iou_by_default(*, makes_moments: bool) -> float:
    return JOIN_IOU if makes_moments else IOU_MIN


def clipped(span: Span, duration_s: float) -> Span:
    """Return the part of the span that lies in its video. Raises ValueError where there is none."""
    start_s, end_s = max(0.0, span.start_s), min(duration_s, span.end_s)
    if not start_s < end_s:
        raise ValueError(f"{span.start_s:g} to {span.end_s:g} s holds nothing of its video of {duration_s:g} s")
    return Span(span.video, start_s, end_s)


def spans_joined(ranked: Iterable[tuple[Span, int]], *, iou_min: float) -> dict[Span, Span]:
    """Return for each span the one whose moment it is of: itself where it becomes a moment.

    The spans are looked at in one order, whatever runs they come from and in whichever order these are read: the best
    rank goes first, then what was returned more often, then the earlier start and end. Each joins the span-moment of
    its video that it overlaps most, of several the first made, where their IoU reaches ``iou_min``; else it becomes a
    moment. So no two span-moments overlap as much as that.

    Args:
        ranked: spans within their videos with their ranks, once for each time that a run returned one for a query.
    """
    ranks: dict[Span, list[int]] = {}
    for span, rank in ranked:
        ranks.setdefault(span, []).append(rank)

    def turn(span: Span) -> tuple[object, ...]:
        return min(ranks[span]), -len(ranks[span]), span.start_s, span.end_s

    span_moments: dict[str, list[tuple[int, Span]]] = {}  # by video, numbered in the order made
    targets: dict[Span, Span] = {}
    for span in sorted(ranks, key=turn):
        others = span_moments.setdefault(span.video, [])
        index = moment_of(span, others, iou_min=iou_min)
        if index is None:
            others.append((len(others), span))
        targets[span] = span if index is None else others[index][1]
    return targets


def best_ranks(ranked: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Moment to its best rank, of what one source returned for one query as (moment, rank)."""
    best: dict[int, int] = {}
    for moment, rank in ranked:
        best[moment] = min(rank, best.get(moment, rank))
    return best


def pooled(
    results: Iterable[Found],
    *,
    depth: int,
    candidate_ids: Collection[int] = (),
    most: int | None = None,
    in_turns: bool = False,
) -> list[int]:
    """The moments to add to a query's pool: returned within ``depth`` by some source, and not held yet.

    By rank, the best rank in any source goes first, then what more sources returned, then the smaller id. In turns,
    each source, the smallest id first, adds the best of its moments that is not among them yet, until none is left: so
    each has its share, however many of its moments others rank better.

    Args:
        most: so many of them; None for all.
    """
    best: dict[int, dict[int, int]] = {}
    for source, moment, rank in results:
        if rank <= depth and moment not in candidate_ids:
            ranks = best.setdefault(moment, {})
            ranks[source] = min(rank, ranks.get(source, rank))
    by_rank = sorted(best, key=lambda moment: (min(best[moment].values()), -len(best[moment]), moment))
    return (_by_turns(best) if in_turns else by_rank)[:most]


def _by_turns(ranks: Mapping[int, Mapping[int, int]]) -> list[int]:
    """Moments with their rank by source, as the sources take them in turns."""
    by_source: dict[int, list[tuple[int, int]]] = {}
    for moment, by in ranks.items():
        for source, rank in by.items():
            by_source.setdefault(source, []).append((rank, moment))
    queues = [iter(sorted(by_source[source])) for source in sorted(by_source)]
    order: dict[int, None] = {}
    while queues:
        for queue in list(queues):
            best = next((moment for _, moment in queue if moment not in order), None)
            if best is None:
                queues.remove(queue)
            else:
                order[best] = None
    return list(order)


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
