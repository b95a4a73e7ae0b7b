"""Two runs query by query, and one query as several runs answered it (paper, Figure 7)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from accounts.models import Project
from models_runner.leaderboard.rules import score_step
from models_runner.leaderboard.selectors.leaderboard import LeaderboardFilters
from models_runner.leaderboard.selectors.shown_scores import ScoreView
from models_runner.leaderboard.services.score_tests import score_tests_of
from models_runner.leaderboard.services.scorings import (
    columns_of,
    run_table,
    truth_digest,
    truth_table,
    values_of,
)
from models_runner.models import Score, ScoreTest, Scoring
from models_runner.search.selectors import files_of, plain, previews_of
from moment_retrieval.metrics.iou import span_iou
from moment_retrieval.metrics.matching import NOTHING, matches
from moment_retrieval.metrics.ndcg_iou import Convention
from moment_retrieval.metrics.recall import DEPTH
from moment_retrieval.records import JudgedMoment, ScoredMoment
from moment_retrieval.tables import Floats, JudgedTable

EQUAL = 1e-9  # values of a query that differ by less are a tie
MOST_RUNS = 3
LISTED = 20


class Difference(NamedTuple):
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
    """Two runs by one measure, over the queries that both have a part in."""

    scores: tuple[Score, Score]
    mean: Sequence[float]
    difference: float
    test: ScoreTest | None  # of the randomisation; None where it is not scheduled yet
    wins: int
    ties: int
    losses: int
    values: Floats  # [queries, 2]
    best: list[Difference]  # the largest gains of the first run, the largest first
    worst: list[Difference]  # its largest losses

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


def comparison(filters: LeaderboardFilters, one: Scoring, other: Scoring) -> Comparison:
    """Compare two runs of a leaderboard by the measure that it is sorted by."""
    scores = (_score(filters, one), _score(filters, other))
    values = columns_of((one.pk, other.pk), filters.column_index)
    numbers = np.flatnonzero(~np.isnan(values).any(axis=1))
    values = values[numbers]
    gains = values[:, 0] - values[:, 1]
    judged = truth_table(release=filters.release, split=filters.split)
    texts = judged.texts or ("",) * len(judged)
    pairs = zip(numbers.tolist(), values.tolist(), strict=True)
    rows = [Difference(judged.query_ids[number], texts[number], *pair) for number, pair in pairs]
    rows.sort(key=lambda row: -row.by)
    return Comparison(
        scores=scores,
        mean=values.mean(axis=0).tolist() if len(values) else (np.nan, np.nan),
        difference=float(gains.mean()) if len(gains) else np.nan,
        test=score_tests_of(scores[0].pk, [scores[1].pk]).get(scores[1].pk),
        wins=int((gains > EQUAL).sum()),
        ties=int((np.abs(gains) <= EQUAL).sum()),
        losses=int((gains < -EQUAL).sum()),
        values=values,
        best=[row for row in rows[:LISTED] if row.by > EQUAL],
        worst=[row for row in rows[: -LISTED - 1 : -1] if row.by < -EQUAL],
    )


def comparison_in_steps(filters: LeaderboardFilters, one: Scoring, other: Scoring, view: ScoreView) -> dict[str, Any]:
    """Compare two runs for a person from whom the labels are hidden: by their shown scores and nothing else."""
    first, second = (view.shown(scoring, [_score(filters, scoring)])[0] for scoring in (one, other))
    step = str(score_step(one.n_queries))
    return {"scores": (first, second), "difference": first.value - second.value, "step": step}


def _score(filters: LeaderboardFilters, scoring: Scoring) -> Score:
    measure = filters.sorted_by
    return scoring.scores.get(metric=measure.metric, convention=measure.convention, gain=measure.gain)


@dataclass
class Prediction:
    """A prediction: how far it overlaps what was judged, and whether it earned that."""

    rank: int
    moment: ScoredMoment
    claim: int  # row of the judged moment it claimed, or NOTHING
    relevance: float | None  # of that moment
    iou: float  # the largest with a judged moment
    is_judged: bool  # it reaches mu with some judged moment, claimed or not
    preview: UUID | None = None
    file: UUID | None = None  # of a miss: the video, whose span is played


def queries_named(filters: LeaderboardFilters, words: str) -> list[tuple[str, str]]:
    """Return ids and texts of judged queries with these words, or this id; LISTED at most, all count for no words."""
    if not truth_digest(release=filters.release, split=filters.split):
        return []
    judged = truth_table(release=filters.release, split=filters.split)
    texts = judged.texts or ("",) * len(judged)
    pairs = zip(judged.query_ids, texts, strict=True)
    matching = (pair for pair in pairs if pair[0] == words or words.casefold() in pair[1].casefold())
    return list(islice(matching, LISTED))


def case(
    filters: LeaderboardFilters, project: Project, query_id: str, scorings: Sequence[Scoring], *, previews: bool
) -> dict[str, Any] | None:
    """Return the query as the runs answered it, by the requested measure; None where it is not judged.

    ``previews``: whether the viewer may watch them.
    """
    judged = truth_table(release=filters.release, split=filters.split)
    number = judged.row_of.get(query_id)
    if number is None:
        return None
    rows = sorted(judged.rows_of(query_id), key=lambda row: -judged.weights[row])
    moments = [judged.moment(row) for row in rows]
    rankings = [_predictions(filters, scoring, judged, number, moments) for scoring in scorings]
    answers = [
        {"scoring": scoring, "value": float(values_of(scoring)[number, filters.column_index]), "predicted": ranking}
        for scoring, ranking in zip(scorings, rankings, strict=True)
    ]
    spans = [*moments, *(prediction.moment for prediction in chain(*rankings))]
    matches_by_span = previews_of(project, spans) if previews else {}
    preview_by_span = {span: match.preview for span, match in matches_by_span.items()}
    predictions = list(chain(*rankings))
    missed = {prediction.moment.video for prediction in predictions if prediction.relevance is None}
    files = files_of(project, missed) if previews else {}
    for prediction in predictions:  # a miss plays the span itself, where its video is here
        prediction.file = files.get(prediction.moment.video) if prediction.relevance is None else None
        prediction.preview = None if prediction.file else preview_by_span.get(plain(prediction.moment))
    ground_truth = [
        {
            "moment": moment,
            "preview": preview_by_span.get(plain(moment)),
            "ranks": [next((one.rank for one in ranking if one.claim == row), None) for ranking in rankings],
        }
        for row, moment in zip(rows, moments, strict=True)
    ]
    return {
        "query_id": query_id,
        "text": judged.texts[number] if judged.texts else "",
        "judged": ground_truth,
        "counts": sorted(Counter(round(moment.relevance) for moment in moments).items(), reverse=True),
        "answers": answers,
    }


def _predictions(
    filters: LeaderboardFilters, scoring: Scoring, judged: JudgedTable, number: int, moments: Sequence[JudgedMoment]
) -> list[Prediction]:
    """Return the predictions that enter the value of the query, with what they claimed of its judged moments."""
    run, measure, convention = run_table(scoring.run), filters.sorted_by, Convention(filters.convention)
    query_id = judged.query_ids[number]
    if query_id not in run:
        return []
    least = convention.least(measure.mu or 0.5)
    pairs = np.array([[run.row_of[query_id], number]])
    depth = measure.k or DEPTH
    (match,) = matches(run, judged, pairs, [least], tolerance=convention.tolerance, depth=depth)
    claims: list[int] = match.claimed[0, 0].tolist()
    predictions = []
    for rank, (row, claim) in enumerate(zip(run.rows_of(query_id)[:depth], claims, strict=False), start=1):
        moment = run.moment(row)
        iou = max((span_iou(moment, other) for other in moments if other.video == moment.video), default=0.0)
        relevance = None if claim == NOTHING else float(judged.weights[claim])
        predictions.append(Prediction(rank, moment, claim, relevance, iou, iou >= least))
    return predictions
