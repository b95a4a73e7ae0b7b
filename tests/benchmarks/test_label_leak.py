"""The benchmark of what scores tell of hidden labels: its sums are the scorer's, and its test can fail."""

import numpy as np
import pytest

from benchmarks import label_leak
from models_runner.leaderboard.rules import LEAST_QUERIES, score_step
from moment_retrieval.metrics.ndcg_iou import Gain
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.tables import RunTable


def policy_of(name: str, queries: int) -> label_leak.Policy:
    return next(policy for policy in label_leak.policies(queries) if policy.name == name)


@pytest.mark.parametrize("gain", list(Gain))
def test_what_a_pair_adds_is_what_the_scorer_says(gain: Gain) -> None:
    queries = 6
    judged = label_leak.split_drawn(np.random.default_rng(3), queries)
    undefended = policy_of("undefended", queries)
    target = label_leak.target_of(judged, 8, undefended)  # the last two are second pairs of their queries
    rows = [(query, 0) for query in range(queries)] + [(0, 1), (1, 1)]
    answers: dict[str, list[list[float]]] = {query_id: [] for query_id in judged.query_ids}
    for query, moment in rows:
        answers[str(query)].append([query * (len(judged.weights) // len(judged)) + moment, 0.0, 10.0])
    run = RunTable.from_moments({name: np.array(some, np.float64).reshape(-1, 3) for name, some in answers.items()})
    correct = np.array(list(evaluate(run, judged, gain=gain).mean.values()))
    rank = np.array([1] * queries + [2, 2])
    first = undefended.gains.index(gain) * 9
    crafted = (target.truth[:, first : first + 9] / np.log2(rank + 1)[:, None]).sum(axis=0)
    assert crafted * label_leak.LEAST_SHOWN == pytest.approx(correct, abs=1e-12)


def test_what_the_default_promises_holds_and_the_undefended_policy_fails_it() -> None:
    """The figure that docs/leaderboard.md promises, with one split instead of four."""
    some = {"queries": 2_781, "uploads": 50, "pairs": 100, "trials": 1}
    default = policy_of("default", 2_781)
    bits = [label_leak.attacked(default, attack=name, **some)["bits"] for name in label_leak.ATTACKS]
    assert max(bits) <= label_leak.MOST_BITS
    for name, pairs in (("undefended", 100), ("steps", 10)):  # who knows where steps flip learns by them alone
        policy = policy_of(name, 2_781)
        assert label_leak.attacked(policy, attack="differencing", **{**some, "pairs": pairs})["bits"] > 1


def test_few_judged_moments_a_query_leak_more_than_is_promised() -> None:
    """Each weighs more in a score: why docs/leaderboard.md names the number."""
    some = {"queries": 2_781, "uploads": 50, "pairs": 100, "trials": 4, "attack": "group testing"}
    many, few = (
        label_leak.attacked(policy_of("default", 2_781), **some, moments=moments)["bits"] for moments in (20, 5)
    )
    assert few > label_leak.MOST_BITS > many


def test_the_bound_counts_distinct_answers() -> None:
    assert policy_of("steps", 2_781).bound(2_781, 2) == pytest.approx(2 * 9 * np.log2(101))
    assert float(score_step(50)) == 0.05
    assert policy_of("default", 50).bound(50, 30) == pytest.approx(21 * 9 * np.log2(21) + 30)  # the Ladder has 21 rungs
    assert policy_of("default", LEAST_QUERIES - 1).bound(LEAST_QUERIES - 1, 50) == 0
