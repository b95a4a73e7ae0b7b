"""Effect of fewer judgments on the same runs: the ground truth is thinned, and every run scored again.

Source: Voorhees 2000 and Sanderson & Zobel 2005 ask so of documents; here of moments and of TVR-Ranking's protocol.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from moment_retrieval.metrics import report
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.records import JudgedMoment
from moment_retrieval.serialization import answers_to
from moment_retrieval.statistics.significance import SEED, bounds, draws, kendall
from moment_retrieval.tables import Floats, JudgedTable, RunTable

HALVES = 10  # random halves of which the mean is shown
SAMPLES = 1_000  # bootstrap samples over queries, shared among the halves
LEAST_RUNS = 3
JUDGES, MAX_SPREAD = 2, 1  # of TVR-Ranking
NUMERALS = {2: "two", 3: "three"}  # judges of a round


@dataclass(frozen=True)
class Pair:
    """Data of a release's files on one judged pair beside its relevance; grades in the order of their rounds."""

    pair_id: int
    query_id: str
    video: str
    start_s: float
    end_s: float
    rank: int | None
    batch: int | None
    grades: tuple[int, ...]


@dataclass(frozen=True)
class Cut:
    """One way to judge less: its name, what remains (several draws where chance has a part), how much that is."""

    name: str
    words: str
    truths: list[JudgedTable]
    judgments: int | None
    pairs: int


@dataclass(frozen=True)
class Effect:
    """Effect of a cut on the scores and the ranking of the runs, for each measure [M]."""

    tau: Floats  # Kendall's tau-b between the ranking and the full one, mean of the draws; NaN where all runs tie
    low: Floats  # its 95 % interval over queries and draws
    high: Floats
    change: Floats  # the mean absolute change of a run's score
    scores: Floats  # [runs, M] mean scores under the cut


