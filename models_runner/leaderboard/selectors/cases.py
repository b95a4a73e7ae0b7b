"""One query as runs answered it: what was judged, what was retrieved, what it claimed (paper, Figure 7)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from accounts.models import Project
from models_runner.leaderboard.selectors.asked import Asked
from models_runner.leaderboard.services.scorings import run_table
from models_runner.leaderboard.services.truths import truth_table
from models_runner.models import Scoring
from models_runner.search.selectors import Seen, plain, previews_of
from moment_retrieval.metrics.iou import span_iou
from moment_retrieval.metrics.matching import NOTHING, matches
from moment_retrieval.metrics.ndcg_iou import Convention
from moment_retrieval.records import JudgedMoment, ScoredMoment, Span
from moment_retrieval.tables import JudgedTable

MOST_RUNS = 3


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
    """What one run answered, and what that earned."""

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


def case(asked: Asked, project: Project, query_id: str, scorings: Sequence[Scoring], *, previews: bool) -> Case | None:
    """The query as up to three runs answered it, by the measure asked for; None where it is not judged.

    Args:
        previews: whether the viewer may watch them.
    """
    judged = truth_table(release=asked.release, split=asked.split)
    number = judged.place.get(query_id)
    if number is None:
        return None
    rows = range(int(judged.offsets[number]), int(judged.offsets[number + 1]))
    order = sorted(rows, key=lambda row: -judged.weights[row])
    answered = [_answered(asked, scoring, judged, number) for scoring in scorings[:MOST_RUNS]]
    spans = [judged.moment(row) for row in rows]
    shown = [moment for _, found in answered for moment, _, _ in found]
    seen = previews_of(project, [*spans, *shown]) if previews else {}
    return Case(
        query_id,
        judged.texts[number] if judged.texts else "",
        [
            Judged(
                judged.moment(row),
                _preview(judged.moment(row), seen),
                [_rank_of(row, found) for _, found in answered],
            )
            for row in order
        ],
        [
            Answer(scoring, value, list(_predicted(found, judged, spans, seen, asked)))
            for scoring, (value, found) in zip(scorings, answered, strict=False)
        ],
    )


Found = list[tuple[ScoredMoment, float, int]]  # a prediction, the largest IoU with a judged moment, the row it claimed


def _answered(asked: Asked, scoring: Scoring, judged: JudgedTable, number: int) -> tuple[float, Found]:
    """The value of the query, and the predictions that enter it with what they claimed."""
    run, column = run_table(scoring.run), asked.sorted_by
    own = run.place.get(judged.query_ids[number], -1)
    value = scoring_value(scoring, asked, number)
    if own < 0:
        return value, []
    convention = Convention(asked.convention)
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


def scoring_value(scoring: Scoring, asked: Asked, number: int) -> float:
    from models_runner.leaderboard.services.scorings import values_of

    return float(values_of(scoring)[number, asked.place])


def largest_iou(span: Span, others: Iterable[Span]) -> float:
    return max((span_iou(span, other) for other in others if other.video == span.video), default=0.0)


def _rank_of(row: int, found: Found) -> int | None:
    return next((rank for rank, (_, _, claim) in enumerate(found, start=1) if claim == row), None)


def _predicted(
    found: Found, judged: JudgedTable, spans: Sequence[Span], seen: Mapping[Span, Seen], asked: Asked
) -> Iterator[Predicted]:
    least = Convention(asked.convention).least(asked.sorted_by.mu or 0.5)
    for rank, (moment, iou, claim) in enumerate(found, start=1):
        relevance = None if claim == NOTHING else float(judged.weights[claim])
        yield Predicted(rank, moment, _preview(moment, seen), iou, relevance, iou >= least)


def _preview(moment: Span, seen: Mapping[Span, Seen]) -> UUID | None:
    shown = seen.get(plain(moment))
    return shown.preview if shown else None
