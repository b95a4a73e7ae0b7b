"""Which ground truths and runs on them a person sees, and the leaderboard of one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from accounts.access import RUNNERS, STAFF, Roles, grant
from accounts.models import Membership
from models_runner.ground_truths.rules import (
    ABOUT,
    BY_TYPE,
    FAMILY_LABELS,
    MeasureFamily,
    is_low_best,
    measure_position,
    setting_parts,
)
from models_runner.leaderboard.selectors.leaderboard import known_or_first
from models_runner.models import GroundTruth, TruthRun, TruthScore

CSV_COLUMNS = ["run", "system", "team", "n_queries", "n_missing", "family", "metric", "setting", "value"]


def truths_visible_to(membership: Membership) -> QuerySet[GroundTruth]:
    """Return the ground truths of the project with the number of their runs; to participants the public ones, once they
    are ready: others would tell them of labels that are not theirs to see."""
    truths = GroundTruth.objects.filter(project=membership.project_id)
    truths = truths.annotate(n_runs=Count("runs", filter=Q(runs__state=TruthRun.State.SCORED)))
    if membership.has(STAFF):
        return truths
    return truths.filter(is_public=True, state=GroundTruth.State.READY)


def truth_check_visible(truth: GroundTruth, membership: Membership) -> None:
    """Raise Http404 where this person must not learn that the ground truth exists."""
    if not membership.has(STAFF) and not (truth.is_public and truth.is_ready):
        raise Http404


def truth_granted(request: HttpRequest, truth_uuid: UUID, roles: Roles = RUNNERS) -> tuple[GroundTruth, Membership]:
    """Return a ground truth that the viewer may see; 404 for others."""
    truth = get_object_or_404(GroundTruth.objects.select_related("project"), uuid=truth_uuid)
    membership = grant(request, truth.project, roles)
    truth_check_visible(truth, membership)
    return truth, membership


def truth_runs_visible_to(truth: GroundTruth, membership: Membership) -> QuerySet[TruthRun]:
    """Return the viewer's own runs on a ground truth; to leads and admins, everybody's."""
    runs = truth.runs.prefetch_related("scores").select_related("truth")
    return runs if membership.has(STAFF) else runs.filter(owner=membership.user_id)


def truth_run_granted(request: HttpRequest, run_uuid: UUID) -> tuple[TruthRun, Membership]:
    """Return a run of the viewer's own; leads and admins see every one."""
    run = get_object_or_404(TruthRun.objects.select_related("truth__project", "owner"), uuid=run_uuid)
    membership = grant(request, run.truth.project, RUNNERS)
    truth_check_visible(run.truth, membership)
    if not membership.has(STAFF) and run.owner_id != membership.user_id:
        raise PermissionDenied
    return run, membership


def may_withdraw(run: TruthRun, membership: Membership) -> bool:
    """Whether this person may withdraw the run: its owner or a lead."""
    return membership.is_lead or run.owner_id == membership.user_id


def truth_run_withdrawable(request: HttpRequest, run_uuid: UUID) -> TruthRun:
    """Return a run of the viewer's own; leads may withdraw every one."""
    run, membership = truth_run_granted(request, run_uuid)
    if not may_withdraw(run, membership):
        raise PermissionDenied
    return run


class ScoreRow(NamedTuple):
    """One measure of a run, over all queries and by their type; None where a type has no value."""

    metric: str
    setting: str
    value: float
    by_type: list[float | None]


class FamilyScores(NamedTuple):
    """The scores of a run by one family of measures."""

    label: str
    about: str
    types: list[str]  # of the queries
    rows: list[ScoreRow]


def run_families(run: TruthRun) -> list[FamilyScores]:
    """Return the scores of a run by the families that its owner has chosen, in their order."""
    values: dict[tuple[str, str, str, str], float] = {}
    for score in run.scores.all():
        values[score.family, score.metric, *setting_parts(score.setting)] = score.value
    result = []
    for family in map(MeasureFamily, run.measures):
        measures = [key[1:3] for key in values if key[0] == family and not key[3]]
        measures.sort(key=lambda measure: measure_position(family, measure[0]))
        types = list(dict.fromkeys(key[3] for key in values if key[0] == family and key[3]))
        rows = [
            ScoreRow(
                metric,
                setting,
                values[family, metric, setting, ""],
                [values.get((family, metric, setting, query_type)) for query_type in types],
            )
            for metric, setting in measures
        ]
        result.append(FamilyScores(FAMILY_LABELS[family], ABOUT[family], types, rows))
    return result


