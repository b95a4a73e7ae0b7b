"""The tables of the papers over a release: baselines by N, K, mu and split, and what is published of them."""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from urllib.parse import urlencode

from annotation.models import Project
from judging.models import Release
from models_runner import published_values as published
from models_runner.models import Experiment, Run, Score, Scoring, Training
from models_runner.selectors.asked import known_or_first, release_asked
from models_runner.selectors.benchmark_labels import Standing, notes_of, standing_of
from moment_retrieval.metrics.ndcg_iou import Convention, Gain

CONVENTIONS = (Convention.RELEASED.value, Convention.PAPER.value)
SETTINGS = tuple((baseline, n) for baseline in published.BASELINES for n in published.NS)
Place = tuple[str, int, float]  # split, K, mu
Values = Mapping[Place, float]


@dataclass(frozen=True)
class TablesAsked:
    """What is not known falls back to the newest release, test, K = 10, released, and the setting of Table 7."""

    release: Release
    split: str
    k: int
    convention: str
    of: tuple[str, int]

    @property
    def shows_published(self) -> bool:
        """Published values are those of one convention."""
        return self.convention == Convention.RELEASED.value

    def query(self, **changes: object) -> str:
        held = {"release": self.release.version, "split": self.split, "k": self.k, "convention": self.convention}
        return urlencode({**held, "of": setting_key(self.of), **changes})


def setting_key(setting: tuple[str, int]) -> str:
    return f"{setting[0]}-{setting[1]}"


def tables_asked(project: Project, given: Mapping[str, str]) -> TablesAsked | None:
    """The tables that ``given`` names; None where no release is ready."""
    release = release_asked(project, given)
    if release is None:
        return None
    keys = {setting_key(setting): setting for setting in (published.SPREAD_OF, *SETTINGS)}
    return TablesAsked(
        release=release,
        split=known_or_first(given.get("split"), ("test", "val")),
        k=int(known_or_first(given.get("k"), tuple(map(str, published.KS)))),
        convention=known_or_first(given.get("convention"), CONVENTIONS),
        of=keys[known_or_first(given.get("of"), tuple(keys))],
    )


class Cell(NamedTuple):
    """One measure of an experiment: of its best seed, and over its seeds; None where there is no score."""

    best: float | None = None
    mean: float | None = None
    deviation: float | None = None


@dataclass(frozen=True)
class Line:
    """An experiment in a table.

    Attributes:
        seeds: the values of each finished seed; the best on validation comes first.
        notes: what sets it apart from the published setting, in words.
    """

    experiment: Experiment
    seeds: dict[int, Values]
    notes: tuple[str, ...]

    @property
    def best_seed(self) -> int:
        return next(iter(self.seeds))

    def cell(self, split: str, k: int, mu: float) -> Cell:
        values = [held[split, k, mu] for held in self.seeds.values() if (split, k, mu) in held]
        if not values:
            return Cell()
        deviation = statistics.stdev(values) if len(values) > 1 else None
        return Cell(self.seeds[self.best_seed].get((split, k, mu)), statistics.fmean(values), deviation)


@dataclass(frozen=True)
class Setting:
    """A baseline trained with N moments of each query: what is published, and the experiments that did so."""

    baseline: str
    top_n: int
    lines: list[Line]

    @property
    def name(self) -> str:
        return f"{Experiment.Baseline(self.baseline).label}, N = {self.top_n}"

    @property
    def key(self) -> str:
        return setting_key((self.baseline, self.top_n))

    @property
    def shown(self) -> list[Line | None]:
        """Its lines; None alone where nothing was trained, as tables have a line then, too."""
        return [*self.lines] or [None]

    def published(self, split: str, k: int, mu: float) -> float:
        return published.score_of(self.baseline, self.top_n, k, mu, split)


@dataclass(frozen=True)
class Tables:
    """All of them.

    Attributes:
        settings: those of the papers, in their order, with the experiments measured by judgments.
        by_similarity: experiments whose validation and test have labels by similarity.
        similarity: the site's own run, which ranks by similarity, measured by judgments.
    """

    asked: TablesAsked
    settings: list[Setting]
    by_similarity: list[Line]
    similarity: Values
    standing: Standing

    @cached_property
    def chosen(self) -> Setting:
        """The setting whose seeds are shown."""
        return next(one for one in self.settings if (one.baseline, one.top_n) == self.asked.of)

    @property
    def lines(self) -> list[Line]:
        return [line for setting in self.settings for line in setting.lines]


def tables(asked: TablesAsked) -> Tables:
    trainings = _trainings(asked.release)
    values = _values(asked, trainings)
    lines = [_line(asked, own, values) for own in _by_experiment(trainings)]
    judged = [line for line in lines if line.experiment.labels == Run.Labels.JUDGED]
    return Tables(
        asked=asked,
        settings=[Setting(*one, [line for line in judged if _setting(line) == one]) for one in SETTINGS],
        by_similarity=[line for line in lines if line.experiment.labels == Run.Labels.SIMILARITY],
        similarity=_similarity(asked),
        standing=standing_of(asked.release, [line.experiment for line in lines]),
    )


def _setting(line: Line) -> tuple[str, int]:
    return line.experiment.baseline, line.experiment.top_n


def _trainings(release: Release) -> list[Training]:
    """Finished ones with a run that is scored on the release, as they were ordered; the best of each goes first."""
    done = Training.objects.filter(experiment__project=release.project_id, state=Training.State.DONE)
    scored = done.filter(val_run__scorings__release=release, val_run__scorings__state=Scoring.State.SCORED)
    found = scored.select_related("experiment__release", "experiment__candidates__experiment")
    return sorted(found, key=lambda one: (one.experiment_id, -(one.best or 0.0), one.seed))


def _by_experiment(trainings: Iterable[Training]) -> list[list[Training]]:
    held: dict[int, list[Training]] = {}
    for training in trainings:
        held.setdefault(training.experiment_id, []).append(training)
    return list(held.values())


def _line(asked: TablesAsked, trainings: list[Training], values: Mapping[int, dict[Place, float]]) -> Line:
    of = trainings[0].experiment
    seeds: dict[int, Values] = {}
    for training in trainings:
        runs = [pk for pk in (training.val_run_id, training.test_run_id) if pk is not None]
        seeds[training.seed] = {place: value for pk in runs for place, value in values.get(pk, {}).items()}
    return Line(of, seeds, notes_of(of, asked.release))


def _values(asked: TablesAsked, trainings: Iterable[Training]) -> dict[int, dict[Place, float]]:
    """The scores of each run on the release."""
    runs = [pk for one in trainings for pk in (one.val_run_id, one.test_run_id) if pk is not None]
    held: dict[int, dict[Place, float]] = {}
    for run, place, value in _scores(asked, run__in=runs):
        held.setdefault(run, {})[place] = value
    return held


def _similarity(asked: TablesAsked) -> dict[Place, float]:
    return {place: value for _, place, value in _scores(asked, run__source=Run.Source.SIMILARITY)}


def _scores(asked: TablesAsked, **which: object) -> list[tuple[int, Place, float]]:
    scorings = Scoring.objects.filter(
        release=asked.release, state=Scoring.State.SCORED, run__state=Run.State.SCORED, **which
    )
    rows = Score.objects.filter(
        scoring__in=scorings, convention=asked.convention, gain=Gain.EXPONENTIAL.value, k__in=published.KS
    )
    found = rows.values_list("scoring__run", "scoring__run__split", "k", "mu", "value")
    return [(run, (split, k, mu), value) for run, split, k, mu, value in found if mu is not None]
