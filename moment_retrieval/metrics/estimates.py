"""Estimates from incomplete judgments: bpref and inferred average precision of moments, and condensed NDCG.

A prediction counts as the judged moment that it claims at the IoU threshold, as for NDCG. Predictions that claim none
are of moments that nobody judged.

Sources: bpref: Buckley and Voorhees, SIGIR 2004, as trec_eval computes it; infAP: Yilmaz and Aslam, CIKM 2006; xinfAP:
Yilmaz, Kanoulas and Aslam, SIGIR 2008; condensed lists: Sakai, SIGIR 2007.

Notation: B queries, N ranks of the longest list, S strata.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from moment_retrieval.errors import InvalidRecord
from moment_retrieval.metrics.matching import NOTHING, lengths, matches
from moment_retrieval.metrics.ndcg_iou import Convention, Measure, check_measures
from moment_retrieval.metrics.scores import Scores, check_queries, missing_queries, numbers_of
from moment_retrieval.tables import Flags, Floats, Ints, JudgedTable, RunTable

MUS = (0.3, 0.5, 0.7)
EPSILON = 0.00001  # trec_eval's: no share of judged items is exactly 0 or 1
ALL_RANKS = 0  # the cutoff of measures that have none


class EstimateMeasure(NamedTuple):
    """Prints as ``bpref,IoU>=0.5``."""

    name: str
    mu: float

    def __str__(self) -> str:
        return f"{self.name},IoU>={self.mu}"


@dataclass(frozen=True, eq=False)
class Pool:
    """Moments pooled for the queries of a ground truth, of which a random part of each stratum was judged.

    The judged moments lie in a stratum each; pooled moments that were not judged are a table of their own.
    """

    judged_stratum: Ints  # [rows of the ground truth], from 0
    unjudged: JudgedTable  # its relevance has no meaning
    unjudged_stratum: Ints  # [rows of ``unjudged``]

    @property
    def n_strata(self) -> int:
        return 1 + max(int(self.judged_stratum.max(initial=-1)), int(self.unjudged_stratum.max(initial=-1)))


def pool_for(judged: JudgedTable, pool_judged: JudgedTable, pool: Pool) -> Pool | None:
    """Return the part of a pool that is of a ground truth, by its rows; None where it lacks a judged moment.

    Args:
        pool_judged: the judged moments that the pool's strata are of.
    """
    rows = zip(pool_judged.query.tolist(), range(len(pool_judged.weights)), pool.judged_stratum.tolist(), strict=True)
    strata = {(pool_judged.query_ids[query], pool_judged.span(row)): stratum for query, row, stratum in rows}
    keys = [(judged.query_ids[query], judged.span(row)) for row, query in enumerate(judged.query.tolist())]
    if any(key not in strata for key in keys):
        return None
    owners = [query_id in judged.row_of for query_id in pool.unjudged.query_ids]
    mask = np.array(owners, np.bool_)[pool.unjudged.query]
    part = pool.unjudged.taken(mask)
    moments = {query_id: part[query_id] for query_id, owner in zip(part.query_ids, owners, strict=True) if owner}
    return Pool(
        np.array([strata[key] for key in keys], np.int64),
        JudgedTable.from_moments(moments),
        pool.unjudged_stratum[mask],
    )


def estimates(run: RunTable, judged: JudgedTable, *, mus: Sequence[float] = MUS, pool: Pool | None = None) -> Scores:
    """Score a run by bpref and infAP, and by xinfAP where the strata of the pool are given.

    Queries without a relevant moment, and those that the run does not answer, count 0, as with trec_eval's option -c.
    Without a pool, every moment that is not judged counts as not pooled, and infAP as AP smoothed.

    Raises:
        UnknownQuery, EmptyFile, InvalidCutoff; InvalidRecord where the pool is not of the ground truth.
    """
    check_measures(Measure(1, mu) for mu in mus)
    check_queries(run, judged)
    if pool is not None and len(pool.judged_stratum) != len(judged.weights):
        raise InvalidRecord(
            f"the pool has strata of {len(pool.judged_stratum)} judged moments, the ground truth {len(judged.weights)}"
        )
    names = ("bpref", "infAP") + (("xinfAP",) if pool else ())
    measures = tuple(EstimateMeasure(name, mu) for mu in mus for name in names)
    values = np.zeros((len(judged), len(measures)))
    relevant, irrelevant = (
        np.bincount(judged.query[rows], minlength=len(judged)).astype(np.float64)
        for rows in (judged.weights > 0, judged.weights == 0)
    )
    totals = None if pool is None else stratum_totals(judged, pool)
    for index, mu in enumerate(mus):
        for queries, claims in claims_of(run, judged, mu, pool):
            columns = [
                bpref(claims, relevant[queries], irrelevant[queries]),
                inferred_precision(claims, relevant[queries]),
            ]
            if totals is not None:
                columns.append(stratified_precision(claims, totals.taken(queries)))
            first = index * len(names)
            values[queries, first : first + len(names)] = np.stack(columns, axis=1)
    return Scores(
        measures=measures,
        query_ids=judged.query_ids,
        values=values,
        missing=missing_queries(run, judged),
        kinds=judged.kinds,
    )


@dataclass(frozen=True)
class Claims:
    """Kind of the moment that each rank claims [B, N]: relevant, judged and not relevant, or pooled and not judged."""

    relevant: Flags
    irrelevant: Flags
    unjudged: Flags
    stratum: Ints  # of what it claims; NOTHING where it claims nothing


def claims_of(run: RunTable, judged: JudgedTable, mu: float, pool: Pool | None) -> Iterator[tuple[Ints, Claims]]:
    """Yield numbers of queries in the ground truth, and what their lists claim, some queries at a time."""
    items = judged if pool is None else pooled_moments(judged, pool)
    is_judged = np.zeros(len(items.weights), np.bool_)
    stratum = np.zeros(len(items.weights), np.int64)
    if pool is None:
        is_judged[:] = True
    else:
        rows = pooled_rows(judged, pool)
        is_judged[rows[: len(judged.weights)]] = True
        stratum[rows] = np.concatenate([pool.judged_stratum, pool.unjudged_stratum])
    numbers = numbers_of(judged.query_ids, run)
    depth = int(lengths(run, numbers).max(initial=1))
    queries, convention = np.stack([numbers, np.arange(len(judged))], axis=1), Convention.PAPER
    least = [convention.least(mu)]
    for match in matches(run, items, queries, least, tolerance=convention.tolerance, depth=depth):
        claimed = match.claimed[0]
        real = claimed != NOTHING
        relevance = np.where(real, items.weights[claimed], 0.0)
        has_grade = real & is_judged[claimed]
        yield (
            match.queries,
            Claims(
                relevant=has_grade & (relevance > 0),
                irrelevant=has_grade & (relevance == 0),
                unjudged=real & ~is_judged[claimed],
                stratum=np.where(real, stratum[claimed], NOTHING),
            ),
        )


def pooled_rows(judged: JudgedTable, pool: Pool) -> Ints:
    """Return where each judged, then each other pooled moment stands in ``pooled_moments``."""
    query = np.concatenate([judged.query, numbers_of(pool.unjudged.query_ids, judged)[pool.unjudged.query]])
    rows = np.empty(len(query), np.int64)
    rows[np.argsort(query, kind="stable")] = np.arange(len(query))
    return rows


def pooled_moments(judged: JudgedTable, pool: Pool) -> JudgedTable:
    """Return the ground truth with the pooled moments that nobody judged behind those of each query."""
    moments = {query_id: [*judged[query_id], *pool.unjudged.get(query_id, ())] for query_id in judged.query_ids}
    return JudgedTable.from_moments(moments)


def bpref(claims: Claims, relevant: Floats, irrelevant: Floats) -> Floats:
    """Return, per query [B], how rarely judged irrelevant moments stand before relevant ones.

    Args:
        relevant, irrelevant: how many judged moments of each kind the query has [B].
    """
    above = np.minimum(np.cumsum(claims.irrelevant, axis=1), relevant[:, None])
    fewer = np.minimum(relevant, irrelevant)[:, None]
    penalty = np.divide(above, fewer, out=np.zeros_like(above), where=fewer > 0)
    return shares((claims.relevant * (1 - penalty)).sum(axis=1), relevant)


def inferred_precision(claims: Claims, relevant: Floats) -> Floats:
    """Return the average precision [B] that a pool judged at random lets expect: infAP."""
    one_stratum = Claims(
        claims.relevant, claims.irrelevant, claims.unjudged, np.where(claims.stratum == NOTHING, NOTHING, 0)
    )
    return shares((one_stratum.relevant * expected_precision(one_stratum, 1)).sum(axis=1), relevant)


def expected_precision(claims: Claims, n_strata: int) -> Floats:
    """Return the precision at each rank [B, N] that is expected where the moment at the rank is relevant."""
    ranks = np.arange(1, claims.relevant.shape[1] + 1)
    total = np.zeros(claims.relevant.shape)
    for number in range(n_strata):
        inside = claims.stratum == number
        pooled, hits, misses = (
            np.cumsum(flags & inside, axis=1) - (flags & inside)
            for flags in (inside, claims.relevant, claims.irrelevant)
        )
        total += pooled * (hits + EPSILON) / (hits + misses + 2 * EPSILON)
    precision: Floats = (1 + total) / ranks
    return precision


@dataclass(frozen=True)
class StratumTotals:
    """Of each query and stratum [B, S]: how many relevant moments are estimated, and how many were judged so."""

    n_relevant: Floats
    n_judged_relevant: Floats

    def taken(self, queries: Ints) -> StratumTotals:
        return StratumTotals(self.n_relevant[queries], self.n_judged_relevant[queries])


def stratum_totals(judged: JudgedTable, pool: Pool) -> StratumTotals:
    """Return how many relevant moments each stratum of each query holds, by the part of it that was judged."""
    shape = (len(judged), pool.n_strata)

    def count(query: Ints, stratum: Ints) -> Floats:
        return np.bincount(query * shape[1] + stratum, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)

    owners = numbers_of(pool.unjudged.query_ids, judged)[pool.unjudged.query]
    n_judged = count(judged.query, pool.judged_stratum)
    n_pooled = n_judged + count(owners, pool.unjudged_stratum)
    is_relevant = judged.weights > 0
    sampled = count(judged.query[is_relevant], pool.judged_stratum[is_relevant])
    scale = np.divide(n_pooled, n_judged, out=np.zeros(shape), where=n_judged > 0)
    return StratumTotals(sampled * scale, sampled)


def stratified_precision(claims: Claims, totals: StratumTotals) -> Floats:
    """Return the average precision [B] that strata judged at random, each at its own rate, let expect: xinfAP."""
    n_strata = totals.n_relevant.shape[1]
    precision = expected_precision(claims, n_strata)
    total = np.zeros(len(precision))
    for number in range(n_strata):
        precision_sum = (precision * (claims.relevant & (claims.stratum == number))).sum(axis=1)
        total += shares(precision_sum, totals.n_judged_relevant[:, number]) * totals.n_relevant[:, number]
    return shares(total, totals.n_relevant.sum(axis=1))


def shares(values: Floats, counts: Floats) -> Floats:
    """Return ``values`` by ``counts``, 0 where that is 0."""
    return np.divide(values, counts, out=np.zeros(len(values)), where=counts > 0)
