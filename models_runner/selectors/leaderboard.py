"""Runs of a leaderboard, best first, and how sure their order is."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import Q

from annotation.models import Membership
from models_runner.models import Run, Score, Scoring
from models_runner.retrieval.statistics.randomisation import holm
from models_runner.selectors.asked import Asked
from models_runner.services.score_tests import score_tests_of
from models_runner.services.scorings import answers_enough
from models_runner.services.settings import leaderboard_of

STAFF = (Membership.Role.LEAD, Membership.Role.ADMIN)
EQUAL = 1e-12  # means that differ by less are equal but for the order of adding
State = Scoring.State


@dataclass
class Row:
    """A run on the leaderboard.

    Attributes:
        cells: its score for each column shown; None where there is none.
        rank: from 1; equal values have equal ranks. None where the run is not scored on the release asked for.
        p, p_holm: of the test against the base; None for the base itself, and while the tests are being computed.
        stale: the release of the scores shown, where the run is not scored on the one asked for.
    """

    scoring: Scoring
    cells: list[Score | None]
    scores: dict[str, Score]
    is_own: bool = False
    is_base: bool = False
    rank: int | None = None
    p: float | None = None
    p_holm: float | None = None
    stale: int | None = None

    @property
    def run(self) -> Run:
        return self.scoring.run


@dataclass
class Table:
    """A leaderboard as it is now.

    Attributes:
        untested: the scores whose test against the base nobody has ordered yet.
        is_testing: whether tests are missing that will come.
    """

    rows: list[Row] = field(default_factory=list)
    base: Row | None = None
    untested: list[Score] = field(default_factory=list)
    is_testing: bool = False
    waiting: int = 0
    failed: list[Scoring] = field(default_factory=list)

    @property
    def ranked(self) -> list[Row]:
        """Those scored on the release itself."""
        return [row for row in self.rows if row.stale is None]


def sees_all(membership: Membership) -> bool:
    return membership.role in STAFF


def is_blind(membership: Membership, split: str) -> bool:
    """Whether the labels of the split are hidden from this person."""
    return not sees_all(membership) and leaderboard_of(membership.project).hides(split)


def is_told(scoring: Scoring, *, blind: bool) -> bool:
    """Whether the scores are told; of hidden labels only those over so many queries that they tell no single one."""
    return not blind or answers_enough(scoring.n_answered, scoring.n_queries)


def leaderboard(asked: Asked, membership: Membership, *, tested: bool = True) -> Table:
    """The runs of a release and split, best first; those that wait or failed there stand at their last scores."""
    here = Scoring.objects.filter(release=asked.release, run__split=asked.split, run__labels=Run.Labels.JUDGED)
    here = here.select_related("run", "release").exclude(run__state=Run.State.WITHDRAWN)
    by_state: dict[str, list[Scoring]] = {state: [] for state in State.values}
    for scoring in here:
        by_state[scoring.state].append(scoring)
    waiting = [scoring for scoring in by_state[State.WAITING] if scoring.run.state == Run.State.SCORED]
    stale = _last_scored([*waiting, *by_state[State.FAILED]])
    blind = is_blind(membership, asked.split)
    told = [scoring for scoring in [*by_state[State.SCORED], *stale] if is_told(scoring, blind=blind)]
    rows = _rows(told, asked, membership)
    rows.sort(key=lambda row: -_value(row, asked))
    table = Table(rows, waiting=len(waiting))
    _rank(table.ranked, asked)
    mine = Q(run__owner=membership.user_id)
    table.failed = list((here if sees_all(membership) else here.filter(mine)).filter(state=State.FAILED))
    if table.ranked:
        table.base = next((row for row in table.ranked if str(row.run.uuid) == asked.base), table.ranked[0])
        table.base.is_base = True
        if tested:
            _test(table, asked)
    return table


def _last_scored(waiting: Iterable[Scoring]) -> Iterable[Scoring]:
    """The scoring on the newest other release, of each run that waits or failed."""
    scored = Scoring.objects.filter(run__in=[scoring.run_id for scoring in waiting], state=State.SCORED)
    newest = scored.order_by("run_id", "-release__version").distinct("run_id")
    return newest.select_related("run", "release")


def _rows(scorings: Iterable[Scoring], asked: Asked, membership: Membership) -> list[Row]:
    held = {scoring.pk: scoring for scoring in scorings}
    scores: dict[int, dict[str, Score]] = {pk: {} for pk in held}
    names = {column.metric for column in asked.all_columns}
    ways = Q(convention="", gain="") | Q(convention=asked.convention, gain=asked.gain)
    for score in Score.objects.filter(ways, scoring__in=held, metric__in=names):
        scores[score.scoring_id][score.metric] = score
    return [
        Row(
            scoring,
            [scores[pk].get(column.metric) for column in asked.columns],
            scores[pk],
            is_own=scoring.run.owner_id == membership.user_id,
            stale=None if scoring.release_id == asked.release.pk else scoring.release.version,
        )
        for pk, scoring in held.items()
    ]


def _value(row: Row, asked: Asked) -> float:
    score = row.scores.get(asked.sorted_by.metric)
    return -1.0 if score is None else score.value


def _rank(rows: list[Row], asked: Asked) -> None:
    for place, row in enumerate(rows):
        before = rows[place - 1] if place else None
        is_tie = before is not None and _value(before, asked) - _value(row, asked) <= EQUAL
        row.rank = before.rank if before and is_tie else place + 1


def _test(table: Table, asked: Asked) -> None:
    """What is known of the test of every run against the base; corrected for their number once all are there."""
    metric = asked.sorted_by.metric
    base = table.base.scores.get(metric) if table.base else None
    others = [(row, row.scores[metric]) for row in table.ranked if row is not table.base and metric in row.scores]
    if base is None or not others:
        return
    tests = score_tests_of(base, [score for _, score in others])
    table.untested = [score for _, score in others if score.pk not in tests]
    table.is_testing = bool(table.untested) or any(test.is_waiting for test in tests.values())
    if table.is_testing:
        return
    known = [tests[score.pk].p for _, score in others]
    for (row, _), p, corrected in zip(others, known, holm([1.0 if p is None else p for p in known]), strict=True):
        row.p, row.p_holm = p, None if p is None else corrected


def scored_run(asked: Asked, membership: Membership, uuid: str) -> Scoring | None:
    """The scoring of the run of this UUID on the leaderboard asked for, if this person is told its scores."""
    try:
        name = UUID(uuid)
    except ValueError:
        return None
    held = Scoring.objects.filter(release=asked.release, run__split=asked.split, run__uuid=name, state=State.SCORED)
    scoring = (
        held.filter(run__state=Run.State.SCORED, run__labels=Run.Labels.JUDGED).select_related("run", "release").first()
    )
    told = scoring is not None and is_told(scoring, blind=is_blind(membership, asked.split))
    return scoring if told else None
