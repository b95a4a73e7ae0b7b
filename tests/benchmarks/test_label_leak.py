"""The benchmark of what scores tell of hidden labels: its sums are the scorer's, and its test can fail."""

import numpy as np
import pytest

from benchmarks import label_leak
from benchmarks.label_leak import SHARES, Attacker, Floats, Upload, attacked, is_safe, policies, rows_of
from models_runner.leaderboard.rules import LEAST_QUERIES, PROMISED_MOMENTS, score_step
from moment_retrieval.metrics.ndcg_iou import Gain
from moment_retrieval.metrics.report import evaluate
from moment_retrieval.tables import JudgedTable, RunTable

DEFAULT = "default"


def policy_of(name: str, queries: int) -> label_leak.Policy:
    return next(policy for policy in policies(queries) if policy.name == name)


def mean_of(judged: JudgedTable, rows: list[tuple[int, int, float]], gain: Gain) -> Floats:
    """[K x mu] the scorer's values of a run with these (query, judged moment, end of the span), best first."""
    moments = len(judged.weights) // len(judged)
    answers: dict[str, list[list[float]]] = {query_id: [] for query_id in judged.query_ids}
    for query, moment, end_s in rows:
        answers[str(query)].append([query * moments + moment, 0.0, end_s])
    run = RunTable.from_moments({name: np.array(some, np.float64).reshape(-1, 3) for name, some in answers.items()})
    return np.array(list(evaluate(run, judged, gain=gain).mean.values()))


@pytest.mark.parametrize("gain", list(Gain))
def test_what_a_pair_adds_is_what_the_scorer_says(gain: Gain) -> None:
    queries = 6
    judged = label_leak.split_drawn(np.random.default_rng(3), queries)
    undefended = policy_of("undefended", queries)
    target = label_leak.target_of(judged, 8, undefended)  # the last two are second pairs of their queries
    rows = [(query, 0, 10.0) for query in range(queries)] + [(0, 1, 10.0), (1, 1, 10.0)]
    rank = np.array([1] * queries + [2, 2])
    first = undefended.gains.index(gain) * 9
    crafted = (target.truth[:, first : first + 9] / np.log2(rank + 1)[:, None]).sum(axis=0)
    correct = mean_of(judged, rows, gain)
    assert crafted * label_leak.LEAST_SHOWN == pytest.approx(correct, abs=1e-12)


def test_spans_of_smaller_iou_count_in_fewer_numbers() -> None:
    judged = label_leak.split_drawn(np.random.default_rng(4), 3)
    whole, most, some = (mean_of(judged, [(0, 0, end_s)], Gain.EXPONENTIAL) for end_s in (10.0, 6.0, 4.0))
    for columns, run in (([0, 1, 2], whole), ([0, 1], most), ([0], some)):
        mask = np.isin(np.arange(9) % 3, columns)
        assert run == pytest.approx(np.where(mask, whole, 0))
    assert whole.min() > 0


def test_one_exact_answer_is_weighed_by_bayes_rule() -> None:
    """A pair alone in a run: whatever label gives another answer is ruled out, the others keep their proportions."""
    policy = policy_of("undefended", 10)
    judged = label_leak.split_drawn(np.random.default_rng(5), 10)
    target = label_leak.target_of(judged, 1, policy)
    attacker = Attacker(policy, target, np.random.default_rng(0), SHARES[None].copy(), 10)
    attacker.upload(Upload(np.array([0]), np.ones((1, policy.numbers)), np.zeros(policy.numbers)))
    assert attacker.belief[0, target.labels[0]] == pytest.approx(1)


