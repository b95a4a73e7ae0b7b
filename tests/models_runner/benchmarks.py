"""A release to train on, features that lie on the disk, and experiments that a stand-in trains."""

import sys
from pathlib import Path
from typing import Any

from judging.models import Release
from models_runner import services
from models_runner.models import Experiment, Training

PROGRAM = [sys.executable, str(Path(__file__).with_name("training_program.py"))]


def places(settings: Any, folder: Path) -> None:
    """Experiments and features lie below ``folder``, and the stand-in trains."""
    settings.EXPERIMENTS_ROOT, settings.FEATURES_ROOT = folder / "experiments", folder / "features"
    settings.TRAIN_COMMAND = PROGRAM


def features_in(folder: Path) -> dict[str, dict[str, str]]:
    told = {}
    for kind in ("video", "query"):
        path = folder / kind / "pixels.h5"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"features")
        told[kind] = {"name": "pixels", "path": str(path)}
    return told


def ordered(release: Release, folder: Path, *, how: str = "done", **values: Any) -> Experiment:
    """An experiment that nobody has begun to train."""
    given = {"baseline": "reloclnet", "top_n": 20, "seeds": 1, "actor": None, **values}
    features = features_in(folder / "features" / str(release.project.uuid))
    return services.experiment_create(release=release, features=features, options={"how": how}, **given)


def only(experiment: Experiment) -> Training:
    return experiment.trainings.get()


def trained(training: Training) -> Training:
    """After its task was run once."""
    services.training_work(training_id=training.pk)
    return Training.objects.get(pk=training.pk)
