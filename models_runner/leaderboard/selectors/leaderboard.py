"""The leaderboard of a release and split that a person requests: its measures, and its runs, best first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from urllib.parse import urlencode
from uuid import UUID

import numpy as np
from django.db.models import Prefetch, Q, QuerySet, prefetch_related_objects

from accounts.models import Membership, Project
from annotation.models import Query
from core.texts import uuid_or_none
from judging.models import Release
from models_runner.leaderboard import rules
from models_runner.leaderboard.selectors.shown_scores import (
    BLIND_COLUMNS,
    BLIND_CONVENTION,
    BLIND_GAIN,
    ScoreView,
    ShownScore,
    has_ladder,
    sees_all,
)
from models_runner.leaderboard.services.score_tests import score_tests_of, score_tests_schedule
from models_runner.leaderboard.services.scorings import (
    answers_nothing,
    columns_of,
    truth_table,
    values_of,
)
from models_runner.models import Run, Score, Scoring, Truth
from moment_retrieval.metrics.leaderboard import COLUMNS, COLUMNS_BY_FAMILY, FAMILIES, Column, Family
from moment_retrieval.metrics.ndcg_iou import Convention, Empty, Gain, without_relevant
from moment_retrieval.metrics.report import KS
from moment_retrieval.metrics.scores import means
from moment_retrieval.statistics.significance import holm, intervals

EQUAL = Decimal("1e-12")  # means that differ by less are equal but for the order of adding
EMPTY_SCORES = 512  # runs whose scores with empty answers are kept
State = Scoring.State
SPLITS = ("test", "val")
FAMILY_OF_GROUP = {
    "recall": Family.VCMR,
    "svmr": Family.SVMR,
    "vr": Family.VR,
    "highlights": Family.HIGHLIGHTS,
    "estimates": Family.ESTIMATES,
}
GROUPS = {
    **{f"k{k}": f"K = {k}" for k in KS},
    "recall": "VCMR",
    "svmr": "SVMR",
    "vr": "VR",
    "highlights": "QVHighlights",
    "estimates": "Estimates",
}
FIRST = f"k{KS[0]}"


def group_of(metric: str) -> str:
    """Return the group that shows a measure; empty for an unknown one."""
    family = FAMILIES.get(metric)
    if family is Family.NDCG:
        return f"k{metric.partition('@')[2].partition(',')[0]}"
    return next((group for group, each in FAMILY_OF_GROUP.items() if each is family), "")


@dataclass(frozen=True)
class LeaderboardFilters:
    """A leaderboard: what is not known falls back to the newest release, test, K = 10, paper, exponential."""

    release: Release
    split: str
    group: str
    convention: str
    gain: str
    sort: str
    base: str
    empty: str = Empty.ZERO.value  # what an empty answer scores to a query without a relevant moment, by NDCG
    is_blind: bool = False  # the viewer must not learn the labels, and sees the measures of ``BLIND_COLUMNS`` alone

    @property
    def is_ndcg(self) -> bool:
        """Whether the measures shown depend on a convention and a gain."""
        return self.group not in FAMILY_OF_GROUP

    @property
    def columns(self) -> list[Column]:
        """Return the measures shown."""
        if not self.is_ndcg:
            return list(COLUMNS_BY_FAMILY[FAMILY_OF_GROUP[self.group]])
        return [column for column in self.all_columns if column.convention and self.group == f"k{column.k}"]

    @property
    def all_columns(self) -> list[Column]:
        """The measures under the convention and the gain, whether shown or not."""
        if self.is_blind:
            return list(BLIND_COLUMNS)
        return [c for c in COLUMNS if c.convention in ("", self.convention) and c.gain in ("", self.gain)]

    @property
    def sorted_by(self) -> Column:
        """The measure by which runs are ranked and tested."""
        return next((column for column in self.columns if column.metric == self.sort), self.columns[0])

    @property
    def column_index(self) -> int:
        """The number of ``sorted_by`` among the columns of the values that are kept."""
        return COLUMNS.index(self.sorted_by)

    def query(self, **changes: object) -> str:
        """The query string of this leaderboard, changed."""
        parameters: dict[str, object] = {
            "release": self.release.version,
            "split": self.split,
            "show": self.group,
            "convention": self.convention,
            "gain": self.gain,
            "sort": self.sorted_by.metric,
        }
        if self.base:
            parameters["base"] = self.base
        if self.counts_empty:
            parameters["empty"] = self.empty
        return urlencode({**parameters, **changes})

    @property
    def counts_empty(self) -> bool:
        """Whether an empty answer to a query without a relevant moment counts 1, in NDCG alone."""
        return self.is_ndcg and self.empty == Empty.ONE.value

    @property
    def with_zero(self) -> "LeaderboardFilters":
        """Return the leaderboard of the scores that are stored, where each such answer counts 0."""
        return replace(self, empty=Empty.ZERO.value)


def filters_of_query(project: Project, query: Mapping[str, str]) -> LeaderboardFilters | None:
    """The leaderboard that ``query`` names; None where no release is ready."""
    release = release_of_query(project, query)
    if release is None:
        return None
    splits = splits_of(release)
    return LeaderboardFilters(
        release=release,
        split=known_or_first(query.get("split"), splits or SPLITS),
        group=known_or_first(query.get("show"), tuple(GROUPS)),
        convention=known_or_first(query.get("convention"), tuple(each.value for each in Convention)),
        gain=known_or_first(query.get("gain"), tuple(each.value for each in Gain)),
        sort=query.get("sort", ""),
        base=query.get("base", ""),
        empty=known_or_first(query.get("empty"), tuple(each.value for each in Empty)),
    )


def filters_for(membership: Membership, query: Mapping[str, str]) -> LeaderboardFilters | None:
    """The leaderboard that ``query`` names, as far as this person may see it; None where no release is ready. Where it
    names no split, the first one is meant that the person sees scores of."""
    filters = filters_of_query(membership.project, query)
    if filters is not None and "split" not in query:
        filters = replace(filters, split=_split_with_scores(membership, filters.release) or filters.split)
    if filters is None or not ScoreView(membership, filters.split).is_blind:
        return filters
    group = filters.group if filters.is_ndcg else FIRST
    filters = filters.with_zero
    return replace(filters, group=group, convention=BLIND_CONVENTION, gain=BLIND_GAIN, base="", is_blind=True)


def _split_with_scores(membership: Membership, release: Release) -> str | None:
    sizes = Truth.objects.filter(release=release).order_by("split").values_list("split", "n_queries")
    return next((split for split, size in sizes if not ScoreView(membership, split).refusal_for(size)), None)


def release_of_query(project: Project, query: Mapping[str, str]) -> Release | None:
    """The release of the version given, else the newest that is ready."""
    ready = project.releases.filter(state=Release.State.READY)
    version = query.get("release", "")
    release = ready.filter(version=int(version)).first() if version.isdecimal() and len(version) < 9 else None
    return release or ready.first()


def splits_of(release: Release) -> tuple[str, ...]:
    """The splits of which the release has judged queries, test first."""
    return tuple(Truth.objects.filter(release=release).order_by("split").values_list("split", flat=True))


def known_or_first(word: str | None, values: tuple[str, ...]) -> str:
    return word if word in values else values[0]


@dataclass
class Row:
    """A run on the leaderboard.

    Attributes:
        cells: its score for each column shown; None where there is none.
        rank: from 1; equal values have equal ranks, and of hidden labels those that are at most a step apart. None
            where the run is not scored on the requested release.
        p, p_holm: of the test against the base; None for the base itself, while the tests are being computed, and for
            those from whom the labels are hidden.
        stale: the release of the scores shown, where the run is not scored on the requested one.
    """

    scoring: Scoring
    cells: list[ShownScore | None]
    scores: dict[str, ShownScore]
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
    """A leaderboard as it is now."""

    rows: list[Row] = field(default_factory=list)
    base: Row | None = None
    untested: list[int] = field(default_factory=list)  # scores whose test against the base is not scheduled yet
    is_testing: bool = False  # tests are missing that will come
    waiting: int = 0
    failed: list[Scoring] = field(default_factory=list)
    step: str = ""  # of the scores shown, where labels are hidden from the viewer
    refusal: str = ""  # why no scores are shown
    has_ladder: bool = False
    hidden: set[int] = field(default_factory=set)  # runs that were scored and are not shown

    @property
    def ranked(self) -> list[Row]:
        """Those scored on the release itself."""
        return [row for row in self.rows if row.stale is None]


def leaderboard(filters: LeaderboardFilters, membership: Membership, *, tested: bool = True) -> Table:
    """The runs of a release and split, best first; those that wait or failed there stand at their last scores."""
    here = Scoring.objects.filter(release=filters.release, run__split=filters.split, run__labels=Run.Labels.JUDGED)
    here = here.select_related("run", "release").exclude(run__state=Run.State.WITHDRAWN)
    by_state: dict[str, list[Scoring]] = {state: [] for state in State.values}
    for scoring in here:
        by_state[scoring.state].append(scoring)
    waiting = [scoring for scoring in by_state[State.WAITING] if scoring.run.state == Run.State.SCORED]
    stale = _last_scored([*waiting, *by_state[State.FAILED]])
    view = ScoreView(membership, filters.split)
    every = [*by_state[State.SCORED], *stale]
    visible = [scoring for scoring in every if not view.refusal(scoring)]
    rows = _rows(visible, filters, view)
    if filters.counts_empty:
        _count_empty(rows, filters)
    rows.sort(
        key=lambda row: (_is_uncounted(row, filters), -_value(row, filters), row.run.name if view.is_blind else "")
    )
    table = Table(rows, waiting=len(waiting), hidden={one.run_id for one in every} - {one.run_id for one in visible})
    _rank(table, filters, view)
    everyone, viewer = sees_all(membership), membership.user_id
    table.failed = [one for one in by_state[State.FAILED] if everyone or one.run.owner_id == viewer]
    if table.ranked and not view.is_blind and not filters.counts_empty:  # tests are of what is stored
        table.base = next((row for row in table.ranked if str(row.run.uuid) == filters.base), table.ranked[0])
        table.base.is_base = True
        if tested:
            _test(table, filters)
    return table


def leaderboard_tested(filters: LeaderboardFilters, membership: Membership) -> Table:
    """The leaderboard; tests that it lacks are scheduled, and there at a later request."""
    table = leaderboard(filters, membership)
    if table.base is not None and table.untested:
        score_tests_schedule(base=table.base.scores[filters.sorted_by.metric].pk, others=table.untested)
    return table


@dataclass(frozen=True)
class KindTable:
    """Means of one measure by the type of a query's description, for each run of a leaderboard."""

    kinds: list[tuple[str, int]]  # the types, and how many judged queries have each
    rows: list[tuple[Run, list[float | None]]]


