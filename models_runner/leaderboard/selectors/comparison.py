"""Two runs query by query, and one query as several runs answered it (paper, Figure 7)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from accounts.models import Project
from models_runner.leaderboard.rules import score_step
from models_runner.leaderboard.selectors.leaderboard import Asked
from models_runner.leaderboard.selectors.shown_scores import ScoreView, ShownScore
from models_runner.leaderboard.services.score_tests import score_tests_of
from models_runner.leaderboard.services.scorings import columns_of, run_table, truth_table, values_of
from models_runner.models import Score, ScoreTest, Scoring
from models_runner.search.selectors import Seen, plain, previews_of
from moment_retrieval.metrics.iou import span_iou
from moment_retrieval.metrics.matching import NOTHING, matches
from moment_retrieval.metrics.ndcg_iou import Convention
from moment_retrieval.records import JudgedMoment, ScoredMoment, Span
from moment_retrieval.tables import Flags, Floats, JudgedTable

EQUAL = 1e-9  # values of a query that differ by less are a tie
MOST_RUNS = 3
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
    """Two runs by one measure, over the queries that both have a part in."""

    scores: tuple[Score, Score]
    mean: tuple[float, float]
    difference: float
    test: ScoreTest | None  # of the randomisation; None where nobody has ordered it yet
    wins: int
    ties: int
    losses: int
    values: Floats  # [queries, 2]
    differences: list[Difference]  # where they differ, the largest gain of the first run first

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


def comparison(filters: Asked, one: Scoring, other: Scoring) -> Comparison:
    """How two runs of a leaderboard compare by the measure that it is sorted by."""
    scores = (_score(filters, one), _score(filters, other))
    values = columns_of((one.pk, other.pk), filters.place)
    is_known: Flags = ~np.isnan(values.sum(axis=1))
    judged = truth_table(release=filters.release, split=filters.split)
    by = np.where(is_known, values[:, 0] - values[:, 1], np.nan)
    texts = judged.texts or ("",) * len(judged)
    order = np.argsort(-np.nan_to_num(by), kind="stable")
    differing = [number for number in order.tolist() if is_known[number] and abs(by[number]) > EQUAL]
    return Comparison(
        scores=scores,
        mean=(float(values[is_known, 0].mean()), float(values[is_known, 1].mean()))
        if is_known.any()
        else (np.nan, np.nan),
        difference=float(by[is_known].mean()) if is_known.any() else np.nan,
        test=score_tests_of(scores[0].pk, [scores[1].pk]).get(scores[1].pk),
        wins=int((by > EQUAL).sum()),
        ties=int((np.abs(by) <= EQUAL).sum()),
        losses=int((by < -EQUAL).sum()),
        values=values[is_known],
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


def comparison_in_steps(filters: Asked, one: Scoring, other: Scoring, view: ScoreView) -> ComparisonInSteps:
    """How two runs compare for somebody from whom the labels are hidden: by their shown scores and nothing else."""
    first, second = (view.shown(scoring, [_score(filters, scoring)])[0] for scoring in (one, other))
    return ComparisonInSteps((first, second), str(score_step(one.n_queries)))


def _score(filters: Asked, scoring: Scoring) -> Score:
    measure = filters.sorted_by
    return scoring.scores.get(metric=measure.metric, convention=measure.convention, gain=measure.gain)


@dataclass(frozen=True)
class Judged:
    """A judged moment: its preview, and at which rank each run found it (None: it missed it)."""

    moment: JudgedMoment
    preview: UUID | None
    ranks: list[int | None]


@dataclass(frozen=True)
class Predicted:
    """A prediction: what it overlaps most of what was judged, and whether it earned that."""

    rank: int
    moment: ScoredMoment
    preview: UUID | None
    iou: float
    relevance: float | None  # of the judged moment it claimed
    is_judged: bool  # it reaches mu with some judged moment, claimed or not


@dataclass(frozen=True)
class Answer:
    """Predictions of one run, and its score."""

    scoring: Scoring
    value: float
    predicted: list[Predicted]


@dataclass(frozen=True)
class Case:
    """One query of a leaderboard."""

    query_id: str
    text: str
    judged: list[Judged]
    answers: list[Answer]

    @property
    def counts(self) -> list[tuple[int, int]]:
        """How many moments have each relevance, the most relevant first."""
        return sorted(Counter(round(row.moment.relevance) for row in self.judged).items(), reverse=True)


def case(
    filters: Asked, project: Project, query_id: str, scorings: Sequence[Scoring], *, previews: bool
) -> Case | None:
    """The query as up to three runs answered it, by the measure asked for; None where it is not judged. ``previews``:
    whether the viewer may watch them."""
    judged = truth_table(release=filters.release, split=filters.split)
    number = judged.place.get(query_id)
    if number is None:
        return None
    rows = range(int(judged.offsets[number]), int(judged.offsets[number + 1]))
    order = sorted(rows, key=lambda row: -judged.weights[row])
    answered = [_answered(filters, scoring, judged, number) for scoring in scorings[:MOST_RUNS]]
    spans = [judged.moment(row) for row in rows]
    predicted_spans = [moment for _, predictions in answered for moment, _, _ in predictions]
    previews_by_span = previews_of(project, [*spans, *predicted_spans]) if previews else {}
    rows_shown = []
    for row in order:
        ranks = [_rank_of(row, predictions) for _, predictions in answered]
        rows_shown.append(Judged(judged.moment(row), _preview(judged.moment(row), previews_by_span), ranks))
    answers = [
        Answer(scoring, value, list(_predicted(predictions, judged, spans, previews_by_span, filters)))
        for scoring, (value, predictions) in zip(scorings, answered, strict=False)
    ]
    return Case(query_id, judged.texts[number] if judged.texts else "", rows_shown, answers)


Found = list[tuple[ScoredMoment, float, int]]  # a prediction, the largest IoU with a judged moment, the row it claimed


def _answered(filters: Asked, scoring: Scoring, judged: JudgedTable, number: int) -> tuple[float, Found]:
    """The value of the query, and the predictions that enter it with what they claimed."""
    run, column = run_table(scoring.run), filters.sorted_by
    own = run.place.get(judged.query_ids[number], -1)
    value = float(values_of(scoring)[number, filters.place])
    if own < 0:
        return value, []
    convention = Convention(filters.convention)
    pairs = np.array([[own, number]])
    (match,) = matches(
        run, judged, pairs, [convention.least(column.mu or 0.5)], tolerance=convention.tolerance, depth=column.k
    )
    claimed: list[int] = match.claimed[0, 0].tolist()
    rows = range(int(run.offsets[own]), min(int(run.offsets[own + 1]), int(run.offsets[own]) + column.k))
    rivals = [judged.moment(row) for row in range(int(judged.offsets[number]), int(judged.offsets[number + 1]))]
    return value, [
        (moment := run.moment(row), largest_iou(moment, rivals), claim)
        for row, claim in zip(rows, claimed, strict=False)
    ]


def largest_iou(span: Span, others: Iterable[Span]) -> float:
    return max((span_iou(span, other) for other in others if other.video == span.video), default=0.0)


def _rank_of(row: int, predictions: Found) -> int | None:
    return next((rank for rank, (_, _, claim) in enumerate(predictions, start=1) if claim == row), None)


def _predicted(
    predictions: Found,
    judged: JudgedTable,
    spans: Sequence[Span],
    previews_by_span: Mapping[Span, Seen],
    filters: Asked,
) -> Iterator[Predicted]:
    least = Convention(filters.convention).least(filters.sorted_by.mu or 0.5)
    for rank, (moment, iou, claim) in enumerate(predictions, start=1):
        relevance = None if claim == NOTHING else float(judged.weights[claim])
        yield Predicted(rank, moment, _preview(moment, previews_by_span), iou, relevance, iou >= least)


def _preview(moment: Span, previews_by_span: Mapping[Span, Seen]) -> UUID | None:
    match = previews_by_span.get(plain(moment))
    return match.preview if match else None
