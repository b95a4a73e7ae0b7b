"""The folders of experiments: what a training reads, what it left, on a disk that web and workers share."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, cast
from uuid import UUID
from zipfile import ZIP_STORED, ZipFile

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from accounts.models import Project
from core.exceptions import NotPossible
from judging.models import Release
from judging.releases.layout import JUDGED_SPLITS, TRAIN_FILES, VIDEO_CORPUS, train_file
from judging.releases.selectors import archive_opened
from models_runner.experiments.child import folder_lock
from models_runner.experiments.selectors import SOURCE_SPLIT, queries_by_source_split
from models_runner.models import Experiment, Run, SettingsSearch, Training
from moment_retrieval import formats
from moment_retrieval.formats.tvr_ranking import write_ground_truth
from moment_retrieval.tables import similarity_labelled
from moment_retrieval.training.trials import TUNING

NAMED_BY_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TAIL = 48 * 1024
TRIES = 3  # to read a folder that a training replaces meanwhile
LOGS = ("log.txt", "output.txt")
FILES = ("plan.json", *LOGS, "events.jsonl", "predictions.val.json", "predictions.test.json")
PREPARED = "prepared"  # as training.feature_rows names it, which needs torch; 10 GB for TVR-Ranking
GROUPS, SAME_SPLIT = "candidate_groups.json", "same_split"
FOLDERS = ("best", "last", "tensorboard")  # each as a zip
LEAST_ROOM = 64 * 1024  # bytes; with less a program cannot even tell why it ends


def folder_of(training: Training) -> Path:
    return _root() / str(training.experiment.uuid) / f"seed-{training.seed}"


def search_folder(search: SettingsSearch) -> Path:
    return _root() / str(search.uuid)


def _root() -> Path:
    return Path(settings.EXPERIMENTS_ROOT)


def uuid_folders() -> set[UUID]:
    """Return the experiments and searches over settings that left something on this host's disk."""
    try:
        names = [entry.name for entry in os.scandir(_root()) if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return set()
    return {UUID(name) for name in names if NAMED_BY_UUID.fullmatch(name)}


def folder_bytes(uuid: UUID) -> int:
    """Return the bytes that the trainings of an experiment or of a search over settings left."""
    return sum(_bytes([path]) for path in _files(_root() / str(uuid)))


def folder_remove(uuid: UUID) -> None:
    """Remove all that the trainings left. Raises BlockingIOError where a program still works in one of the folders."""
    folder = _root() / str(uuid)
    if not folder.is_dir():
        return
    with ExitStack() as stack:
        folders = [folder, *(path for path in folder.iterdir() if path.is_dir())]
        if any(stack.enter_context(folder_lock(path, patience_s=0)) is None for path in folders):
            raise BlockingIOError("a program still writes there")
        shutil.rmtree(folder)


def release_folder(release: Release) -> Path:
    """The training sets, judged splits and videos of a release as files, unpacked once. Raises NotPossibleNow where the
    archive is not in the storage, or it is another."""

    def unpack(folder: Path) -> None:
        with archive_opened(release) as source, ZipFile(source) as archive:
            names = {*TRAIN_FILES.values(), *JUDGED_SPLITS.values(), VIDEO_CORPUS} & set(archive.namelist())
            archive.extractall(folder, sorted(names))

    return _filled_once(_root() / "releases" / str(release.uuid), unpack)


def _filled_once(folder: Path, fill: Callable[[Path], None]) -> Path:
    """Return the folder; where it is missing, ``fill`` writes what it holds, which is seen as a whole or not at all."""
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="filling-", dir=folder.parent) as temporary:
            draft = Path(temporary) / "files"
            draft.mkdir()
            fill(draft)
            try:
                draft.rename(folder)
            except OSError:
                if not folder.is_dir():  # else another worker was quicker
                    raise
    return folder


def judged_folder(experiment: Experiment) -> Path:
    """Where validation and test lie, with the labels that the experiment is measured by."""
    release = experiment.release
    judged = release_folder(release)
    if experiment.labels == Run.Labels.JUDGED:
        return judged

    def relabel(folder: Path) -> None:
        for split in release.truths.values_list("split", flat=True):
            table = formats.read_ground_truth(judged / JUDGED_SPLITS[split], formats.FileFormat.TVR_RANKING)
            (folder / JUDGED_SPLITS[split]).write_text(write_ground_truth(similarity_labelled(table)), "utf-8")

    return _filled_once(judged.with_name(f"{judged.name}-by-similarity"), relabel)


def plan_write(training: Training) -> Path:
    """Write plan.json, from which the program trains; returns the folder."""
    experiment = training.experiment
    plan = plan_of(experiment, judged_folder(experiment), training.seed)
    if experiment.release.truths.filter(split="test").exists():
        plan["test"] = str(judged_folder(experiment) / JUDGED_SPLITS["test"])
    return _folder_fill(folder_of(training), experiment, "plan.json", plan)


def tuning_write(search: SettingsSearch) -> Path:
    """Write tuning.json, from which the program searches; returns the folder. It sees nothing of the test split."""
    tuning = {
        "plan": plan_of(search, release_folder(search.release), search.seed),
        "space": search.space,
        "runs": search.n_runs,
        "how": search.method,
        "seed": search.seed,
        "stop_early": search.stops_early,
    }
    return _folder_fill(search_folder(search), search, TUNING, tuning)


