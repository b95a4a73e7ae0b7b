"""How much of the hidden labels an attacker works out from the scores of crafted uploads, policy by policy.

    python -m benchmarks.label_leak [--queries 10,50,200,2781] [--uploads 1,5,50] [--attacked 10,100,1000]
        [--per-query 20] [--json]

A split is drawn with the relevances of the published TVR-Ranking data and so many judged moments a query as
--per-query says. The attacker knows everything but the labels attacked: the ideal gains, and what the rest of each
upload scores, so that the nine numbers can be moved to wherever they tell most. Three attacks are tried and the best
one is reported: one query at a time, group testing, and differencing. Method, figures:
docs/benchmarks/label-leak.md.

Exit status 1: the default policy tells more than 0.05 bits of a pair (100 pairs, 50 uploads, 2,781 queries of 20
moments), or anything below its least number of queries; or the undefended one passes the same test.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from benchmarks.common import arguments, machine, show
from models_runner.leaderboard import rules
from models_runner.leaderboard.rules import PROMISED_MOMENTS
from moment_retrieval.metrics.ndcg_iou import Gain
from moment_retrieval.metrics.report import KS, MUS
from moment_retrieval.tables import JudgedTable

Floats = NDArray[np.float64]
SHARES = np.array([5_929, 19_245, 30_056, 24_439, 14_773]) / 94_442  # of the relevances 0 to 4, as published
ENTROPY = float(-(SHARES * np.log2(SHARES)).sum())
LABELS = len(SHARES)
LEAST_SHOWN = 1e-4  # step of the undefended policy: four decimals
MOST_BITS = 0.05
TRIALS = 4
ENUMERATED = 6  # pairs whose labels are weighed together; larger groups are learned of one by one
SAMPLES = 400
SEED = 1
COUNTS = {
    "queries": "10,50,200,2781",
    "per-query": str(PROMISED_MOMENTS),
    "uploads": "1,5,50",
    "attacked": "10,100,1000",
}
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(9)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@dataclass(frozen=True)
class Policy:
    """A policy: which numbers participants see of a score.

    Attributes:
        gains: how many gains are shown; each has K x mu numbers.
        is_random: whether numbers are rounded by chance, as ``leaderboard.rules.rounded`` does.
        has_ladder: whether a run is shown only when its first number is a step above all before.
        least_queries: below it nothing is shown.
    """

    name: str
    gains: tuple[Gain, ...] = (Gain.EXPONENTIAL,)
    is_random: bool = False
    has_ladder: bool = False
    least_queries: int = 0
    has_steps: bool = True

    def step(self, queries: int) -> float:
        return float(rules.score_step(queries)) if self.has_steps else LEAST_SHOWN

    @property
    def numbers(self) -> int:
        """How many numbers an upload shows."""
        return len(self.gains) * len(KS) * len(MUS)

    def bound(self, queries: int, uploads: int) -> float:
        """The most bits that the answers can hold in all: log2 of the distinct answers, summed over the uploads."""
        if queries < self.least_queries:
            return 0.0
        levels = round(1 / self.step(queries)) + 1
        if not self.has_ladder:
            return uploads * self.numbers * math.log2(levels)
        rises = min(uploads, levels)  # each shows all numbers, any other upload says no more than that it is not one
        return rises * self.numbers * math.log2(levels) + uploads


def policies(queries: int) -> list[Policy]:
    below = queries < rules.LADDER_BELOW
    return [
        Policy("undefended", gains=tuple(Gain), has_steps=False),
        Policy("steps"),
        Policy("steps and ladder", has_ladder=True),
        Policy("default", is_random=True, has_ladder=below, least_queries=rules.LEAST_QUERIES),
    ]


@dataclass(frozen=True)
class Target:
    """The pairs attacked.

    Attributes:
        labels: [P] their relevances, which the attacker wants.
        query: [P] of each pair.
        worth: [P, labels, numbers] what each pair would add to the mean at rank 1, for each relevance; in steps.
    """

    labels: NDArray[np.int64]
    query: NDArray[np.int64]
    worth: Floats

    @property
    def truth(self) -> Floats:
        """[P, numbers] what each adds in fact."""
        return self.worth[np.arange(len(self.labels)), self.labels]


def split_drawn(random: np.random.Generator, queries: int, moments: int = PROMISED_MOMENTS) -> JudgedTable:
    """Queries with so many judged moments each, every moment in a video of its own."""
    relevance = random.choice(LABELS, size=(queries, moments), p=SHARES)
    videos = np.arange(queries * moments).reshape(queries, moments)
    starts, ends = np.zeros(videos.shape), np.full(videos.shape, 10.0)
    return JudgedTable.from_arrays(range(queries), videos, starts, ends, relevance)


def gain_of(relevance: Any, gain: Gain) -> Floats:
    grades = np.asarray(relevance, np.float64)
    return 2**grades - 1 if gain is Gain.EXPONENTIAL else grades


def target_of(judged: JudgedTable, pairs: int, policy: Policy) -> Target:
    """Return the first pairs, one of each query before a second of any; worth as in the scorer."""
    queries, moments = len(judged), len(judged.weights) // len(judged)
    number = np.arange(min(pairs, queries * moments))
    query, moment = number % queries, number // queries
    relevance = judged.weights.reshape(queries, moments)
    best_first = -np.sort(-relevance, axis=1)
    discount = 1 / np.log2(np.arange(moments) + 2)
    per_step = 1 / (queries * policy.step(queries))
    worth = np.zeros((len(number), LABELS, policy.numbers))
    for column, (gain, k, _) in enumerate(product(policy.gains, KS, MUS)):
        ideal = (gain_of(best_first, gain) * discount)[:, :k].sum(axis=1)
        worth[:, :, column] = gain_of(np.arange(LABELS), gain) / np.maximum(ideal, 1e-9)[query, None] * per_step
    return Target(relevance[query, moment].astype(np.int64), query, worth)


@dataclass(frozen=True)
class Upload:
    """One crafted run: the weights of the pairs in each number, and the score of everything else, in steps."""

    pairs: NDArray[np.int64]  # [G]
    weight: Floats  # [G, numbers]: the discount of the rank; 0 where the span's IoU is too small
    base: Floats  # [numbers]


@dataclass
class Attacker:
    """The belief about the pairs, and how each answer changes it (assumed density filtering).

    Attributes:
        belief: [P, labels] probabilities.
        best: the highest first number shown so far, for the Ladder.
    """

    policy: Policy
    target: Target
    random: np.random.Generator
    belief: Floats
    queries: int
    best: float = -1.0

    def upload(self, run: Upload) -> None:
        """Have a run scored, and learn from the answer."""
        exact = run.base + (run.weight * self.target.truth[run.pairs]).sum(axis=0)
        answer = self.rounded(exact)
        if self.policy.has_ladder and answer[0] <= self.best:
            self.learn(run, np.array([self.best]), at_most=True)
        else:
            self.best = max(self.best, answer[0])
            self.learn(run, answer)

    def rounded(self, exact: Floats) -> Floats:
        if not self.policy.is_random:
            return np.round(exact)
        one = rules.Decimal(1)  # exact values are in steps
        shares = self.random.random(len(exact))
        whole = np.floor(exact)
        ups = [rules.rounded(float(part), one, share) for part, share in zip(exact - whole, shares, strict=True)]
        return whole + np.array(ups)

    def likelihood(self, answer: Floats, exact: Floats, deviation: Floats, at_most: bool) -> Floats:
        """The probability of each answer, where the exact value is normal around ``exact``."""
        if not self.policy.is_random:
            spread = np.maximum(deviation, 1e-6)
            upper = ndtr((answer + 0.5 - exact) / spread)
            return upper if at_most else upper - ndtr((answer - 0.5 - exact) / spread)
        distance = exact[..., None] + deviation[..., None] * NODES - answer[..., None]
        distance = np.clip(distance, 0, 1) if at_most else np.minimum(np.abs(distance), 1)
        return ((1 + np.cos(np.pi * distance)) / 2) @ WEIGHTS

    def learn(self, run: Upload, answer: Floats, *, at_most: bool = False) -> None:
        columns = range(len(answer))
        for mu in reversed(range(len(MUS))):  # the strictest first: it holds the fewest pairs
            together = [column for column in columns if column % len(MUS) == mu]
            active = run.weight[:, together].any(axis=1) if together else np.zeros(0, np.bool_)
            if not active.any():
                continue
            part = replace(run, pairs=run.pairs[active], weight=run.weight[active])
            entropy = -(self.belief[part.pairs] * np.log2(self.belief[part.pairs] + 1e-300)).sum(axis=1)
            open_pairs = np.flatnonzero(entropy > 0.01)
            if len(open_pairs) <= ENUMERATED:
                self._learn_exactly(part, open_pairs, answer, together, at_most)
            else:
                for column in together:
                    self._learn_roughly(part, answer[column], column, at_most)

    def _moments(self, run: Upload, column: int) -> tuple[Floats, Floats, Floats]:
        """[G, labels] worth of each pair; [G] mean and variance under the belief."""
        worth = run.weight[:, column, None] * self.target.worth[run.pairs, :, column]
        belief = self.belief[run.pairs]
        mean = (belief * worth).sum(axis=1)
        return worth, mean, np.maximum((belief * worth**2).sum(axis=1) - mean**2, 0)

    def _learn_exactly(
        self, run: Upload, open_pairs: NDArray[np.int64], answer: Floats, columns: list[int], at_most: bool
    ) -> None:
        """Weigh every combination of labels of the open pairs; the others count by mean and variance."""
        if not len(open_pairs):
            return
        combinations = np.array(list(product(range(LABELS), repeat=len(open_pairs))), np.int64)
        beliefs = self.belief[run.pairs[open_pairs]]
        weights = np.prod([beliefs[n, combinations[:, n]] for n in range(len(open_pairs))], axis=0)
        for column in columns:
            worth, mean, variance = self._moments(run, column)
            rest = np.delete(mean, open_pairs).sum() + run.base[column]
            spread = np.full(len(combinations), math.sqrt(np.delete(variance, open_pairs).sum()))
            total = rest + sum(worth[pair, combinations[:, n]] for n, pair in enumerate(open_pairs))
            weights = weights * self.likelihood(np.full(len(total), answer[column]), total, spread, at_most)
        if weights.sum() <= 0:
            return  # the belief was wrong; nothing sensible follows
        for n, pair in enumerate(open_pairs):
            after = np.bincount(combinations[:, n], weights=weights, minlength=LABELS)
            self.belief[run.pairs[pair]] = after / after.sum()

    def _learn_roughly(self, run: Upload, answer: float, column: int, at_most: bool) -> None:
        """Each pair by itself, all others as one normal value."""
        worth, mean, variance = self._moments(run, column)
        exact = run.base[column] + mean.sum() - mean[:, None] + worth
        spread = np.broadcast_to(np.sqrt(np.maximum(variance.sum() - variance, 0))[:, None], exact.shape)
        after = self.belief[run.pairs] * (self.likelihood(np.full(exact.shape, answer), exact, spread, at_most) + 1e-12)
        self.belief[run.pairs] = after / after.sum(axis=1, keepdims=True)


def single_query(attacker: Attacker, uploads: int) -> None:
    """Ten pairs of one query after the other, at IoU 1, 0.6 and 0.4, nothing else in the run."""
    numbers = attacker.policy.numbers
    queries = list(dict.fromkeys(attacker.target.query.tolist()))
    for number in range(uploads):
        pairs = np.flatnonzero(attacker.target.query == queries[number % len(queries)])[:10]
        order = attacker.random.permutation(len(pairs)) if number >= len(queries) else np.arange(len(pairs))
        discount = 1 / np.log2(np.arange(len(pairs)) + 2)
        reach = np.array([3, 2, 1])[np.minimum(np.arange(len(pairs)) * 3 // max(len(pairs), 1), 2)]  # of the mus
        counts = np.arange(numbers)[None, :] % len(MUS) < reach[:, None]
        attacker.upload(Upload(pairs[order], counts * discount[:, None], np.zeros(numbers)))


def group_testing(attacker: Attacker, uploads: int) -> None:
    """A random half of the pairs in each run, each at rank 1 or behind others of its query."""
    for _ in range(uploads):
        pairs = attacker.random.permutation(np.flatnonzero(attacker.random.random(len(attacker.target.labels)) < 0.5))
        attacker.upload(_spread(attacker, pairs, np.zeros(attacker.policy.numbers)))


def differencing(attacker: Attacker, uploads: int) -> None:
    """A few pairs in each run, added to a base that puts every number where it tells most of them."""
    policy, pairs = attacker.policy, len(attacker.target.labels)
    size = -(-pairs // uploads)
    for number in range(uploads):
        pair_numbers = np.unique(np.arange(number * size, (number + 1) * size) % pairs)
        level = max(2.0, attacker.best + 1)
        if level + 2 > 1 / policy.step(attacker.queries):
            return  # the Ladder has no rung left
        run = _spread(attacker, pair_numbers, np.zeros(policy.numbers))
        sums = _sums(attacker, run)
        shares = (np.arange(policy.numbers) + 0.5) / policy.numbers
        base = level + 0.5 - np.diag(np.quantile(sums, shares, axis=0))
        if policy.has_ladder:
            base[0] = level  # shown, whatever the pairs add
        attacker.upload(replace(run, base=base))


def _spread(attacker: Attacker, pairs: NDArray[np.int64], base: Floats) -> Upload:
    """The pairs at IoU 1; those of one query one behind the other."""
    behind: dict[int, int] = {}
    ranks = []
    for query in attacker.target.query[pairs].tolist():
        behind[query] = behind.get(query, 0) + 1
        ranks.append(behind[query])
    rank = np.array(ranks, np.int64)
    within_cutoff = np.array([k for _, k, _ in product(attacker.policy.gains, KS, MUS)])[None, :] >= rank[:, None]
    return Upload(pairs, within_cutoff / np.log2(rank + 1)[:, None], base)


def _sums(attacker: Attacker, run: Upload) -> Floats:
    """[samples, numbers] what the pairs may add, under the belief."""
    belief = attacker.belief[run.pairs].cumsum(axis=1)
    labels = (attacker.random.random((SAMPLES, len(run.pairs)))[..., None] > belief).sum(axis=2)
    worth = attacker.target.worth[run.pairs[None, :], np.minimum(labels, LABELS - 1)]  # [samples, G, numbers]
    sums: Floats = np.einsum("sgn,gn->sn", worth, run.weight)
    return sums


ATTACKS: dict[str, Callable[[Attacker, int], None]] = {
    attack.__name__.replace("_", " "): attack for attack in (single_query, group_testing, differencing)
}


def attacked(
    policy: Policy, *, queries: int, uploads: int, pairs: int, attack: str, trials: int, moments: int = PROMISED_MOMENTS
) -> dict[str, float]:
    """Return bits learned of a pair, and the share of pairs whose relevance is guessed right; means over splits."""
    bits, guessed = [], []
    for trial in range(trials):
        random = np.random.default_rng([SEED, trial, queries, uploads, pairs])
        target = target_of(split_drawn(random, queries, moments), pairs, policy)
        attacker = Attacker(policy, target, random, np.tile(SHARES, (len(target.labels), 1)), queries)
        if queries >= policy.least_queries:
            ATTACKS[attack](attacker, uploads)
        probabilities = attacker.belief[np.arange(len(target.labels)), target.labels]
        bits.append(float(np.log2((probabilities + 1e-12) / SHARES[target.labels]).mean()))
        guessed.append(float((attacker.belief.argmax(axis=1) == target.labels).mean()))
    return {"bits": sum(bits) / trials, "guessed": sum(guessed) / trials}


def rows_of(
    queries: int, uploads: int, pairs: int, trials: int, moments: int = PROMISED_MOMENTS
) -> Iterator[dict[str, Any]]:
    """Yield a row for each policy, with the attack that learns most."""
    pairs = min(pairs, queries * moments)
    sizes = {"queries": queries, "uploads": uploads, "pairs": pairs, "trials": trials, "moments": moments}
    for policy in policies(queries):
        results = {name: attacked(policy, attack=name, **sizes) for name in ATTACKS}
        best = max(results, key=lambda name: results[name]["bits"])
        yield {
            "policy": policy.name,
            "queries": queries,
            "per_query": moments,
            "uploads": uploads,
            "attacked": pairs,
            "bits": round(results[best]["bits"], 4),
            "guessed": round(results[best]["guessed"], 4),
            "prior": round(float(SHARES.max()), 4),
            "attack": best,
            "bound": round(policy.bound(queries, uploads) / pairs, 2),
        }


def is_safe(rows: list[dict[str, Any]], policy: str) -> bool:
    """Whether the policy passes: little learned of the 100 pairs attacked in a large split, nothing in a small one."""
    own = [row for row in rows if row["policy"] == policy]
    promised = (2_781, PROMISED_MOMENTS, 50, 100)
    large = [row for row in own if (row["queries"], row["per_query"], row["uploads"], row["attacked"]) == promised]
    small = [row for row in own if row["queries"] < rules.LEAST_QUERIES]
    return all(row["bits"] <= MOST_BITS for row in large) and all(row["bits"] == 0 for row in small)


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main() -> int:
    parser = arguments(__doc__, trials=TRIALS)
    for name, default in COUNTS.items():
        parser.add_argument(f"--{name}", type=numbers, default=default, help="(%(default)s)")
    options = parser.parse_args()
    started = time.perf_counter()
    counts = (options.queries, options.per_query, options.uploads, options.attacked)
    rows = [
        row
        for queries, moments, uploads, pairs in product(*counts)
        for row in rows_of(queries, uploads, pairs, options.trials, moments)
    ]
    result = {"machine": machine(), "entropy": round(ENTROPY, 4), "trials": options.trials, "rows": rows}
    result["seconds"] = round(time.perf_counter() - started, 1)
    show(result, as_json=options.json)
    return 0 if is_safe(rows, "default") and not is_safe(rows, "undefended") else 1


if __name__ == "__main__":
    sys.exit(main())
