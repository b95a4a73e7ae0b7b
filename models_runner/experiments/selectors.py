"""Experiments as pages and programs see them."""

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple
from uuid import UUID

from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from prometheus_client.core import Metric

from accounts.access import Roles, grant
from accounts.models import Project
from annotation.models import Query
from core.observability.metrics import Rows, gauges
from judging.projects.checklist import Step
from models_runner.experiments.settings import STEP_S, options_of
from models_runner.models import Experiment, Run, SettingsSearch, Training
from moment_retrieval.metrics.recall import KS, MUS, RecallMeasure, Task, recall_name
from moment_retrieval.settings import RELEASED

SOURCE_SPLIT = "caption__moment__video__source_split"  # of a query
ORDER = ("running", "cancelling", "waiting", "failed", "cancelled", "done")  # of what an experiment is said to be


TRAININGS = "SELECT state, count(*) FROM models_runner_training GROUP BY state"
AT_WORK = """
SELECT device, memory_mb, seconds_per_step, extract(epoch FROM now() - heartbeat)
FROM models_runner_training WHERE state IN ('running', 'cancelling')"""


class RecallRow(NamedTuple):
    """Recall of one task on one split, in per cent.

    ``cells`` are values at each K of KS, then at the next threshold of MUS; of VR there is no threshold.
    """

    split: str
    task: str
    kind: str  # of query; empty for all of them
    cells: list[float | None]


def recall_rows(training: Training) -> list[RecallRow]:
    """Return the recall that a finished training reported, by split and task, then by type of query."""
    rows = []
    for split, metrics in training.metrics.items():
        kinds = sorted({name.partition("-")[0] for name in metrics if "-" in name})
        for task, kind in product(Task, ("", *kinds)):
            prefix = f"{kind}-" if kind else ""
            thresholds = (None,) if task is Task.VR else MUS
            names = [prefix + recall_name(task, RecallMeasure(k, mu)) for mu in thresholds for k in KS]
            if names[0] in metrics:
                values = (metrics.get(name) for name in names)
                rows.append(
                    RecallRow(split, task.value, kind, [None if value is None else 100 * value for value in values])
                )
    return rows


class Row(NamedTuple):
    """One experiment, its seeds counted."""

    experiment: Experiment
    state: str
    done: int
    seeds: int
    best: float | None
    spread: float | None


def experiments_with_trainings() -> QuerySet[Experiment]:
    """With all that the API answers."""
    trainings = Training.objects.select_related("val_run", "test_run")
    experiments = Experiment.objects.select_related("project", "release", "candidates")
    return experiments.prefetch_related(Prefetch("trainings", trainings))


def training_granted(request: HttpRequest, training_uuid: UUID, roles: Roles) -> Training:
    """Return the training; 404 for strangers, 403 for people of other roles."""
    training = get_object_or_404(Training.objects.select_related("experiment__project"), uuid=training_uuid)
    grant(request, training.experiment.project, roles)
    return training


def trainings_with_weights(project: Project) -> QuerySet[Training]:
    """Return the finished trainings whose weights are here: to search with, and to find candidates for CONQUER."""
    done = Training.objects.filter(experiment__project=project, state=Training.State.DONE, has_weights=True)
    return done.select_related("experiment")


def row_of(experiment: Experiment) -> Row:
    """Its state is that of its least finished seed; its score the mean of the best on validation."""
    trainings = list(experiment.trainings.all())
    best = [training.best for training in trainings if training.best is not None]
    n_done = sum(training.state == Training.State.DONE for training in trainings)
    mean = statistics.fmean(best) if best else None
    spread = statistics.stdev(best) if len(best) > 1 else None
    return Row(experiment, state_of(trainings), n_done, len(trainings), mean, spread)


def state_of(trainings: list[Training]) -> str:
    return min((training.state for training in trainings), key=ORDER.index)


@dataclass(frozen=True)
class Expectation:
    """Size and length of a training before it is started; it may end earlier, as ``patience_epochs`` tell."""

    baseline: str
    epochs: int
    steps: int  # at the most
    samples: int  # of an epoch
    batch: int
    hidden_size: int
    patience_epochs: float
    step_s: float
    is_measured: bool  # step_s is of a training on this site

    @property
    def may_stop_early(self) -> bool:
        return 0 < self.patience_epochs < self.epochs

    @property
    def minutes(self) -> int:
        return max(1, math.ceil(self.steps * self.step_s / 60))


