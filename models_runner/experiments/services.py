"""Experiments: ordered, cancelled, resumed. What trains them is in ``trainings``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import Project, User
from core.audit import audit_record
from core.exceptions import NotPossible
from core.messages import send_on_commit
from judging.exceptions import FormStale
from judging.models import Release
from judging.releases.layout import train_file
from models_runner.experiments.models import MOST_SEEDS
from models_runner.experiments.selectors import trainings_with_weights
from models_runner.experiments.settings import NAME_CANDIDATES
from models_runner.experiments.trainings import TASK, training_stop
from models_runner.features.services import features_hold
from models_runner.leaderboard.services.runs import name_checked
from models_runner.leaderboard.services.scorings import truths_make
from models_runner.models import Experiment, Run, Training
from moment_retrieval.errors import ScoringError
from moment_retrieval.features import open_features

LONGEST_NAME = 80
EMPTY_LIST_BYTES = 10  # at most, of a JSON file with an empty list; a row has more
USED = "This form ordered another benchmark run already; nothing was stored. Start it again for one more."
SETTING_FIELDS = ("project_id", "release_id", "baseline", "top_n", "labels", "features", "options", "candidates_id")
LARGEST_SEED = 2**31 - 1
NO_TRAINING = "Release {} has no training query: draw queries with a training split, then make a release."
NO_VALIDATION = "Release {} has no judged validation query, which a training is watched with."


def experiment_create(
    *,
    release: Release,
    baseline: str,
    top_n: int,
    seeds: int,
    features: Mapping[str, Mapping[str, Any]],
    options: Mapping[str, Any],
    actor: User | None,
    name: str = "",
    first_seed: int = 1,
    candidates: Training | None = None,
    labels: str = Run.Labels.JUDGED,
    key: UUID | None = None,
) -> Experiment:
    """Order a baseline trained with each of the seeds; the workers of the queue `gpu` take them one by one.

    Args:
        features: facts of a file, by kind: video, subtitle (may be left out), query.
        options: what differs from the released settings, named as in plan.json.
        candidates: whose videos CONQUER looks at; for the others None.
        labels: of validation and test, people's grades or grades derived from similarity.
        key: what the form carried; a form sent again is answered with the experiment that it ordered.

    Raises:
        FormStale: the form ordered an experiment already, another one.
        NotPossible: the release has nothing to train on, a file is missing, or the name is taken.
    """
    if not 1 <= seeds <= MOST_SEEDS:
        raise NotPossible(f"1 to {MOST_SEEDS} seeds are trained.")
    if not 0 <= first_seed <= LARGEST_SEED - seeds + 1:
        raise NotPossible(f"Seeds are 0 to {LARGEST_SEED:,}.")
    check_trainable(release, top_n, features, candidates)
    about = {"project": release.project, "release": release, "baseline": baseline, "top_n": top_n, "labels": labels}
    experiment = Experiment(uuid=key or uuid4(), created_by=actor, **about)
    experiment.features = {kind: feature_facts(source) for kind, source in features.items()}
    experiment.options, experiment.candidates = dict(options), candidates
    try:
        return _experiment_keep(experiment, name, range(first_seed, first_seed + seeds))
    except IntegrityError as error:
        if "experiment_name_once_per_project" not in str(error):
            raise
        raise NotPossible(f"There is an experiment {experiment.name!r} already; give this one another name.") from error


def check_trainable(
    release: Release, top_n: int, features: Mapping[str, Mapping[str, Any]], candidates: Training | None
) -> None:
    """Raise NotPossible where the release has nothing to train on or to validate with, or a file is missing."""
    if release.state != Release.State.READY:
        raise NotPossible("This release is not ready; a baseline is trained on one that is.")
    givers = trainings_with_weights(release.project).filter(experiment__baseline__in=NAME_CANDIDATES)
    if candidates is not None and candidates not in givers:
        raise NotPossible("The candidates come from a finished XML or ReLoCLNet of this project that has its weights.")
    if not has_training_queries(release, top_n):
        raise NotPossible(NO_TRAINING.format(release.version))
    if not any(truth.split == "val" for truth in truths_make(release)):
        raise NotPossible(NO_VALIDATION.format(release.version))
    for kind, source in features.items():
        if not Path(source["path"]).exists():
            raise NotPossible(f"The features {source['name']!r} for {kind} are not on the disk any more.")


@transaction.atomic
def grid_create(
    *, orders: Sequence[Mapping[str, Any]], actor: User | None
) -> tuple[list[Experiment], list[Experiment]]:
    """Order the settings of a grid that nobody has ordered yet.

    An experiment of the same release, baseline, N, features, options, labels and candidates with as many seeds stands
    for a setting, and those of its seeds that were cancelled or failed are resumed: ordering a grid again goes on where
    it was.

    Args:
        orders: the arguments of ``experiment_create`` for each setting.

    Returns:
        What was ordered now, and what was there.

    Raises:
        NotPossible: as ``experiment_create``; nothing is ordered.
    """
    for project in {order["release"].project_id for order in orders}:
        Project.objects.select_for_update(no_key=True).get(pk=project)  # who sends the form too finds it ordered
    new, present = [], []
    for order in orders:
        same = _equal_experiment(order)
        if same is None:
            new.append(experiment_create(actor=actor, **order))
            continue
        for training in same.trainings.filter(state__in=Training.STOPPED):
            training_resume(training=training, actor=actor)
        present.append(same)
    return new, present


def _equal_experiment(order: Mapping[str, Any]) -> Experiment | None:
    alike = Experiment.objects.filter(
        **{name: order[name] for name in ("release", "baseline", "top_n", "labels", "candidates", "options")}
    )
    features = {kind: feature_facts(source) for kind, source in order["features"].items()}
    for experiment in alike:
        if experiment.features == features and experiment.trainings.count() >= order["seeds"]:
            return experiment
    return None


@transaction.atomic
def _experiment_keep(experiment: Experiment, name: str, seeds: range) -> Experiment:
    Project.objects.select_for_update(no_key=True).get(pk=experiment.project_id)  # names go one at a time
    if before := Experiment.objects.filter(uuid=experiment.uuid).first():
        return _same_or_refused(before, experiment, name, seeds)
    features_hold(experiment.project, experiment.features)
    if experiment.candidates is not None:
        training_lock(experiment.candidates)  # who deletes it waits, and finds that it is needed
    experiment.name = _name(name, experiment)
    experiment.save()
    trainings = Training.objects.bulk_create([Training(experiment=experiment, seed=seed) for seed in seeds])
    audit_record(
        project=experiment.project,
        actor=experiment.created_by,
        action="experiment.start",
        subject=experiment.uuid,
        name=experiment.name,
        baseline=experiment.get_baseline_display(),
        top_n=experiment.top_n,
        seeds=len(seeds),
        version=experiment.release.version,
    )
    for training in trainings:
        send_on_commit(TASK, training.pk)
    return experiment


def _same_or_refused(before: Experiment, experiment: Experiment, name: str, seeds: range) -> Experiment:
    """Return what the form ordered when first sent."""
    is_same = all(getattr(before, field) == getattr(experiment, field) for field in SETTING_FIELDS)
    is_named = name.strip() in ("", before.name)
    if not (is_same and is_named and {training.seed for training in before.trainings.all()} == set(seeds)):
        raise FormStale(USED)
    return before


def has_training_queries(release: Release, top_n: int) -> bool:
    """Whether the training set of the release holds a row; one without queries is an empty list."""
    entry = release.manifest.get("files", {}).get(train_file(top_n))
    return bool(entry) and entry["bytes"] > EMPTY_LIST_BYTES


def feature_facts(source: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a file of features, with its width and checksum, to tell it from others. Those of a set are known
    from its check: files of gigabytes are not read within a request. One that is no set and cannot be read has none;
    why is said when it is trained on."""
    if "set" in source:
        return dict(source)
    try:
        with open_features(source["path"]) as store:
            return {**source, "width": store.width, "checksum": store.checksum()}
    except (ScoringError, OSError):
        return dict(source)


