"""Which numbers of a run a person sees: exact ones, or of hidden labels those of ``leaderboard.rules``."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from accounts.access import RUNNERS, STAFF, grant
from accounts.models import Membership
from models_runner.leaderboard import rules
from models_runner.leaderboard.services.participants import leaderboard_of
from models_runner.leaderboard.services.scorings import LEAST_ANSWERED, answers_enough, truth_digest
from models_runner.models import Leaderboard, Run, Score, Scoring
from moment_retrieval.metrics.leaderboard import COLUMNS, Column
from moment_retrieval.metrics.ndcg_iou import Convention, Gain

EXACT_DECIMALS = 4
BLIND_CONVENTION, BLIND_GAIN = Convention.PAPER.value, Gain.EXPONENTIAL.value
BLIND_COLUMNS = tuple(c for c in COLUMNS if (c.convention, c.gain) == (BLIND_CONVENTION, BLIND_GAIN))
LADDER_COLUMN = BLIND_COLUMNS[0]  # the measure that decides whether a run is a step better than those before


@dataclass(frozen=True)
class ShownScore:
    """One number as a person sees it, with its interval and, of open labels, its share of unjudged predictions.

    Attributes:
        decimals: how many say all that is shown.
    """

    pk: int
    column: Column
    value: float
    low: float
    high: float
    unjudged: float | None
    decimals: int = EXACT_DECIMALS

    @property
    def k(self) -> int:
        return self.column.k

    @property
    def metric(self) -> str:
        return self.column.metric


def sees_all(membership: Membership) -> bool:
    return membership.has(STAFF)


def has_ladder(leaderboard: Leaderboard, n_queries: int) -> bool:
    """Whether a run is shown only when it is a step better than its owner's runs before."""
    if leaderboard.ladder == Leaderboard.Ladder.AUTO:
        return n_queries < rules.LADDER_BELOW
    return leaderboard.ladder == Leaderboard.Ladder.ON


def participants_see(leaderboard: Leaderboard, split: str, n_queries: int, n_moments: int) -> str:
    """Say, for leads and admins, what participants see of a hidden split; empty where the split is open."""
    if not leaderboard.hides(split):
        return ""
    if n_queries < leaderboard.least_queries:
        return f"no scores, since it has {n_queries} judged queries, fewer than {leaderboard.least_queries}"
    text = f"scores in steps of {rules.score_step(n_queries)}"
    if has_ladder(leaderboard, n_queries):
        text += ", and of each person only runs that are a step better than those before"
    if n_moments < rules.PROMISED_MOMENTS * n_queries:
        text += (
            f". With {n_moments / n_queries:.1f} judged moments a query, fewer than {rules.PROMISED_MOMENTS}, each "
            "label weighs more in a score, and uploads tell more of it than the documentation promises"
        )
    return text