def queries_with_kind(filters: LeaderboardFilters) -> QuerySet[Query]:
    """Return the queries whose description has a type (TVR: video, subtitle, both)."""
    queries = Query.objects.filter(project=filters.release.project_id, split=filters.split)
    return queries.filter(caption__description__isnull=False)


def has_kinds(filters: LeaderboardFilters) -> bool:
    """Return whether queries are of more than one type."""
    return queries_with_kind(filters).order_by().values("caption__description__kind").distinct().count() > 1


def kind_table(filters: LeaderboardFilters, table: Table) -> KindTable | None:
    """Return the shown measure by type of query; None where the labels are hidden, or queries are of one type."""
    pairs = queries_with_kind(filters).values_list("number", "caption__description__kind")
    kind_of_query = {str(number): kind for number, kind in pairs}
    if filters.is_blind or len(set(kind_of_query.values())) < 2 or not table.ranked:
        return None
    judged = truth_table(release=filters.release, split=filters.split)
    labels = np.array([kind_of_query.get(query_id, "") for query_id in judged.query_ids])
    values = columns_of([row.scoring.pk for row in table.ranked], filters.column_index)
    names = [kind for kind in sorted(set(kind_of_query.values())) if (labels == kind).any()]
    means_by_kind = [means(range(len(table.ranked)), values[labels == kind]) for kind in names]
    rows = [
        (row.run, [None if np.isnan(mean[number]) else mean[number] for mean in means_by_kind])
        for number, row in enumerate(table.ranked)
    ]
    return KindTable([(kind, int((labels == kind).sum())) for kind in names], rows)


