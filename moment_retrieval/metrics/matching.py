"""Which judged moment each retrieved one claims: all queries and thresholds at once.

Within a query the matching is sequential, since what a rank claims is gone for the ranks below it; queries and
thresholds do not touch each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from moment_retrieval.metrics.iou import ious
from moment_retrieval.tables import Flags, Floats, Ints, JudgedTable, MomentTable, RunTable, Spans, recoded

MAX_CELLS = 8_000_000  # queries x ranks x judged moments looked at together: what bounds the memory
NOTHING = -1
NO_VIDEO = -1  # a retrieved video without judged moments; and where a query's list ends
PADDING = -2  # where a query's judged moments end


@dataclass(frozen=True)
class Matches:
    """Claims by the ranks of some queries.

    Shapes: B queries, N ranks of the longest list, G judged moments of the query that has most, T thresholds.
    """

    queries: Ints  # [B] which of the requested queries
    judged: Ints  # [B, G] their rows of the judged table, the most relevant first, then NOTHING
    claimed: Ints  # [T, B, N] rows of the judged table, or NOTHING


class Grid(NamedTuple):
    """Moments of B queries, one line each: [B, n] video and row of the table; NOTHING and no video after the last."""

    spans: Spans
    video: Ints
    row: Ints


class Overlaps(NamedTuple):
    """Moments of one query and video that overlap.

    ``position`` is a rank, numbered on from query to query; ``judged`` a judged moment, numbered likewise, the most
    relevant of a query first. Sorted by both.
    """

    position: Ints
    judged: Ints
    iou: Floats

    def at(self, some: Ints) -> Overlaps:
        return Overlaps(self.position[some], self.judged[some], self.iou[some])


def matches(
    run: RunTable, judged: JudgedTable, queries: Ints, least: Sequence[float], *, tolerance: float, depth: int
) -> Iterator[Matches]:
    """Yield each rank's claims, some queries at a time.

    Each retrieved moment, best first, meets the unclaimed judged moment of its query and video that it overlaps most
    (of equals: the more relevant, then the earlier row) and claims it if their IoU is large enough.

    Args:
        queries: [Q, 2] numbers of the queries in ``run`` (-1: not answered there) and in ``judged``.
        least: [T] the smallest IoU that is enough, above 0; each threshold starts from all judged moments.
        tolerance: how far apart two IoUs may lie and still be equal.
        depth: how many ranks to look at.
    """
    for some, retrieved, truth in grids(run, judged, queries, depth=depth):
        pairs = overlaps(retrieved, truth, min(least) - tolerance)
        yield Matches(some, truth.row, claims(pairs, least, tolerance, retrieved.row.shape, truth.row))


def covered(run: RunTable, judged: JudgedTable, queries: Ints, least: Sequence[float], *, depth: int) -> Flags:
    """Say of each retrieved moment whether it reaches the IoU with some judged moment of its query.

    A judged moment counts whatever its relevance, and for however many retrieved ones.

    Returns:
        [T, rows of the run]; False beyond ``depth`` and for queries that are not among ``queries``.
    """
    reached = np.zeros((len(least), len(run.query)), np.bool_)
    for _, retrieved, truth in grids(run, judged, queries, depth=depth):
        hits = overlaps(retrieved, truth, min(least))
        rows = retrieved.row.ravel()
        for number, enough in enumerate(least):
            reached[number, rows[hits.position[hits.iou >= enough]]] = True
    return reached


def grids(run: RunTable, judged: JudgedTable, queries: Ints, *, depth: int) -> Iterator[tuple[Ints, Grid, Grid]]:
    """Some of the queries at a time: which, the best ``depth`` of what they retrieved, and what was judged of them."""
    videos = recoded(run.spans, judged.spans.names)
    _, level = relevance_levels(judged.weights)
    retrieved_n, judged_n = np.minimum(lengths(run, queries[:, 0]), depth), lengths(judged, queries[:, 1])
    small = np.int16 if len(judged.spans.names) < 1 << 15 else np.int64  # a quarter of the bytes to compare
    for some in blocks(retrieved_n, judged_n):
        ranks = padded(run.offsets, queries[some, 0], retrieved_n[some])
        rows = by_level(padded(judged.offsets, queries[some, 1], judged_n[some]), level)
        retrieved = Grid(run.spans, at_rows(videos, ranks, NO_VIDEO).astype(small), ranks)
        yield some, retrieved, Grid(judged.spans, at_rows(judged.spans.video, rows, PADDING).astype(small), rows)


def relevance_levels(relevance: Floats) -> tuple[Floats, Ints]:
    """The different values of relevance, highest first, and the number of each row's value among them."""
    whole = relevance.astype(np.int64)
    if (whole == relevance).all():
        top = int(whole.max(initial=0))
        return np.arange(top, -1.0, -1.0), top - whole
    levels, level = np.unique(-relevance, return_inverse=True)
    return -levels, level


def lengths(table: MomentTable[Any], numbers: Ints) -> Ints:
    """How many rows each query has; none where its number is negative."""
    return np.where(numbers >= 0, table.offsets[numbers + 1] - table.offsets[numbers], 0)


