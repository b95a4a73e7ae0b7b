"""Quality figures of annotators' judgments, and how many gold pairs are due. Pure, over columns of all judgments.

None is what cannot be said: no number is made up where there is too little.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judging.quality.rules import agreement
from judging.quality.rules.agreement import LEVELS, Weights
from judging.work.rules import GRADES, MAX_SPREAD

EPOCH = date(1970, 1, 1)
NOT_SETTLED = -1  # in ``relevance``
NOT_KNOWN = -1  # in ``active_ms``
Figures = dict[str, Any]


@dataclass(frozen=True)
class Judgments:
    """Columns [N] of final judgments, in the order in which they were given."""

    annotator: NDArray[np.int64]
    pair: NDArray[np.int64]
    round: NDArray[np.int64]
    grade: NDArray[np.int64]
    relevance: NDArray[np.int64]  # of the settled pair, else NOT_SETTLED
    day: NDArray[np.int64]  # days since 1970-01-01 in the project's time zone
    active_ms: NDArray[np.int64]  # or NOT_KNOWN

    @classmethod
    def of(cls, rows: list[tuple[int, ...]]) -> "Judgments":
        columns = np.array(rows, dtype=np.int64).reshape(len(rows), 7)
        return cls(*columns.T)

    def __len__(self) -> int:
        return len(self.grade)

    def where(self, mask: NDArray[np.bool_]) -> "Judgments":
        return Judgments(*(getattr(self, name)[mask] for name in self.__dataclass_fields__))

    @property
    def settled(self) -> NDArray[np.bool_]:
        return np.not_equal(self.relevance, NOT_SETTLED)


def project_figures(all_of_them: Judgments) -> Figures:
    """Agreement of everybody: Krippendorff's alpha over all grades, Fleiss' kappa of first rounds."""
    counts = _counts(all_of_them)
    first = _counts(all_of_them.where(all_of_them.round == 1))
    return {
        "judgments": len(all_of_them),
        "pairs": len(counts),
        "alpha": agreement.krippendorff_of_counts(counts),
        "fleiss": agreement.fleiss_kappa(first[first.sum(axis=1) == 2]),
        "distribution": np.bincount(all_of_them.grade, minlength=LEVELS).tolist(),
    }


def _counts(judgments: Judgments) -> NDArray[np.int64]:
    """How often each pair was given each grade [P, 5]."""
    _, index = np.unique(judgments.pair, return_inverse=True)
    pairs = int(index.max()) + 1 if len(index) else 0
    return np.bincount(index * LEVELS + judgments.grade, minlength=pairs * LEVELS).reshape(pairs, LEVELS)


def annotator_figures(mine: Judgments, *, agreed: NDArray[np.bool_], fast_s: float, seed: int) -> Figures:
    """Figures of one annotator.

    Args:
        mine: their judgments, in the order given.
        agreed: [N] whether the partner's grade in the same round was near; see ``agreed_with_partner``.
        fast_s: a judgment in less time is too fast; a value of the policy.
        seed: of the intervals.
    """
    settled = mine.where(mine.settled)
    agreements = agreed[agreed != UNKNOWN] == AGREED
    return {
        "judgments": len(mine),
        "consensus": float(agreements.mean()) if len(agreements) else None,
        "against_relevance": agreement.kappas(settled.grade.tolist(), settled.relevance.tolist(), seed=seed),
        "bias": bias(settled),
        "distribution": np.bincount(mine.grade, minlength=LEVELS).tolist(),
        "seconds": seconds(mine),
        "weeks": weeks(mine),
        "longest_run": longest_run(mine.grade),
        "fast_streak": longest_streak((mine.active_ms != NOT_KNOWN) & (mine.active_ms < fast_s * 1000)),
    }


def bias(settled: Judgments) -> float | None:
    """Mean of grade less relevance: above 0 for who grades high."""
    return float((settled.grade - settled.relevance).mean()) if len(settled) else None


def seconds(mine: Judgments) -> Figures:
    """Median and mean seconds a judgment, over those whose time is known."""
    times_s = mine.active_ms[mine.active_ms != NOT_KNOWN] / 1000
    if not len(times_s):
        return {"known": 0, "median": None, "mean": None}
    return {"known": len(times_s), "median": float(np.median(times_s)), "mean": float(times_s.mean())}


def weeks(mine: Judgments) -> list[Figures]:
    """The same figures week by week, Mondays first: drift shows here."""
    monday = mine.day - (mine.day + 3) % 7  # 1970-01-01 was a Thursday
    rows = []
    for start in np.unique(monday):
        week = mine.where(monday == start)
        settled = week.where(week.settled)
        rows.append(
            {
                "week": (EPOCH + timedelta(days=int(start))).isoformat(),
                "judgments": len(week),
                "mean": float(week.grade.mean()),
                "bias": bias(settled),
                "kappa": agreement.kappa(settled.grade.tolist(), settled.relevance.tolist(), Weights.QUADRATIC),
                "seconds": seconds(week)["median"],
            }
        )
    return rows


def longest_run(grades: NDArray[np.int64]) -> int:
    """The most judgments in a row with one grade."""
    return longest_streak(grades[1:] == grades[:-1]) + 1 if len(grades) else 0


def longest_streak(marked: NDArray[np.bool_]) -> int:
    """The most marked ones in a row."""
    gaps = np.flatnonzero(np.concatenate([[True], ~marked, [True]]))
    return int(np.diff(gaps).max()) - 1


UNKNOWN, AGREED, APART = -1, 1, 0
FEWEST_GOLD = 10  # grades before their share says something


def agreed_with_partner(judgments: Judgments) -> NDArray[np.int64]:
    """For each judgment whether the other grade of its pair and round is at most one away: AGREED, APART or UNKNOWN."""
    keys = np.stack([judgments.pair, judgments.round])
    _, group, sizes = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    group = group.ravel()
    high, low = np.full(len(sizes), -1), np.full(len(sizes), LEVELS)
    np.maximum.at(high, group, judgments.grade)
    np.minimum.at(low, group, judgments.grade)
    outcome = np.where(high - low <= MAX_SPREAD, AGREED, APART)
    outcome[sizes < 2] = UNKNOWN
    by_judgment: NDArray[np.int64] = outcome[group]
    return by_judgment


def partners(judgments: Judgments) -> dict[int, list[Figures]]:
    """For each annotator, their agreement with everybody who graded a pair of theirs; who shared most comes first."""
    people, who = np.unique(judgments.annotator, return_inverse=True)
    tables = _meetings(judgments, who, len(people))  # [A, A, 5, 5]
    by_annotator: dict[int, list[Figures]] = {}
    for index, person in enumerate(people):
        shared = tables[index].sum(axis=(1, 2))
        order = sorted(np.flatnonzero(shared), key=lambda other: (-shared[other], people[other]))
        by_annotator[int(person)] = [_partner(int(people[other]), tables[index, other]) for other in order]
    return by_annotator


def _meetings(judgments: Judgments, who: NDArray[np.int64], people: int) -> NDArray[np.int64]:
    """How often the first gave i where the second gave j, for every two annotators [A, A, 5, 5]."""
    order = np.argsort(judgments.pair, kind="stable")
    pair, who, grade = judgments.pair[order], who[order], judgments.grade[order]
    cells = np.zeros(people * people * LEVELS**2, dtype=np.int64)
    most = np.unique(pair, return_counts=True)[1].max(initial=0)  # grades of one pair
    for apart in range(1, most):
        both = pair[apart:] == pair[:-apart]
        a, b, i, j = who[:-apart][both], who[apart:][both], grade[:-apart][both], grade[apart:][both]
        for one, other, x, y in ((a, b, i, j), (b, a, j, i)):
            cells += np.bincount(((one * people + other) * LEVELS + x) * LEVELS + y, minlength=len(cells))
    return cells.reshape(people, people, LEVELS, LEVELS)


def _partner(number: int, table: NDArray[np.int64]) -> Figures:
    values = {str(weights): agreement.kappas_of(table[None], weights) for weights in Weights}
    gap = np.abs(np.subtract.outer(GRADES, GRADES))
    return {
        "annotator": number,
        "pairs": int(table.sum()),
        "consensus": float(table[gap <= MAX_SPREAD].sum() / table.sum()),
        **{weights: float(kappas[0]) if len(kappas) else None for weights, kappas in values.items()},
    }


def mean_with_partners(figures: list[Figures]) -> dict[str, float | None]:
    return {
        str(weights): agreement.mean_kappa(partner[str(weights)] for partner in figures).value for weights in Weights
    }


class Past(NamedTuple):
    """A figure past its limit."""

    kind: str
    value: float
    threshold: float


def alerts(figures: Figures, limits: Mapping[str, float]) -> list[Past]:
    """Return all that is past a limit of the policy (its ``alert_*``); nothing before there are enough judgments."""
    if figures["judgments"] < limits["from"]:
        return []
    past = []
    kappas = (figures["against_relevance"]["quadratic"]["value"], figures["with_partners"]["quadratic"])
    value = min((kappa for kappa in kappas if kappa is not None), default=None)
    if value is not None and value < limits["kappa"]:  # who disagrees with everybody is settled without, or dropped
        past.append(Past("kappa", value, limits["kappa"]))
    if figures["bias"] is not None and abs(figures["bias"]) > limits["bias"]:
        past.append(Past("bias", figures["bias"], limits["bias"]))
    gold = figures["gold"]
    if gold["misaligned"] is not None and gold["judgments"] >= FEWEST_GOLD and gold["misaligned"] > limits["gold"]:
        past.append(Past("gold", gold["misaligned"], limits["gold"]))
    if figures["fast_streak"] >= limits["fast_streak"]:
        past.append(Past("fast", float(figures["fast_streak"]), limits["fast_streak"]))
    if figures["longest_run"] >= limits["run"]:
        past.append(Past("run", float(figures["longest_run"]), limits["run"]))
    return past


BATCH_LEAST = 10  # known pairs that make a finished batch worth asking again


def gold_due(*, n_shown: int, gold: int, percent: int) -> int:
    """Return how many gold pairs are missing from an annotator's share: of the pairs ``n_shown`` so far, gold included,
    ``percent`` are to be gold."""
    return max(0, n_shown * percent // 100 - gold)


def gold_among(others: int, *, due: int) -> int:
    """How many of the ``due`` go among so many ``others``: no more than these, so that gold stays the lesser part."""
    return min(due, others)
