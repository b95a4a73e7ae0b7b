"""A release to train on, features that lie on the disk, and experiments that a stand-in trains."""

import sys
from pathlib import Path
from typing import Any

from annotation.models import Project
from judging.models import Release
from models_runner import services
from models_runner.models import Experiment, FeatureSet, Training
from models_runner.selectors.features import Choice
from tests.factories import NOW

PROGRAM = [sys.executable, str(Path(__file__).with_name("training_program.py"))]


def places(settings: Any, folder: Path) -> None:
    """Experiments lie below ``folder``, and the stand-in trains."""
    settings.EXPERIMENTS_ROOT, settings.TRAIN_COMMAND = folder / "experiments", PROGRAM


def features_of(project: Project, folder: Path) -> dict[str, dict[str, str]]:
    """Features of its videos and queries, made before; as an experiment keeps them."""
    told = {}
    for kind, extractor in (("video", "builtin-pixels"), ("query", "builtin-text")):
        path = folder / "features" / str(project.uuid) / f"{kind}.h5"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"features")
        measured = {"width": 2, "n_items": 1, "checksum": "0", "state": "done", "finished_at": NOW}
        about = {"kind": kind, "extractor": extractor, "path": str(path), **measured}
        made, _ = FeatureSet.objects.get_or_create(project=project, name=f"own {kind}", defaults=about)
        told[kind] = Choice(str(made.uuid), made.name, made.path).told()
    return told


def ordered(release: Release, folder: Path, *, how: str = "done", **values: Any) -> Experiment:
    """An experiment that nobody has begun to train."""
    given = {"baseline": "reloclnet", "top_n": 20, "seeds": 1, "actor": None, **values}
    features = features_of(release.project, folder)
    return services.experiment_create(release=release, features=features, options={"how": how}, **given)


def only(experiment: Experiment) -> Training:
    return experiment.trainings.get()


def trained(training: Training) -> Training:
    """After its task was run once."""
    services.training_work(training_id=training.pk)
    return Training.objects.get(pk=training.pk)