def blocks(retrieved_n: Ints, judged_n: Ints) -> Iterator[Ints]:
    """Queries of about one size together, so that little is padding, and few enough for MAX_CELLS."""
    waiting = [np.argsort(retrieved_n * judged_n, kind="stable")]
    while waiting:
        some = waiting.pop()
        if len(some) > 1 and len(some) * retrieved_n[some].max() * judged_n[some].max() > MAX_CELLS:
            waiting += [some[len(some) // 2 :], some[: len(some) // 2]]
        elif len(some):
            yield some


def padded(offsets: Ints, numbers: Ints, sizes: Ints) -> Ints:
    """[B, longest] the first rows of each query, as many as ``sizes`` says, then NOTHING."""
    positions = np.arange(sizes.max(initial=0))
    return np.where(positions < sizes[:, None], offsets[numbers, None] + positions, NOTHING)


def by_level(rows: Ints, level: Ints) -> Ints:
    """The rows of each query, the most relevant first, equals as they stand, NOTHING last."""
    bits = rows.shape[1].bit_length()
    key = at_rows(level, rows, np.iinfo(np.int64).max >> bits) << bits | np.arange(rows.shape[1])
    return np.take_along_axis(rows, np.sort(key, axis=1) & (1 << bits) - 1, axis=1)


def at_rows(column: Ints, rows: Ints, padding: int) -> Ints:
    """The column at ``rows``, and ``padding`` where there is no row."""
    return np.where(rows >= 0, column[rows], padding) if rows.size else rows


def overlaps(retrieved: Grid, truth: Grid, least: float) -> Overlaps:
    """The overlaps of ``least`` or more."""
    ranks, width = max(1, retrieved.row.shape[1]), max(1, truth.row.shape[1])
    cell = np.flatnonzero(retrieved.video[:, :, None] == truth.video[:, None, :])
    slot = cell // width
    judged = cell - (slot - slot // ranks) * width
    one, other = retrieved.row.ravel()[slot], truth.row.ravel()[judged]
    above, below = retrieved.spans, truth.spans
    iou = ious(above.start_s[one], above.end_s[one], below.start_s[other], below.end_s[other])
    return Overlaps(slot, judged, iou).at(np.flatnonzero((iou >= least) & (iou > 0)))


def claims(pairs: Overlaps, least: Sequence[float], tolerance: float, shape: tuple[int, ...], rows: Ints) -> Ints:
    """[T, B, N] the row that each rank claims, or NOTHING; ``shape`` is [B, N]."""
    claimed = np.full((len(least), math.prod(shape)), NOTHING, np.int64)
    claim_mask = np.zeros((len(least), rows.size), np.bool_)
    for turn in turns(pairs, shape[1]):
        first, sizes = groups(turn.position)
        untouched = chosen(turn.iou, first, sizes, tolerance)
        for number, enough in enumerate(least):
            pair_mask = claim_mask[number, turn.judged]
            best, choice = (
                chosen(np.where(pair_mask, 0.0, turn.iou), first, sizes, tolerance) if pair_mask.any() else untouched
            )
            good = np.flatnonzero(best >= enough)
            won = turn.judged[choice[good]]
            claim_mask[number, won] = True
            claimed[number, turn.position[first[good]]] = rows.ravel()[won]
    return claimed.reshape(len(least), *shape)


def turns(pairs: Overlaps, ranks: int) -> Iterator[Overlaps]:
    """Who may choose together: first all that share no judged moment with another rank, then the others by rank."""
    if not len(pairs.position):
        return
    first, sizes = groups(pairs.position)
    contested = np.logical_or.reduceat((np.bincount(pairs.judged) > 1)[pairs.judged], first).repeat(sizes)
    if not contested.all():
        yield pairs.at(np.flatnonzero(~contested))
    pairs = pairs.at(np.flatnonzero(contested))
    rank = pairs.position % ranks
    order = np.argsort(rank.astype(np.uint16) if ranks < 1 << 16 else rank, kind="stable")  # 16 bits: a radix sort
    bounds = np.searchsorted(rank[order], np.arange(ranks + 1)).tolist()
    yield from (pairs.at(order[low:high]) for low, high in pairwise(bounds) if low < high)


def chosen(iou: Floats, first: Ints, sizes: Ints, tolerance: float) -> tuple[Floats, Ints]:
    """The largest IoU of each rank, and the first pair that has it."""
    if len(first) == len(iou):
        return iou, first
    best = np.maximum.reduceat(iou, first)
    equal = iou >= (best - tolerance).repeat(sizes)
    return best, np.minimum.reduceat(np.where(equal, np.arange(len(iou)), len(iou)), first)


def groups(slot: Ints) -> tuple[Ints, Ints]:
    """Where each rank's pairs begin, and how many they are."""
    bounds = np.flatnonzero(np.concatenate([[True], slot[1:] != slot[:-1], [True]]))
    return bounds[:-1], bounds[1:] - bounds[:-1]