def expectation_of(project: Project, *, baseline: str, top_n: int, preset: str) -> Expectation:
    """Return what a preset means for a model: epochs, sizes, steps, and how long they take at the most."""
    options = options_of(baseline, top_n, preset, {})
    samples = project.queries.filter(split=Query.Split.TRAIN).count() * top_n
    steps = options["epochs"] * math.ceil(samples / options["batch"])
    hidden_size = options["sizes"].get("hidden", RELEASED[baseline].config.hidden)
    same = {"experiment__baseline": baseline, "experiment__options__batch": options["batch"]}
    same |= {"experiment__options__sizes": options["sizes"], "state": Training.State.DONE}
    last = Training.objects.filter(seconds_per_step__isnull=False, **same).order_by("-ended_at").first()
    step_s = float(last.seconds_per_step) if last and last.seconds_per_step else STEP_S[preset][baseline]
    return Expectation(
        baseline=Experiment.Baseline(baseline).label,
        epochs=options["epochs"],
        steps=steps,
        samples=samples,
        batch=options["batch"],
        hidden_size=hidden_size,
        patience_epochs=options["patience"] / options["evaluations_per_epoch"],
        step_s=step_s,
        is_measured=last is not None,
    )


@dataclass(frozen=True)
class GridExpectation:
    """How long the trainings of a grid take at the most, one after the other."""

    by_setting: list[Expectation]
    n_seeds: int

    @property
    def n_trainings(self) -> int:
        return len(self.by_setting) * self.n_seeds

    @property
    def is_measured(self) -> bool:
        return all(one.is_measured for one in self.by_setting)

    @property
    def time(self) -> str:
        return duration_text(self.n_seeds * sum(one.minutes for one in self.by_setting))


def duration_text(minutes: int) -> str:
    """Return a time in words: minutes, hours and minutes, or from two days on days."""
    hours, rest = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} days"
    return f"{hours} h {rest} min" if hours else f"{rest} min"


def ahead_of(training: Training) -> int:
    """How many trainings are at work or wait before it, on all devices."""
    if training.state != Training.State.WAITING:
        return 0
    before = Training.objects.filter(state=Training.State.WAITING, created_at__lt=training.created_at).count()
    return before + Training.objects.filter(state__in=Training.AT_WORK).exclude(pk=training.pk).count()


def needed_by(experiment: Experiment) -> list[Experiment]:
    """Those that look at the videos which a seed of it finds, and could not be resumed or searched with without it."""
    return list(Experiment.objects.filter(candidates__experiment=experiment).order_by("pk"))


def searches_needing(experiment: Experiment) -> list[SettingsSearch]:
    """Return the searches over settings that look at the videos which a seed of it finds."""
    return list(SettingsSearch.objects.filter(candidates__experiment=experiment).order_by("pk"))


def runs_of(experiment: Experiment) -> list[Run]:
    """Return its seeds' runs, by seed; a run stays when the experiment goes."""
    trainings = experiment.trainings.select_related("val_run", "test_run").order_by("seed")
    return [run for training in trainings for run in (training.val_run, training.test_run) if run is not None]


def queries_by_source_split(project: Project) -> QuerySet[Query]:
    """Queries whose own video is known to have come from a split, which ``SOURCE_SPLIT`` leads to."""
    return project.queries.filter(caption__isnull=False).exclude(**{SOURCE_SPLIT: ""})


def training_step(project: Project) -> Step:
    """Return the step of the project's checklist: a first trained baseline."""
    n_done = Training.objects.filter(experiment__project=project, state=Training.State.DONE).count()
    facts = f"{n_done:,} trained baseline{'' if n_done == 1 else 's'}"
    return Step("Train", bool(n_done), facts, "Start a benchmark run", "models_runner:experiments", is_optional=True)


def training_figures(rows: Rows) -> Iterator[Metric]:
    """Yield what trainings recorded of themselves; how busy a GPU is beside them, its own exporter knows."""
    states, at_work = rows(TRAININGS), rows(AT_WORK)
    counts = [((state,), n) for state, n in states]
    yield gauges("momentjudge_trainings", "Trainings, by state.", ["state"], counts)
    memory = [((device,), 2**20 * (mb or 0)) for device, mb, _, _ in at_work]
    yield gauges("momentjudge_training_memory_bytes", "Held by the training on a device.", ["device"], memory)
    steps = [((device,), each or 0) for device, _, each, _ in at_work]
    yield gauges("momentjudge_training_step_seconds", "Time of a step on a device.", ["device"], steps)
    silent = [((device,), float(age or 0)) for device, _, _, age in at_work]
    yield gauges("momentjudge_training_silent_seconds", "Since the training was last looked at.", ["device"], silent)
