"""The answers of a trained baseline as runs of its release; the ordinary task reads and scores them."""

from pathlib import Path

from django.core.files import File
from django.db import transaction

from core.exceptions import NotPossible
from core.files import checksum
from core.stored_files import files_delete
from models_runner.leaderboard.services.runs import UPLOADS
from models_runner.leaderboard.services.truths import truths_make
from models_runner.models import Run, Scoring, Training

NAMES = {split: f"predictions.{split}.json" for split in ("val", "test")}


def baseline_runs_make(*, training: Training, folder: Path) -> dict[str, Run]:
    """A run for each judged split of the release, by the training's field; those that are there stay.

    Raises:
        NotPossible: the program left no answers.
    """
    splits = [truth.split for truth in truths_make(training.experiment.release)]
    return {f"{split}_run": _run_make(training, split, folder / NAMES[split]) for split in splits}


def _run_make(training: Training, split: str, path: Path) -> Run:
    if not path.is_file():
        raise NotPossible(f"{path.name} is missing.")
    of = training.experiment
    run = Run(project=of.project, release=of.release, split=split, system=training.system, source=Run.Source.BASELINE)
    run.labels = of.labels
    held = Run.objects.filter(release=of.release, system=run.system, split=split, owner=None).first()
    if held is not None:
        return held
    run.file_name, run.bytes, run.owner = path.name, path.stat().st_size, None
    with path.open("rb") as source:
        run.sha256 = checksum(File(source))
        run.file.save(path.name, File(source), save=False)
    try:
        with transaction.atomic():
            run.save()
            Scoring.objects.create(run=run, release=of.release)
            UPLOADS.send(run.pk)
    except Exception:
        files_delete(str(run.file.name))
        raise
    return run
