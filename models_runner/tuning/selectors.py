"""Searches over settings as pages and programs see them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from accounts.access import Roles, grant
from accounts.models import Project
from models_runner.experiments.models import Training
from models_runner.experiments.selectors import Expectation, duration_text
from models_runner.experiments.settings import PARTS
from models_runner.models import SettingsSearch
from models_runner.tuning.rules import label_of, space_texts
from moment_retrieval.settings import SELECTED_BY
from moment_retrieval.training.trials import WAITING, Trial, Tuning, best_first, table_rows


class TrialRow(NamedTuple):
    """A line of a search's table."""

    number: int
    values: list[str]
    state: str
    best: float | None
    n_evaluations: int
    reason: str


@dataclass(frozen=True)
class SearchExpectation:
    """How long a search takes at the most."""

    n_runs: int
    each: Expectation
    n_combinations: int | None = None  # of a grid

    @property
    def leaves_out(self) -> bool:
        """Whether a grid has more combinations than are tried."""
        return self.n_combinations is not None and self.n_combinations > self.n_runs

    @property
    def minutes(self) -> int:
        return self.n_runs * self.each.minutes

    @property
    def time(self) -> str:
        return duration_text(self.minutes)


class Coverage(NamedTuple):
    """Hold what a search tries."""

    n_combinations: int | None  # that a grid has; None of a random search
    space: dict[str, str]  # by label: what the search was ordered with
    tried: dict[str, str]  # by label: of it, what its trainings try; of a random search what they draw from

    @property
    def is_partial(self) -> bool:
        """Whether values that were ordered are in no training."""
        return self.tried != self.space


def coverage_of(search: SettingsSearch) -> Coverage:
    """Return what the trainings of a search try: of a grid the first combinations, as many as it has trainings."""
    space = space_texts(search.space)
    tuning = Tuning(plan={}, space=search.space, runs=search.n_runs, how=search.method, seed=search.seed)
    if tuning.n_combinations is None:
        return Coverage(None, space, space)
    settings = tuning.settings()
    values = {name: list(dict.fromkeys(one[name] for one in settings)) for name in search.space}
    return Coverage(tuning.n_combinations, space, space_texts(values))


def searches_of(project: Project) -> QuerySet[SettingsSearch]:
    """Return all searches of the project, the newest first."""
    return project.settings_searches.select_related("release", "candidates")


def search_granted(request: HttpRequest, search_uuid: UUID, roles: Roles) -> SettingsSearch:
    """Return the search; 404 for strangers, 403 for people of other roles."""
    searches = SettingsSearch.objects.select_related("project", "release", "candidates")
    search = get_object_or_404(searches, uuid=search_uuid)
    grant(request, search.project, roles)
    return search


def trials_of(search: SettingsSearch) -> list[Trial]:
    """Return the trials, best first."""
    return best_first([Trial(number=number, **row) for number, row in enumerate(search.trials, start=1)])


def trial_rows(search: SettingsSearch) -> list[TrialRow]:
    """Return the lines of the table, best first; what waits comes last."""
    return [
        TrialRow(
            number=trial.number,
            values=[f"{value:g}" for value in trial.settings.values()],
            state=trial.state,
            best=trial.best,
            n_evaluations=len(trial.curve),
            reason=trial.reason,
        )
        for trial in trials_of(search)
    ]


def columns_of(search: SettingsSearch) -> list[str]:
    return [label_of(name) for name in search.space]


def csv_rows(search: SettingsSearch) -> Iterator[list[object]]:
    """Yield the header and the rows of ``trials.csv``: trials that have begun."""
    trials = [trial for trial in trials_of(search) if trial.state != WAITING]
    return table_rows(trials, SELECTED_BY)


def options_with(search: SettingsSearch, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the search with the settings of a trial, as an experiment keeps them."""
    options = {name: dict(value) if name in PARTS else value for name, value in search.options.items()}
    for name, value in settings.items():
        part, _, entry = name.rpartition(".")
        (options.setdefault(part, {}) if part else options)[entry] = value
    return options


def trial_settings(search: SettingsSearch, number: int) -> dict[str, Any] | None:
    """Return what a trial tries; None where the search has no such trial."""
    return dict(search.trials[number - 1]["settings"]) if 0 < number <= len(search.trials) else None


def searches_before(search: SettingsSearch) -> int:
    """How many trainings and searches are at work or wait before it, on all devices."""
    if search.state != Training.State.WAITING:
        return 0
    n_before = 0
    for model, itself in ((Training, {}), (SettingsSearch, {"pk": search.pk})):
        waiting = model.objects.filter(state=Training.State.WAITING, created_at__lt=search.created_at)
        at_work = model.objects.filter(state__in=Training.AT_WORK)
        n_before += waiting.count() + (at_work.exclude(**itself) if itself else at_work).count()
    return n_before
