"""Two runs, query by query."""

from dataclasses import dataclass

import numpy as np

from models_runner.models import Scoring
from models_runner.retrieval.statistics.bootstrap import intervals
from models_runner.retrieval.statistics.randomisation import randomisation_test
from models_runner.retrieval.tables import Flags, Floats
from models_runner.selectors.asked import Asked
from models_runner.selectors.leaderboard import columns_of
from models_runner.services.truths import truth_table

EQUAL = 1e-9  # values of a query that differ by less are a tie
LISTED = 20


@dataclass(frozen=True)
class Difference:
    """One query: what both runs earn there."""

    query_id: str
    text: str
    one: float
    other: float

    @property
    def by(self) -> float:
        return self.one - self.other


@dataclass(frozen=True)
class Comparison:
    """``differences`` holds the queries where they differ, the largest gain of the first run first."""

    mean: tuple[float, float]
    difference: tuple[float, float, float]  # the mean, and its 95 % interval
    p: float
    wins: int
    ties: int
    losses: int
    values: Floats  # [queries that both have a part in, 2]
    differences: list[Difference]

    @property
    def best(self) -> list[Difference]:
        return [row for row in self.differences[:LISTED] if row.by > 0]

    @property
    def worst(self) -> list[Difference]:
        return [row for row in self.differences[: -LISTED - 1 : -1] if row.by < 0]


def comparison(asked: Asked, one: Scoring, other: Scoring) -> Comparison:
    """How two runs of a leaderboard compare by the measure that it is sorted by."""
    values = columns_of((one.pk, other.pk), asked.place)
    known: Flags = ~np.isnan(values.sum(axis=1))
    judged = truth_table(release=asked.release, split=asked.split)
    by = np.where(known, values[:, 0] - values[:, 1], np.nan)
    ((low, high),) = intervals(by[:, None])
    texts = judged.texts or ("",) * len(judged)
    order = np.argsort(-np.nan_to_num(by), kind="stable")
    differing = [number for number in order.tolist() if known[number] and abs(by[number]) > EQUAL]
    return Comparison(
        mean=(float(values[known, 0].mean()), float(values[known, 1].mean())) if known.any() else (np.nan, np.nan),
        difference=(float(by[known].mean()) if known.any() else np.nan, float(low), float(high)),
        p=float(randomisation_test(by[:, None])[0]),
        wins=int((by > EQUAL).sum()),
        ties=int((np.abs(by) <= EQUAL).sum()),
        losses=int((by < -EQUAL).sum()),
        values=values[known],
        differences=[Difference(judged.query_ids[n], texts[n], *map(float, values[n])) for n in differing],
    )
