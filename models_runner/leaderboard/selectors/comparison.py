"""Two runs, query by query."""

from dataclasses import dataclass

import numpy as np

from models_runner.leaderboard.rules import score_step
from models_runner.leaderboard.selectors.asked import Asked
from models_runner.leaderboard.selectors.shown_scores import ScoreView, ShownScore
from models_runner.leaderboard.services.score_tests import score_tests_of
from models_runner.leaderboard.services.scorings import columns_of
from models_runner.leaderboard.services.truths import truth_table
from models_runner.models import Score, ScoreTest, Scoring
from moment_retrieval.tables import Flags, Floats

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
    """Two runs by one measure.

    Attributes:
        scores: of both.
        mean, difference: over the queries that both have a part in.
        test: of the randomisation test; None where nobody has ordered it yet.
        values: [queries that both have a part in, 2].
        differences: the queries where they differ, the largest gain of the first run first.
    """

    scores: tuple[Score, Score]
    mean: tuple[float, float]
    difference: float
    test: ScoreTest | None
    wins: int
    ties: int
    losses: int
    values: Floats
    differences: list[Difference]

    @property
    def is_testing(self) -> bool:
        return self.test is None or self.test.is_waiting

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the difference."""
        if self.test is None or self.test.low is None or self.test.high is None:
            return None
        low, high = self.test.low, self.test.high
        return (low, high) if self.test.one_id == self.scores[0].pk else (-high, -low)

    @property
    def best(self) -> list[Difference]:
        return [row for row in self.differences[:LISTED] if row.by > 0]

    @property
    def worst(self) -> list[Difference]:
        return [row for row in self.differences[: -LISTED - 1 : -1] if row.by < 0]


def comparison(asked: Asked, one: Scoring, other: Scoring) -> Comparison:
    """How two runs of a leaderboard compare by the measure that it is sorted by."""
    scores = (_score(asked, one), _score(asked, other))
    values = columns_of((one.pk, other.pk), asked.place)
    known: Flags = ~np.isnan(values.sum(axis=1))
    judged = truth_table(release=asked.release, split=asked.split)
    by = np.where(known, values[:, 0] - values[:, 1], np.nan)
    texts = judged.texts or ("",) * len(judged)
    order = np.argsort(-np.nan_to_num(by), kind="stable")
    differing = [number for number in order.tolist() if known[number] and abs(by[number]) > EQUAL]
    return Comparison(
        scores=scores,
        mean=(float(values[known, 0].mean()), float(values[known, 1].mean())) if known.any() else (np.nan, np.nan),
        difference=float(by[known].mean()) if known.any() else np.nan,
        test=score_tests_of(scores[0].pk, [scores[1].pk]).get(scores[1].pk),
        wins=int((by > EQUAL).sum()),
        ties=int((np.abs(by) <= EQUAL).sum()),
        losses=int((by < -EQUAL).sum()),
        values=values[known],
        differences=[Difference(judged.query_ids[n], texts[n], *map(float, values[n])) for n in differing],
    )


@dataclass(frozen=True)
class ComparisonInSteps:
    """Two runs on hidden labels by one measure: what is shown of each, and how far apart that is."""

    scores: tuple[ShownScore, ShownScore]
    step: str

    @property
    def difference(self) -> float:
        return self.scores[0].value - self.scores[1].value


def comparison_in_steps(asked: Asked, one: Scoring, other: Scoring, view: ScoreView) -> ComparisonInSteps:
    """How two runs compare for somebody from whom the labels are hidden: by their shown scores and nothing else."""
    first, second = (view.shown(scoring, [_score(asked, scoring)])[0] for scoring in (one, other))
    return ComparisonInSteps((first, second), str(score_step(one.n_queries)))


def _score(asked: Asked, scoring: Scoring) -> Score:
    measure = asked.sorted_by
    return scoring.scores.get(metric=measure.metric, convention=measure.convention, gain=measure.gain)