def _name(name: str, experiment: Experiment) -> str:
    """As given, or said by what it is; numbered where that is taken."""
    if name.strip():
        name = name_checked(name, "experiment")
        if len(name) > LONGEST_NAME:
            raise NotPossible(f"The name of the experiment has at most {LONGEST_NAME} characters.")
        if name in _names_left(experiment.project):
            raise NotPossible(f"The leaderboard holds runs of a deleted {name!r}; give this one another name.")
        return name
    base = f"{experiment.get_baseline_display()}, N={experiment.top_n}"
    base += ", labels by similarity" if experiment.labels == Run.Labels.SIMILARITY else ""
    other_names = set(experiment.project.experiments.filter(name__startswith=base).values_list("name", flat=True))
    other_names |= _names_left(experiment.project)
    numbered = (base if number == 1 else f"{base} ({number})" for number in range(1, len(other_names) + 2))
    return next(name for name in numbered if name not in other_names)


def _names_left(project: Project) -> set[str]:
    """Names of deleted experiments whose runs are there: another of this name would take their answers for its own."""
    runs = Run.objects.filter(project=project, source=Run.Source.BASELINE, owner=None)
    of_runs = {system.rpartition(", seed ")[0] for system in runs.values_list("system", flat=True).distinct()}
    return of_runs - set(project.experiments.values_list("name", flat=True))


@transaction.atomic
def training_cancel(*, training: Training, actor: User | None) -> Training:
    """Have a training end: at once where it waits, within seconds where it is at work. Raises NotPossible where it has
    ended already."""
    row = training_lock(training)
    if row.state == Training.State.CANCELLING:
        return row
    if row.state == Training.State.WAITING:
        training_stop(row, Training.State.CANCELLED)
    elif row.state == Training.State.RUNNING:
        row.state = Training.State.CANCELLING
        row.save(update_fields=["state"])
    else:
        raise NotPossible("It has ended already.")
    _record(row, actor, "experiment.cancel", step=row.step)
    return row


@transaction.atomic
def training_resume(*, training: Training, actor: User | None) -> Training:
    """Have a cancelled or failed training go on from its last checkpoint. Raises NotPossible where it is neither."""
    row = training_lock(training)
    if not row.is_stopped:
        raise NotPossible("Only a training that was cancelled or failed can be resumed.")
    row.state, row.crashes, row.error, row.ended_at = Training.State.WAITING, 0, "", None
    row.created_at = timezone.now()  # it goes to the end of the line
    row.save()
    _record(row, actor, "experiment.resume", step=row.step)
    send_on_commit(TASK, row.pk)
    return row


def training_lock(training: Training) -> Training:
    rows = Training.objects.select_for_update(of=("self",)).select_related("experiment__project")
    row = rows.filter(pk=training.pk).first()
    if row is None:
        raise NotPossible("This benchmark run has been deleted.")
    return row


def _record(training: Training, actor: User | None, action: str, **details: object) -> None:
    about = {"name": training.experiment.name, "seed": training.seed, **details}
    audit_record(
        project=training.experiment.project, actor=actor, action=action, subject=training.experiment.uuid, **about
    )
