"""The demo's finished benchmark runs: shipped files as rows, scored here as any run is, and what is made of them."""

from collections.abc import Mapping
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import Membership, Project
from annotation.models import Query
from annotation.pools.services.poolings import Scope
from annotation.proposals.rules import WINDOWS
from annotation.proposals.services import options_checked, proposal_start
from core import clock
from core.audit import audit_record
from judging.demo.simulation import lead_of
from judging.models import Release
from models_runner.demo.ground_truths import ground_truth_add
from models_runner.demo.shipped import Shipped, ShippedFeatures, ShippedRun, ShippedTraining, shipped_for
from models_runner.experiments import files
from models_runner.features.selectors import facts_of
from models_runner.features.services import names_wanted
from models_runner.leaderboard.services.economy import study_create
from models_runner.leaderboard.services.runs import baseline_runs_make, run_upload, run_work
from models_runner.leaderboard.services.scorings import truths_make
from models_runner.models import EconomyStudy, Experiment, FeatureSet, Run, Training
from models_runner.pools.services import pool_request
from moment_retrieval.features import FeatureWriter, check, open_features

NOTICE = "Trained beforehand and shipped with the demo."
POOL_DEPTH = 10
SPLITS = {str(Query.Split.VAL), str(Query.Split.TEST)}


def demo_results_add(project: Project) -> bool:
    """Add what is shipped for the demo: its last step. A demo of another seed or size has nothing of it, nor has one
    whose release lacks judged queries of a split. What is there stays, so a repeat goes on where an earlier call ended.

    Returns:
        Whether it is over; if not, other workers are still scoring.
    """
    shipped = shipped_for(seed=project.demo_seed, videos=project.demo_videos)
    release = Release.objects.filter(project=project, state=Release.State.READY).order_by("-version").first()
    if shipped is None or release is None or {truth.split for truth in truths_make(release)} != SPLITS:
        return True
    feature_sets = {features.kind: feature_set_add(project, features) for features in shipped.features}
    trainings_add(release, shipped, feature_sets)
    _score(project)
    if not all(_upload(project, release, run) for run in shipped.uploads):
        return False
    if not ground_truth_add(release):
        return False
    _studies_order(project, release)
    return not _at_work(project).exists()


def feature_set_add(project: Project, features: ShippedFeatures) -> FeatureSet:
    """Write the file of one kind of features and its row; the row comes last and says what is in the file."""
    name = f"{features.kind} {features.extractor}, shipped"
    if row := FeatureSet.objects.filter(project=project, name=name).first():
        return row
    path = Path(settings.FEATURES_ROOT).absolute() / str(project.uuid) / features.kind / "shipped.h5"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows_by_name = dict(features.rows())
    width = next(iter(rows_by_name.values())).shape[1]
    with FeatureWriter(path, width=width) as writer:
        for item, rows in rows_by_name.items():
            if item not in writer:  # which knows what a killed process wrote
                writer.add(item, rows)
    names = names_wanted(project, features.kind)
    with open_features(path) as store:  # no child process looks at it: it was written just now
        findings = [finding.as_dict() for finding in check({features.kind: store}, {features.kind: names})]
        measured = {"width": store.width, "n_items": len(store), "checksum": store.checksum(), "findings": findings}
    return FeatureSet.objects.create(
        project=project,
        name=name,
        kind=features.kind,
        extractor=features.extractor,
        made_by=features.made_by,
        path=str(path),
        **measured,
        state=FeatureSet.State.DONE,
        step=FeatureSet.Step.CHECKING,
        done=len(names),
        total=len(names),
        finished_at=clock.now(),
    )


def trainings_add(release: Release, shipped: Shipped, feature_sets: Mapping[str, FeatureSet]) -> None:
    """Add the finished trainings with their runs; where weights are shipped, they come to lie where a search looks."""
    trainings: dict[str, Training] = {}
    for one in shipped.trainings:
        training = Training.objects.filter(experiment__project=release.project, experiment__name=one.name).first()
        if training is None:
            features = {kind: facts_of(feature_set) for kind, feature_set in feature_sets.items()}
            training = _training_add(one, release, features, trainings.get(one.candidates))
        if one.has_weights:
            files.plan_write(training)
            files.weights_write(training, one.weights(), one.meta())
        trainings[one.name] = training


def _training_add(
    one: ShippedTraining, release: Release, features: Mapping[str, object], candidates: Training | None
) -> Training:
    about = {"name": one.name, "baseline": one.baseline, "top_n": one.top_n, "options": one.options}
    experiment = Experiment(project=release.project, release=release, candidates=candidates, **about)
    experiment.features = dict(features)
    training = Training(experiment=experiment, seed=one.seed, state=Training.State.DONE, ended_at=clock.now())
    training.notices, training.has_weights = [NOTICE], one.has_weights
    for column, value in one.record.items():
        setattr(training, column, value)
    for field, run in baseline_runs_make(training=training, folder=one.folder).items():
        setattr(training, field, run)
    with transaction.atomic():
        experiment.save()
        training.experiment = experiment
        training.save()
        details = {"name": one.name, "seed": one.seed, "best": training.best and round(training.best, 4)}
        audit_record(project=release.project, actor=None, action="experiment.ship", subject=experiment.uuid, **details)
    return training


def _at_work(project: Project) -> QuerySet[Run]:
    return Run.objects.filter(project=project, state=Run.State.RUNNING)


def _score(project: Project) -> None:
    """Score what waits, here and now; a run that another worker is at is left to it."""
    for pk in _at_work(project).values_list("pk", flat=True):
        run_work(run_id=pk)


def _upload(project: Project, release: Release, run: ShippedRun) -> bool:
    """Have the demo's participant upload a run, unless it is there; False while an upload of theirs is being scored."""
    member = project.memberships.filter(roles=[Membership.Role.PARTICIPANT]).order_by("pk").first()
    if member is None:
        return True  # a lead has ended the membership
    own = Run.objects.filter(project=project, owner=member.user)
    if not own.filter(split=run.split, system=run.system).exists():
        if own.filter(state=Run.State.RUNNING).exists():
            return False
        file = SimpleUploadedFile(run.path.name, run.path.read_bytes())
        run_upload(membership=member, release=release, split=run.split, system=run.system, team=run.team, file=file)
        _score(project)
    return True


def _studies_order(project: Project, release: Release) -> None:
    """Order what a lead may go on with: the plan of a pool of what the systems returned, and windows that are counted
    and not written. And studies of judging economy."""
    lead = lead_of(project)
    runs = list(Run.objects.filter(project=project, state=Run.State.SCORED).exclude(source=Run.Source.SIMILARITY))
    if runs and not project.poolings.filter(seed=None).exists():
        pool_request(project=project, runs=runs, scope=Scope(depth=POOL_DEPTH), actor=lead)
    corpus = project.dataset.corpus
    if not corpus.proposals.exists():
        proposal_start(corpus=corpus, options=options_checked(method=WINDOWS), actor=lead, project=project)
    for split in SPLITS:
        if not EconomyStudy.objects.filter(release=release, split=split).exists():
            study_create(release=release, split=split, actor=lead)