def _last_scored(waiting: Iterable[Scoring]) -> Iterable[Scoring]:
    """The scoring on the newest other release, of each run that waits or failed."""
    scored = Scoring.objects.filter(run__in=[scoring.run_id for scoring in waiting], state=State.SCORED)
    newest = scored.order_by("run_id", "-release__version").distinct("run_id")
    return newest.select_related("run", "release")


def _rows(scorings: Sequence[Scoring], filters: LeaderboardFilters, view: ScoreView) -> list[Row]:
    names = {column.metric for column in filters.all_columns}
    condition = Q(convention="", gain="") | Q(convention=filters.convention, gain=filters.gain)
    prefetch_related_objects(scorings, Prefetch("scores", Score.objects.filter(condition, metric__in=names)))
    rows = []
    for scoring in scorings:
        scores = {score.metric: score for score in view.shown(scoring, scoring.scores.all())}
        cells = [scores.get(column.metric) for column in filters.columns]
        stale = None if scoring.release_id == filters.release.pk else scoring.release.version
        is_own = scoring.run.owner_id == view.membership.user_id
        rows.append(Row(scoring, cells, scores, is_own=is_own, stale=stale))
    return rows


def _count_empty(rows: Sequence[Row], filters: LeaderboardFilters) -> None:
    """Let each empty answer to a query without a relevant moment count 1 in NDCG, as ``score --empty one`` does; a run
    that is scored on another release is left as it is. Released means are over the queries that a run answers, so
    there a query that it leaves out has no part."""
    for row in rows:
        if row.stale is not None:
            continue
        scores = _scores_with_empty(row.scoring.uuid, filters.convention, filters.gain)
        for metric, (value, low, high) in scores.items():
            if metric in row.scores:
                row.scores[metric] = replace(row.scores[metric], value=value, low=low, high=high)
        row.cells = [row.scores.get(column.metric) for column in filters.columns]