class TruthColumn(NamedTuple):
    """One measure with the setting that it was computed with."""

    family: str
    metric: str
    setting: str

    @property
    def label(self) -> str:
        return f"{self.metric}, {self.setting}" if self.setting else self.metric

    @property
    def is_low_best(self) -> bool:
        return is_low_best(self.metric)


@dataclass(frozen=True)
class TruthRow:
    """A run with its value in each column of the table; None where it was not scored by that measure."""

    rank: int | None  # by the column that the table is sorted by; equals share it
    run: TruthRun
    values: list[float | None]
    is_own: bool


@dataclass(frozen=True)
class TruthTable:
    """The runs on a ground truth by one family of measures, best first."""

    families: list[tuple[str, str, str]]  # name, label, query string
    family: str
    columns: list[tuple[TruthColumn, str]]  # with the query string that sorts by it
    sort: TruthColumn | None
    rows: list[TruthRow]


def truth_table_of(truth: GroundTruth, membership: Membership, query: Mapping[str, str]) -> TruthTable:
    """Return the leaderboard that ``query`` names: ``show`` a family, ``sort`` the label of a measure; what is not
    known falls back to the first. All who may see the ground truth see all of its scores."""
    family = known_or_first(query.get("show"), tuple(truth.measures))
    by_run = _scores_by_run(truth, family)
    columns = list(dict.fromkeys(column for _, values in by_run for column in values))
    columns.sort(key=lambda column: measure_position(family, column.metric))
    sort = next((column for column in columns if column.label == query.get("sort")), columns[0] if columns else None)
    ranked = sorted(by_run, key=lambda row: _order(row[1].get(sort) if sort else None, sort))
    best_first = [values.get(sort) if sort else None for _, values in ranked]
    rows = [
        TruthRow(
            rank=None if value is None else best_first.index(value) + 1,
            run=run,
            values=[values.get(column) for column in columns],
            is_own=run.owner_id == membership.user_id,
        )
        for (run, values), value in zip(ranked, best_first, strict=True)
    ]
    return TruthTable(
        families=[(name, FAMILY_LABELS[MeasureFamily(name)], urlencode({"show": name})) for name in truth.measures],
        family=family,
        columns=[(column, urlencode({"show": family, "sort": column.label})) for column in columns],
        sort=sort,
        rows=rows,
    )


def scores_on(truth: GroundTruth) -> QuerySet[TruthScore]:
    """Return the scores over all queries of the runs that stand on the leaderboard, the first upload first."""
    scores = TruthScore.objects.filter(run__truth=truth, run__state=TruthRun.State.SCORED)
    scores = scores.exclude(setting__contains=BY_TYPE)
    return scores.select_related("run").order_by("run_id", "pk")


def _scores_by_run(truth: GroundTruth, family: str) -> list[tuple[TruthRun, dict[TruthColumn, float]]]:
    by_run: dict[TruthRun, dict[TruthColumn, float]] = {}
    for score in scores_on(truth).filter(family=family):
        column = TruthColumn(score.family, score.metric, score.setting)
        by_run.setdefault(score.run, {})[column] = score.value
    return list(by_run.items())


def _order(value: float | None, column: TruthColumn | None) -> tuple[bool, float]:
    if value is None or column is None:
        return True, 0.0
    return False, value if column.is_low_best else -value


def csv_rows(truth: GroundTruth) -> Iterator[list[object]]:
    """Yield the rows of CSV_COLUMNS: every scored run and measure."""
    for score in scores_on(truth):
        run = score.run
        of_run = [run.uuid, run.system, run.team, run.n_queries, run.n_missing]
        yield [*of_run, score.family, score.metric, score.setting, score.value]