class ScoreView:
    """How one member sees the scores of one split."""

    def __init__(self, membership: Membership, split: str) -> None:
        self.membership, self.split = membership, split
        self.settings = leaderboard_of(membership.project)
        self.is_blind = not sees_all(membership) and self.settings.hides(split)
        self._labels: dict[int, str] = {}  # a digest by release

    def refusal_for(self, n_queries: int) -> str:
        """Why no score on so many judged queries is shown; empty where they are."""
        if not self.is_blind or n_queries >= self.settings.least_queries:
            return ""
        return (
            f"The {self.split} split has {n_queries} judged quer{'y' if n_queries == 1 else 'ies'}. Its labels are "
            f"hidden, and scores over fewer than {self.settings.least_queries} queries would tell them: none is shown."
        )

    def refusal(self, scoring: Scoring) -> str:
        """Why the scores of this run are not shown; empty where they are."""
        if not self.is_blind:
            return ""
        if reason := self.refusal_for(scoring.n_queries):
            return reason
        if not answers_enough(scoring.n_answered, scoring.n_queries):
            return (
                f"The labels of this split are hidden, and the run answers less than {LEAST_ANSWERED:.0%} of the "
                "queries that are judged in this release: its scores are not shown."
            )
        if has_ladder(self.settings, scoring.n_queries) and scoring.pk in self._below_best:
            step = rules.score_step(scoring.n_queries)
            return (
                f"The run is not a step ({step}) better than the best run that its owner uploaded before, by "
                f"{LADDER_COLUMN.metric}; on this split only such runs are shown."
            )
        return ""

    def shown(self, scoring: Scoring, scores: Iterable[Score]) -> list[ShownScore]:
        """The scores of a run as this person sees them; none where there is a ``refusal``."""
        if not self.is_blind:
            return [ShownScore(s.pk, s.column, s.value, s.low, s.high, s.unjudged) for s in scores]
        if self.refusal(scoring):
            return []
        return [self._in_steps(scoring, score) for score in scores if score.column in BLIND_COLUMNS]

    @cached_property
    def _below_best(self) -> frozenset[int]:
        """The scorings that are no step better than the best of their owner's earlier runs. An earlier run that is not
        scored on the same release counts with its score on its own, so that no owner begins again on another release; a
        withdrawn one counts, as whoever saw its scores knows them."""
        scoring_ids: list[int] = []
        for by_run in self._first_scores().values():
            for release in {release for scores in by_run.values() for release in scores}:
                compared = [scores.get(release) or next(iter(scores.values())) for scores in by_run.values()]
                values = [self._in_steps(score.scoring, score).value for score in compared]
                step = next(rules.score_step(s.scoring.n_queries) for s in compared if s.scoring.release_id == release)
                for score, is_visible in zip(compared, rules.ladder(values, step), strict=True):
                    if score.scoring.release_id == release and not is_visible:
                        scoring_ids.append(score.scoring_id)
        return frozenset(scoring_ids)

    def _first_scores(self) -> dict[int | None, dict[int, dict[int, Score]]]:
        """The scores that the Ladder compares: by owner, by run in the order of the uploads, by release."""
        project = self.membership.project
        scores = Score.objects.filter(scoring__run__project=project, scoring__run__split=self.split)
        scores = scores.filter(metric=LADDER_COLUMN.metric, convention=BLIND_CONVENTION, gain=BLIND_GAIN)
        staff = project.memberships.filter(roles__overlap=Membership.STAFF).values("user")
        scores = scores.exclude(scoring__run__owner=None).exclude(scoring__run__owner__in=staff)
        scores = scores.select_related("scoring__run", "scoring__release")
        first_scores: dict[int | None, dict[int, dict[int, Score]]] = {}
        for score in scores.order_by("scoring__run_id", "scoring__release__version"):
            run = score.scoring.run
            first_scores.setdefault(run.owner_id, {}).setdefault(run.pk, {})[score.scoring.release_id] = score
        return first_scores

    def _in_steps(self, scoring: Scoring, score: Score) -> ShownScore:
        """The share of unjudged predictions is left out: nine more numbers would tell as much as nine more scores."""
        step, column = rules.score_step(scoring.n_queries), score.column
        value = rules.rounded(score.value, step, self._share(scoring, column))
        decimals = -int(step.as_tuple().exponent)
        return ShownScore(score.pk, column, value, *rules.interval(value, step), None, decimals)

    def _share(self, scoring: Scoring, column: Column) -> float:
        """Draw the number that decides between two steps; equal for equal files against equal labels of one project.
        Another project has other numbers: whoever knows the labels there would learn the threshold here. So have other
        labels: one threshold for two sets of labels would tell their difference."""
        run, release = scoring.run, scoring.release
        if release.pk not in self._labels:
            self._labels[release.pk] = truth_digest(release=release, split=self.split)
        parts = (str(self.membership.project.uuid), self.split, self._labels[release.pk])
        content = run.sha256 or str(run.uuid)
        return rules.share_of(settings.SECRET_KEY.encode(), "leaderboard", *parts, content, column.metric)


def runs_visible_to(membership: Membership) -> QuerySet[Run]:
    """Return the viewer's own runs; to leads and admins, everybody's."""
    runs = Run.objects.filter(project=membership.project_id).select_related("release")
    return runs if sees_all(membership) else runs.filter(owner=membership.user_id)


def run_granted(request: HttpRequest, run_uuid: UUID) -> tuple[Run, Membership]:
    """Return a run of the viewer's own; leads and admins see every one."""
    run = get_object_or_404(Run.objects.select_related("project", "release"), uuid=run_uuid)
    membership = grant(request, run.project, RUNNERS)
    if not sees_all(membership) and run.owner_id != membership.user_id:
        raise PermissionDenied
    return run, membership


def run_withdrawable(request: HttpRequest, run_uuid: UUID) -> Run:
    """Return a run of the viewer's own; leads may withdraw every one."""
    run, membership = run_granted(request, run_uuid)
    if not membership.is_lead and run.owner_id != membership.user_id:
        raise PermissionDenied
    return run
