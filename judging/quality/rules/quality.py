"""Quality figures of annotators' judgments, and how many gold pairs are due. Pure, over a table of all judgments.

None is what cannot be said: no number is made up where there is too little. pandas is imported where a table is made,
so that the web process starts without it.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judging.quality.rules import agreement
from judging.quality.rules.agreement import Weights
from judging.work.rules import Rules

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["annotator", "pair", "round", "grade", "relevance", "day", "active_ms"]
EPOCH = date(1970, 1, 1)
NOT_SETTLED = -1  # in ``relevance``
NOT_KNOWN = -1  # in ``active_ms``
Figures = dict[str, Any]


def judgments_of(rows: list[tuple[int, ...]]) -> "pd.DataFrame":
    """Return final judgments, in the order in which they were given, from rows of COLUMNS.

    ``relevance`` is that of the settled pair, else NOT_SETTLED; ``day`` counts from 1970-01-01 in the project's time
    zone; ``active_ms`` may be NOT_KNOWN.
    """
    import pandas as pd

    return pd.DataFrame(rows, columns=COLUMNS, dtype="int64")


def project_figures(judgments: "pd.DataFrame", rules: Rules) -> Figures:
    """Agreement of everybody: Krippendorff's alpha over all grades, Fleiss' kappa of first rounds."""
    counts, first = _counts(judgments, rules), _counts(judgments[judgments["round"] == 1], rules)
    return {
        "judgments": len(judgments),
        "pairs": len(counts),
        "alpha": agreement.krippendorff_of_counts(counts),
        "fleiss": agreement.fleiss_kappa(first[first.sum(axis=1) == rules.judges]),
        "distribution": distribution(judgments, rules),
    }


def _counts(judgments: "pd.DataFrame", rules: Rules) -> NDArray[np.int64]:
    """How often each of P pairs was given each of G grades [P, G]."""
    return agreement.counts_of(judgments.groupby("pair")["grade"].agg(list), len(rules.grades))


def distribution(judgments: "pd.DataFrame", rules: Rules) -> list[int]:
    """How often each grade was given."""
    return [int((judgments["grade"] == grade).sum()) for grade in rules.grades]


def annotator_figures(mine: "pd.DataFrame", rules: Rules, *, agreed: "pd.Series", fast_s: float, seed: int) -> Figures:
    """Figures of one annotator.

    Args:
        mine: their judgments, in the order given.
        agreed: [N] whether the partner's grade in the same round was near; see ``agreed_with_partner``.
        fast_s: a judgment in less time is too fast; a value of the policy.
        seed: of the intervals.
    """
    settled, agreements, active_ms = settled_of(mine), agreed.dropna(), mine["active_ms"]
    is_fast = (active_ms != NOT_KNOWN) & (active_ms < fast_s * 1000)
    return {
        "judgments": len(mine),
        "consensus": float(agreements.mean()) if len(agreements) else None,
        "against_relevance": agreement.kappas(
            settled["grade"].tolist(), settled["relevance"].tolist(), n_grades=len(rules.grades), seed=seed
        ),
        "bias": bias(settled),
        "distribution": distribution(mine, rules),
        "seconds": seconds(mine),
        "weeks": weeks(mine),
        "longest_run": longest_run(mine["grade"].to_numpy()),
        "fast_streak": longest_streak(is_fast.to_numpy()),
    }


def settled_of(judgments: "pd.DataFrame") -> "pd.DataFrame":
    return judgments[judgments["relevance"] != NOT_SETTLED]


def bias(settled: "pd.DataFrame") -> float | None:
    """Mean of grade less relevance: above 0 for who grades high."""
    return float((settled["grade"] - settled["relevance"]).mean()) if len(settled) else None


def seconds(mine: "pd.DataFrame") -> Figures:
    """Median and mean seconds a judgment, over those whose time is known."""
    times_s = mine["active_ms"][mine["active_ms"] != NOT_KNOWN] / 1000
    if not len(times_s):
        return {"known": 0, "median": None, "mean": None}
    return {"known": len(times_s), "median": float(times_s.median()), "mean": float(times_s.mean())}


def weeks(mine: "pd.DataFrame") -> list[Figures]:
    """The same figures week by week, Mondays first: drift shows here."""
    rows = []
    for start, week in mine.groupby(mine["day"] - (mine["day"] + 3) % 7):  # 1970-01-01 was a Thursday
        settled = settled_of(week)
        rows.append(
            {
                "week": (EPOCH + timedelta(days=int(start))).isoformat(),
                "judgments": len(week),
                "mean": float(week["grade"].mean()),
                "bias": bias(settled),
                "kappa": agreement.kappa(settled["grade"].tolist(), settled["relevance"].tolist(), Weights.QUADRATIC),
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


FEWEST_GOLD = 10  # grades before their share says something


def agreed_with_partner(judgments: "pd.DataFrame", rules: Rules) -> "pd.Series":
    """For each judgment whether the grades of its pair and round agree; missing without another."""
    grades = judgments.groupby(["pair", "round"])["grade"]
    is_near = grades.transform("max") - grades.transform("min") <= rules.max_spread
    return is_near.where(grades.transform("size") > 1)


def partners(judgments: "pd.DataFrame", rules: Rules) -> dict[int, list[Figures]]:
    """For each annotator, their agreement with everybody who graded a pair of theirs; who shared most comes first."""
    by_annotator: dict[int, list[Figures]] = {int(person): [] for person in sorted(judgments["annotator"].unique())}
    grades = judgments[["pair", "annotator", "grade"]]
    meetings = grades.merge(grades, on="pair", suffixes=("", "_other"))
    meetings = meetings[meetings["annotator"] != meetings["annotator_other"]]
    for (person, other), rows in meetings.groupby(["annotator", "annotator_other"]):
        table = agreement.table_of(rows["grade"].tolist(), rows["grade_other"].tolist(), len(rules.grades))
        by_annotator[int(person)].append(_partner(int(other), table, rules))
    for figures in by_annotator.values():
        figures.sort(key=lambda partner: -partner["pairs"])  # stable: by account where they share equally many
    return by_annotator


def _partner(number: int, table: NDArray[np.int64], rules: Rules) -> Figures:
    values = {str(weights): agreement.kappas_of(table[None], weights) for weights in Weights}
    gap = np.abs(np.subtract.outer(rules.grades, rules.grades))
    return {
        "annotator": number,
        "pairs": int(table.sum()),
        "consensus": float(table[gap <= rules.max_spread].sum() / table.sum()),
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


def gold_least(batch_size: int) -> int:
    """Return how many known pairs make a finished batch worth showing again: half of it."""
    return max(1, batch_size // 2)


def gold_due(*, n_shown: int, gold: int, percent: int) -> int:
    """Return how many gold pairs are missing from an annotator's share: of the pairs ``n_shown`` so far, gold included,
    ``percent`` are to be gold."""
    return max(0, n_shown * percent // 100 - gold)


def gold_among(others: int, *, due: int) -> int:
    """How many of the ``due`` go among so many ``others``: no more than these, so that gold stays the lesser part."""
    return min(due, others)