@lru_cache(maxsize=EMPTY_SCORES)
def _scores_with_empty(scoring: UUID, convention: str, gain: str) -> dict[str, tuple[float, float, float]]:
    """Return value, low and high by measure; a scoring's values never change."""
    row = Scoring.objects.select_related("run", "release", "per_query").get(uuid=scoring)
    columns = [column for column in COLUMNS if (column.convention, column.gain) == (convention, gain)]
    judged = truth_table(release=row.release, split=row.run.split)
    values = values_of(row)[:, [COLUMNS.index(column) for column in columns]]
    is_empty = without_relevant(judged) & answers_nothing(row, judged)
    values[is_empty] = np.where(np.isnan(values[is_empty]), np.nan, 1.0)
    results = zip(columns, means(range(len(columns)), values).values(), intervals(values), strict=True)
    return {column.metric: (float(value), float(low), float(high)) for column, value, (low, high) in results}


def _is_uncounted(row: Row, filters: LeaderboardFilters) -> bool:
    """Whether the score of a run counts empty answers otherwise than those of the others: it stands behind them."""
    return filters.counts_empty and row.stale is not None


def _value(row: Row, filters: LeaderboardFilters) -> float:
    score = row.scores.get(filters.sorted_by.metric)
    return -1.0 if score is None else score.value


def _rank(table: Table, filters: LeaderboardFilters, view: ScoreView) -> None:
    step = EQUAL
    if view.is_blind:
        n_queries, _ = truth_sizes(filters)
        table.refusal = view.refusal_for(n_queries)
        step = rules.score_step(max(1, n_queries))
        table.step = str(step)
        table.has_ladder = has_ladder(view.settings, n_queries)
    values = [_value(row, filters) for row in table.ranked]
    for row, rank in zip(table.ranked, rules.ranks(values, step), strict=True):
        row.rank = rank


def truth_sizes(filters: LeaderboardFilters) -> tuple[int, int]:
    """How many judged queries and moments the release has of the split; 0 while it is being read."""
    return filters.release.truths.filter(split=filters.split).values_list("n_queries", "n_moments").first() or (0, 0)


def _test(table: Table, filters: LeaderboardFilters) -> None:
    """Add each run's test against the base, as far as known; corrected for their number once all are there."""
    metric = filters.sorted_by.metric
    base = table.base.scores.get(metric) if table.base else None
    others = [(row, row.scores[metric]) for row in table.ranked if row is not table.base and metric in row.scores]
    if base is None or not others:
        return
    tests = score_tests_of(base.pk, [score.pk for _, score in others])
    table.untested = [score.pk for _, score in others if score.pk not in tests]
    table.is_testing = bool(table.untested) or any(test.is_waiting for test in tests.values())
    if table.is_testing:
        return
    p_values = [tests[score.pk].p for _, score in others]
    for (row, _), p, corrected in zip(others, p_values, holm([1.0 if p is None else p for p in p_values]), strict=True):
        row.p, row.p_holm = p, None if p is None else corrected


def scored_run(filters: LeaderboardFilters, membership: Membership, uuid: str) -> Scoring | None:
    """The scoring of the run of this UUID on the requested leaderboard, if this person may see its scores."""
    if (run_uuid := uuid_or_none(uuid)) is None:
        return None
    scored = Scoring.objects.filter(release=filters.release, state=State.SCORED, run__uuid=run_uuid)
    judged = scored.filter(run__split=filters.split, run__state=Run.State.SCORED, run__labels=Run.Labels.JUDGED)
    scoring = judged.select_related("run", "release").first()
    return None if scoring is None or ScoreView(membership, filters.split).refusal(scoring) else scoring