@pytest.mark.parametrize("name", ["steps", DEFAULT])
def test_answers_are_drawn_as_likely_as_the_attacker_believes(name: str) -> None:
    policy = policy_of(name, 2_781)
    judged = label_leak.split_drawn(np.random.default_rng(6), 4)
    target = label_leak.target_of(judged, 1, policy)
    attacker = Attacker(policy, target, np.random.default_rng(1), SHARES[None].copy(), 2_781)
    exact = np.full(4_000, 7.3)
    rounded = attacker.rounded(exact)
    for answer in (7.0, 8.0):
        believed = attacker.likelihood(np.full(1, answer), exact[:1], np.zeros(1), at_most=False)
        assert (rounded == answer).mean() == pytest.approx(believed[0], abs=0.03)
    at_most = attacker.likelihood(np.full(1, 7.0), exact[:1], np.zeros(1), at_most=True)
    assert (rounded <= 7).mean() == pytest.approx(at_most[0], abs=0.03)


def test_the_undefended_policy_leaks_labels_and_the_default_hardly_any() -> None:
    some = {"queries": 2_781, "uploads": 50, "pairs": 10, "attack": "differencing", "trials": 1}
    undefended, steps, default = (
        attacked(policy_of(name, 2_781), **some)["bits"] for name in ("undefended", "steps", DEFAULT)
    )
    assert undefended > 1
    assert steps > 1  # numbers in steps alone are no defence against whoever knows where they flip
    assert default < 0.1


def test_what_the_default_promises_holds_and_the_undefended_policy_fails_it() -> None:
    """The figure that docs/leaderboard.md promises, with one split instead of four."""
    some = {"queries": 2_781, "uploads": 50, "pairs": 100, "trials": 1}
    bits = [attacked(policy_of(DEFAULT, 2_781), attack=name, **some)["bits"] for name in label_leak.ATTACKS]
    assert max(bits) <= label_leak.MOST_BITS
    assert attacked(policy_of("undefended", 2_781), attack="differencing", **some)["bits"] > 1


def test_few_judged_moments_a_query_leak_more_than_is_promised() -> None:
    """Each weighs more in a score: why docs/leaderboard.md names the number."""
    some = {"queries": 2_781, "uploads": 50, "pairs": 100, "trials": 4, "attack": "group testing"}
    many, few = (attacked(policy_of(DEFAULT, 2_781), **some, moments=moments)["bits"] for moments in (20, 5))
    assert few > label_leak.MOST_BITS > many


def test_a_small_split_leaks_nothing_under_the_default_policy() -> None:
    rows = {row["policy"]: row for row in rows_of(10, 5, 1_000, 1)}
    assert rows[DEFAULT]["attacked"] == 10 * PROMISED_MOMENTS
    assert (rows[DEFAULT]["bits"], rows[DEFAULT]["bound"]) == (0, 0)
    assert rows["undefended"]["bits"] > 0.3
    assert rows[DEFAULT]["prior"] == pytest.approx(SHARES.max(), abs=1e-4)


def test_the_bound_counts_distinct_answers() -> None:
    assert policy_of("steps", 2_781).bound(2_781, 2) == pytest.approx(2 * 9 * np.log2(101))
    assert float(score_step(50)) == 0.05
    assert policy_of(DEFAULT, 50).bound(50, 30) == pytest.approx(21 * 9 * np.log2(21) + 30)  # the Ladder has 21 rungs
    assert policy_of(DEFAULT, LEAST_QUERIES - 1).bound(LEAST_QUERIES - 1, 50) == 0


@pytest.mark.parametrize(
    ("row", "safe"),
    [
        ({"queries": 2_781, "uploads": 50, "attacked": 100, "bits": 0.05}, True),
        ({"queries": 2_781, "uploads": 50, "attacked": 100, "bits": 0.051}, False),
        ({"queries": 2_781, "uploads": 50, "attacked": 10, "bits": 0.2}, True),
        ({"queries": 2_781, "per_query": 5, "uploads": 50, "attacked": 100, "bits": 0.09}, True),
        ({"queries": 49, "uploads": 1, "attacked": 10, "bits": 0.001}, False),
    ],
)
def test_is_safe(row: dict[str, float], safe: bool) -> None:
    assert (
        is_safe(
            [{"policy": DEFAULT, "per_query": 20, **row}, {"policy": "other", "per_query": 20, **row, "bits": 2}],
            DEFAULT,
        )
        is safe
    )
