"""Limits to what scores on hidden labels reveal; studies of judging economy as rows. Pure.

An exact mean tells the labels behind it: enough uploads that differ in one prediction give one equation each. Therefore
participants see numbers in steps that depend on the number of queries alone, each rounded up or down by chance, and
every other number that they see (interval, rank, difference) is computed from those.

Sources: Blum and Hardt 2015, The Ladder: A Reliable Leaderboard for Machine Learning Competitions (arXiv:1502.04585);
Dwork et al. 2015, The reusable holdout (Science 349). The way of rounding is our own: see ``rounded``.
"""

import hmac
import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from hashlib import sha256
from typing import Any

import numpy as np

STEPS = (1, 2, 5)  # times a power of ten
INTERVAL_STEPS = 2  # to each side; a step is at least one standard error
LADDER_BELOW = 200  # queries; there the Ladder is on unless a lead says otherwise
LEAST_QUERIES = 50  # a split with fewer shows participants nothing
PROMISED_MOMENTS = (
    20  # judged moments a query on average; with fewer, scores tell more than docs/leaderboard.md promises
)
ALIKE_PERCENT = 5  # runs of a person that differ in fewer queries are listed for the lead


def score_step(n_queries: int) -> Decimal:
    """Return the step of shown scores: 0.3 / sqrt(n_queries) rounded up to 1, 2 or 5 times a power of ten. Raises
    ValueError where there is no query."""
    if n_queries < 1:
        raise ValueError(f"a split has at least one query, got {n_queries}")
    # digit * 10**-place >= 0.3 / sqrt(n), both sides squared, in whole numbers
    exponent = next(k for k in range(40) if 25 * n_queries * 100 < 9 * 100 ** (k + 1))
    digit = next(digit for digit in STEPS if digit**2 * n_queries * 100 >= 9 * 100**exponent)
    return Decimal(digit).scaleb(-exponent)


def share_of(secret: bytes, *parts: str) -> float:
    """Return a number in [0, 1) that nobody can compute without the secret; equal parts give equal numbers."""
    digest = hmac.new(secret, "\0".join(parts).encode(), sha256).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def rounded(value: float, step: Decimal, share: float) -> float:
    """Return one of the two multiples of ``step`` around ``value``, by chance.

    At a fraction f of the way from the lower to the upper multiple, the upper one is taken where
    ``share < sin(pi * f / 2) ** 2``: nearly always the nearer one, and a value on a multiple stays. With this curve a
    small change of the value is equally hard to see at every f (the Fisher information of one answer is pi**2 per
    step**2 everywhere), so that nothing is gained by moving a run to where numbers flip.

    Args:
        value: in [0, 1].
        share: a secret number in [0, 1), drawn once for each run and measure.
    """
    steps = value / float(step)
    lower = math.floor(steps)
    is_up = share < math.sin(math.pi * (steps - lower) / 2) ** 2
    return min(1.0, float((lower + is_up) * step))


def interval(value: float, step: Decimal) -> tuple[float, float]:
    """Return a 95 % interval around a shown score that depends on the number of queries alone. It is as wide as that of
    a run whose queries' values deviate by 0.3; a computed one would reveal single queries."""
    reach = INTERVAL_STEPS * step
    middle = Decimal(repr(value))
    return float(max(Decimal(0), middle - reach)), float(min(Decimal(1), middle + reach))


def ranks(scores: Sequence[float], step: Decimal) -> list[int]:
    """Return the rank of each score: 1 and the number of those that are more than one step higher.

    Compares every two: a leaderboard has tens of runs.
    """
    reach = 1.5 * float(step)  # between one step and two, whatever the last bit
    return [1 + sum(other - score > reach for other in scores) for score in scores]


def ladder(scores: Iterable[float], step: Decimal) -> list[bool]:
    """Say which of one person's scores are shown, in the order of the uploads: those a step better than all before."""
    best = -1.0
    visible = []
    for score in scores:
        visible.append(score - best > float(step) / 2)
        best = max(best, score)
    return visible


ECONOMY_COLUMNS = ["cut", "judgments", "pairs", "measure", "tau", "low", "high", "mean_absolute_change", "run", "score"]
NUMBERS = ("tau", "low", "high", "change")  # of each measure


def cuts_of(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return all judgments as if they were a cut, then every cut; of each measure the numbers of NUMBERS."""
    unknown = [None] * len(result["measures"])
    full = {"name": "full", "words": "all judgments", "tau": [1] * len(unknown)}
    return [{**result, **dict.fromkeys(NUMBERS, unknown), **full}, *result["cuts"]]


def rows_of(result: dict[str, Any], index: int) -> list[dict[str, Any]]:
    """Return a study's rows by the measure of this number: all judgments, then every cut. ``share`` is that of the
    judgments in percent; ``ranking`` holds name, score, and by how many places each run moved up."""
    before = _ranks([scores[index] for scores in result["scores"]])
    total = result["judgments"]
    rows = []
    for cutoff in cuts_of(result):
        numbers = {name: cutoff[name][index] for name in NUMBERS}
        share = round(100 * cutoff["judgments"] / total) if total and cutoff["judgments"] else None
        scores = [values[index] for values in cutoff["scores"]]
        now = _ranks(scores)
        ranking = sorted(zip(now, result["runs"], scores, before, strict=True))
        moves = [(name, score, earlier - rank) for rank, name, score, earlier in ranking]
        rows.append({**cutoff, **numbers, "share": share, "ranking": moves})
    return rows


def _ranks(scores: list[float]) -> list[int]:
    """Return the rank of each run, from 0 for the best; of equals the first stays first."""
    best_first = np.argsort(-np.array(scores), kind="stable")
    ranks: list[int] = np.argsort(best_first).tolist()
    return ranks


def table_rows(result: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield the rows of ECONOMY_COLUMNS: every cut, measure and run."""
    for cutoff in cuts_of(result):
        for index, measure in enumerate(result["measures"]):
            numbers = [cutoff[name][index] for name in NUMBERS]
            for run, scores in zip(result["runs"], cutoff["scores"], strict=True):
                yield [cutoff["name"], cutoff["judgments"], cutoff["pairs"], measure, *numbers, run, scores[index]]