def _folder_fill(folder: Path, order: Experiment | SettingsSearch, name: str, values: Mapping[str, object]) -> Path:
    """Write what the program reads, each file as a whole."""
    folder.mkdir(parents=True, exist_ok=True)
    if order.options.get(SAME_SPLIT) and not (folder / GROUPS).exists():
        (folder / GROUPS).write_text(json.dumps(_groups(order.project), ensure_ascii=False), "utf-8")
    draft = folder / f"{name}.new"
    draft.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(folder / name)
    return folder


def plan_of(order: Experiment | SettingsSearch, judged: Path, seed: int) -> dict[str, object]:
    """Build the program's plan; options that are not named are the released ones. ``judged`` holds validation."""
    data = release_folder(order.release)
    plan: dict[str, object] = {
        "baseline": order.baseline,
        "top_n": order.top_n,
        "train": str(data / train_file(order.top_n)),
        "val": str(judged / JUDGED_SPLITS["val"]),
        "test": None,
        "corpus": str(data / VIDEO_CORPUS),
        **{kind: order.features.get(kind, {}).get("path") for kind in ("video", "subtitle", "query")},
        "seed": seed,
        "device": "cuda" if settings.TRAIN_DEVICE.startswith("cuda") else settings.TRAIN_DEVICE,
        **({"threads": settings.TRAIN_THREADS} if settings.TRAIN_THREADS else {}),
        **{name: value for name, value in order.options.items() if name != SAME_SPLIT},
    }
    if order.candidates is not None:
        path = str(folder_of(order.candidates) / "best")
        groups = {"groups": GROUPS} if order.options.get(SAME_SPLIT) else {}
        plan["candidates"] = {"source": "checkpoint", "path": path, **groups}
    return plan


def _groups(project: Project) -> dict[str, dict[str, str]]:
    """Which split videos, and the videos that queries were made of, came from."""
    videos = project.dataset.corpus.videos.exclude(source_split="").values_list("name", "source_split")
    queries = queries_by_source_split(project).values_list("number", SOURCE_SPLIT)
    return {"videos": dict(videos), "queries": {str(number): split for number, split in queries}}


def log_tail(training: Training) -> str:
    """The end of the log; of what the program printed where it wrote none."""
    for name in LOGS:
        try:
            with (folder_of(training) / name).open("rb") as file:
                end = file.seek(0, os.SEEK_END)
                file.seek(max(0, end - TAIL))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            continue
        if text.strip():
            return text.partition("\n")[2] if end > TAIL else text
    return ""


def training_file_sizes(training: Training) -> dict[str, int]:
    """Return the bytes of what there is to take along, by name; without what is just being written anew."""
    folder = folder_of(training)
    sizes = {name: _bytes([folder / name]) for name in FILES}
    sizes |= {f"{name}.zip": _bytes(_files(folder / name)) for name in FOLDERS}
    return {name: size for name, size in sizes.items() if size}


def _bytes(paths: Iterable[Path]) -> int:
    try:
        return sum(path.stat().st_size for path in paths)
    except FileNotFoundError:
        return 0


def training_file_open(training: Training, name: str) -> IO[bytes] | None:
    """One of them, opened; None where it is not there. Raises NotPossible where a training at work is replacing it."""
    folder = folder_of(training)
    if name in FILES:
        return (folder / name).open("rb") if (folder / name).is_file() else None
    if name in {f"{each}.zip" for each in FOLDERS} and (folder / name[:-4]).is_dir():
        return _zipped(folder / name[:-4])
    return None


def _zipped(folder: Path) -> IO[bytes] | None:
    """The folder as it was at one time, not compressed: weights do not get smaller. None of an empty one."""
    for _ in range(TRIES):
        try:
            before = folder.stat().st_ino
            target = _written(folder)
            if folder.stat().st_ino == before:
                return target
        except FileNotFoundError:
            continue
    raise NotPossible(f"{folder.name} is just being written anew; ask again in a moment.")


def _written(folder: Path) -> IO[bytes] | None:
    paths = sorted(_files(folder))
    if not paths:
        return None
    with ExitStack() as stack:
        target = cast(IO[bytes], stack.enter_context(TemporaryFile(dir=_root())))
        with ZipFile(target, "w", ZIP_STORED) as archive:
            for path in paths:
                archive.write(path, path.relative_to(folder.parent))
        target.seek(0)
        stack.pop_all()  # who sends it closes it
    return target


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def disk_is_full(folder: Path) -> bool:
    """Whether nothing can be written there any more."""
    return shutil.disk_usage(folder).free < LEAST_ROOM


def weights_write(training: Training, weights: Mapping[str, NDArray[np.float32]], meta: str) -> None:
    """Put the best weights of a training, by their names, where a search looks for them; those that are there stay.
    ``meta`` is the checkpoint's own record, as JSON."""
    from safetensors.numpy import save_file

    def fill(folder: Path) -> None:
        save_file(dict(weights), folder / "weights.safetensors")
        (folder / "meta.json").write_text(meta, encoding="utf-8")

    _filled_once(folder_of(training) / "best", fill)


def trials_prepared_remove(search: SettingsSearch) -> None:
    """``prepared_remove`` for every trial of a search."""
    for folder in search_folder(search).glob(f"trial-*/{PREPARED}"):
        shutil.rmtree(folder, ignore_errors=True)


def prepared_remove(training: Training) -> None:
    """Remove the features as the model read them; a training that goes on prepares them again."""
    shutil.rmtree(folder_of(training) / PREPARED, ignore_errors=True)