def first_half(judged: JudgedTable, rank: Floats) -> JudgedTable:
    """Return of each query the half of its judged moments whose rank [R] is smaller, rounded up."""
    order = np.lexsort((judged.order, rank, judged.query))
    position = np.empty(len(order), np.int64)
    position[order] = judged.order
    return judged.taken(position < (np.diff(judged.offsets)[judged.query] + 1) // 2)


def ranks_of(judged: JudgedTable) -> Floats | None:
    """[R] an order by similarity from what the file says of each moment; None where it does not say."""
    if not judged.notes or any(note.similarity is None for note in judged.notes):
        return None
    return -np.array([note.similarity for note in judged.notes], np.float64)


def first_round(
    pairs: Sequence[Pair], judged: JudgedTable, *, judges: int, max_spread: int, average: bool
) -> JudgedTable:
    """Return relevance from the grades of the first round alone.

    Args:
        average: pairs whose grades lie apart get their mean, rounded up; otherwise they are left out.
    """
    of_query: dict[str, list[JudgedMoment]] = {}
    for pair in pairs:
        grades = pair.grades[:judges]
        if len(grades) == judges and (average or max(grades) - min(grades) <= max_spread):
            moment = JudgedMoment(pair.video, pair.start_s, pair.end_s, math.ceil(sum(grades) / judges))
            of_query.setdefault(pair.query_id, []).append(moment)
    judged_as = judged_names(judged, {pair.pair_id: pair for pair in pairs})
    return JudgedTable.from_moments({name: of_query.get(judged_as[name], []) for name in judged.query_ids})


def judged_names(judged: JudgedTable, pairs: Mapping[object, Pair]) -> dict[str, str]:
    """Whose pairs each query's moments are: queries of the same text share those of one of them."""
    representatives = {query_id: query_id for query_id in judged.query_ids}
    for query, note in zip(judged.query.tolist(), judged.notes, strict=False):
        if note.pair_id in pairs:
            representatives[judged.query_ids[query]] = pairs[note.pair_id].query_id
    return representatives


def cuts(
    judged: JudgedTable,
    pairs: Sequence[Pair] = (),
    *,
    judges: int = JUDGES,
    max_spread: int = MAX_SPREAD,
    halves: int = HALVES,
    seed: int = SEED,
) -> Iterator[Cut]:
    """Yield the ways to judge less that the files allow; without ``pairs`` those that need nothing more.

    Args:
        judges: grades of a round.
        max_spread: how far apart the grades of a round may lie for it to settle a pair.
    """
    random = np.random.default_rng(seed)
    thinned = [first_half(judged, random.random(len(judged.weights))) for _ in range(halves)]
    by_id: dict[object, Pair] = {pair.pair_id: pair for pair in pairs}
    note_pairs = [by_id.get(note.pair_id) for note in judged.notes] or [None] * len(judged.weights)
    spent = spent_at_random(judged, thinned, pairs)
    yield Cut("half", "a random half of each query's pairs", thinned, spent, len(thinned[0].weights))
    depths = [math.inf if pair is None else _depth(pair) for pair in note_pairs]
    rank = np.array(depths) if pairs else ranks_of(judged)
    if rank is not None:
        shallow = first_half(judged, rank)
        spent = spent_to_depth(judged, shallow, pairs)
        yield Cut("depth", "half as deep: the better half by similarity", [shallow], spent, len(shallow.weights))
    if any(pair is not None and (pair.batch or 1) > 1 for pair in note_pairs):
        first = np.array([pair is None or (pair.batch or 1) == 1 for pair in note_pairs])
        batch_table = judged.taken(first)
        spent = _judgments(pair for pair in pairs if (pair.batch or 1) == 1)
        yield Cut("first-batch", "without second batches", [batch_table], spent, len(batch_table.weights))
    if any(len(pair.grades) > judges for pair in pairs):
        spent = sum(len(pair.grades[:judges]) for pair in pairs)
        averaged, agreed = (
            first_round(pairs, judged, judges=judges, max_spread=max_spread, average=average)
            for average in (True, False)
        )
        numeral = NUMERALS[judges]
        words = f"the first {numeral} annotators alone"
        mean, left_out = f"{words}, their mean where they lie apart", f"{words}, pairs where they lie apart left out"
        yield Cut(f"{numeral}-averaged", mean, [averaged], spent, len(averaged.weights))
        yield Cut(f"{numeral}-agreed", left_out, [agreed], spent, len(agreed.weights))


def spent_at_random(judged: JudgedTable, halves: Sequence[JudgedTable], pairs: Sequence[Pair]) -> int | None:
    """The judgments behind random halves, their mean; of dropped pairs the share that each query keeps of others."""
    judged_ids = _ids(judged)
    settled = Counter(pair.query_id for pair in pairs if pair.pair_id in judged_ids)
    dropped = [pair for pair in pairs if pair.pair_id not in judged_ids]
    spent = []
    for half in halves:
        ids = _ids(half)
        half_counts = Counter(pair.query_id for pair in pairs if pair.pair_id in ids)
        shares = (
            half_counts[pair.query_id] / settled[pair.query_id] if settled[pair.query_id] else 0.5 for pair in dropped
        )
        beside = sum(len(pair.grades) * share for pair, share in zip(dropped, shares, strict=True))
        spent.append(_judgments(pair for pair in pairs if pair.pair_id in ids) + beside)
    return round(sum(spent) / len(spent)) if pairs else None


def spent_to_depth(judged: JudgedTable, shallow: JudgedTable, pairs: Sequence[Pair]) -> int | None:
    """The judgments behind what is kept, and behind the dropped pairs that lie no deeper."""
    settled, ids = _ids(judged), _ids(shallow)
    deepest: dict[str, float] = {}
    for pair in pairs:
        if pair.pair_id in ids:
            deepest[pair.query_id] = max(_depth(pair), deepest.get(pair.query_id, 0))
    spent = _judgments(
        pair
        for pair in pairs
        if pair.pair_id in ids or (pair.pair_id not in settled and _depth(pair) <= deepest.get(pair.query_id, 0))
    )
    return spent if pairs else None


def _ids(judged: JudgedTable) -> set[object]:
    return {note.pair_id for note in judged.notes}


def _depth(pair: Pair) -> float:
    return math.inf if pair.rank is None else pair.rank


def _judgments(pairs: Iterable[Pair]) -> int:
    return sum(len(pair.grades) for pair in pairs)


def values_of(runs: Mapping[str, RunTable], judged: JudgedTable) -> Floats:
    """[runs, queries, M] NDCG@K,IoU>=mu of every run in the paper's convention."""
    return np.stack([evaluate(answers_to(run, judged.query_ids), judged).values for run in runs.values()])


def effect(full: Floats, cut_values: Sequence[Floats], *, samples: int = SAMPLES, seed: int = SEED) -> Effect:
    """Return a cut's effect, from the values [runs, queries, M] under the full judgments and each of its draws."""
    whole, parts = full.mean(axis=1), [values.mean(axis=1) for values in cut_values]
    taus = np.array([kendall(whole.T, part.T) for part in parts])
    each = max(1, samples // len(cut_values))
    tau_samples = np.concatenate(
        [_sampled(full, values, each, seed + number) for number, values in enumerate(cut_values)]
    )
    low, high = bounds(tau_samples).T
    return Effect(
        tau=_mean(taus),
        low=low,
        high=high,
        change=np.mean([np.abs(part - whole).mean(axis=0) for part in parts], axis=0),
        scores=np.mean(parts, axis=0),
    )


def _sampled(full: Floats, values: Floats, samples: int, seed: int) -> Floats:
    """[samples, M] tau where the queries are drawn again, the same for both."""
    runs, queries, measures = full.shape
    flat = [np.moveaxis(each, 1, 0).reshape(queries, runs * measures) for each in (full, values)]
    taus = []
    for counts in draws(queries, samples, seed=seed):
        one, other = ((counts @ each).reshape(len(counts), runs, measures) / queries for each in flat)
        taus.append(kendall(np.moveaxis(one, 1, 2), np.moveaxis(other, 1, 2)))
    return np.concatenate(taus)


def _mean(taus: Floats) -> Floats:
    mask = ~np.isnan(taus)
    with np.errstate(invalid="ignore"):
        mean: Floats = np.where(mask, taus, 0).sum(axis=0) / mask.sum(axis=0)
    return mean


MEASURES = tuple(f"NDCG@{k},IoU>={mu}" for k in report.KS for mu in report.MUS)
OnProgress = Callable[[int, int], None]


def study(
    runs: Mapping[str, RunTable],
    judged: JudgedTable,
    pairs: Sequence[Pair] = (),
    *,
    judges: int = JUDGES,
    max_spread: int = MAX_SPREAD,
    halves: int = HALVES,
    samples: int = SAMPLES,
    seed: int = SEED,
    on_progress: OnProgress = lambda n_done, total: None,
) -> dict[str, Any]:
    """The effects of all cuts as plain values: what is kept, shown and written.

    Raises:
        ValueError: there are fewer than LEAST_RUNS runs; a ranking of two says little.
        ScoringError: a run cannot be scored.
    """
    if len(runs) < LEAST_RUNS:
        raise ValueError(f"needs {LEAST_RUNS} runs, got {len(runs)}")
    reductions = list(cuts(judged, pairs, judges=judges, max_spread=max_spread, halves=halves, seed=seed))
    total = 1 + sum(len(reduction.truths) for reduction in reductions)
    n_done = 1
    full = values_of(runs, judged)
    on_progress(n_done, total)
    rows = []
    for reduction in reductions:
        values = []
        for truth in reduction.truths:
            values.append(values_of(runs, truth))
            n_done += 1
            on_progress(n_done, total)
        rows.append(_effect_row(reduction, effect(full, values, samples=samples, seed=seed)))
    return {
        "runs": list(runs),
        "measures": list(MEASURES),
        "queries": len(judged),
        "pairs": len(judged.weights),
        "judgments": _judgments(pairs) or None,
        "scores": _plain(full.mean(axis=1)),
        "cuts": rows,
        "halves": halves,
        "samples": samples,
        "seed": seed,
    }


def _effect_row(reduction: Cut, outcome: Effect) -> dict[str, Any]:
    facts = {name: getattr(reduction, name) for name in ("name", "words", "judgments", "pairs")}
    return facts | {name: _plain(values) for name, values in vars(outcome).items()}


def _plain(values: Floats) -> Any:
    """Lists; None for what is undefined, as JSON has no NaN."""
    plain = values.astype(object)
    plain[np.isnan(values)] = None
    return plain.tolist()
