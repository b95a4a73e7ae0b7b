"""A release to train on, features that lie on the disk, and experiments that a stand-in trains."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from django.core.files.base import ContentFile

from accounts.models import Project
from judging.models import Release
from judging.releases.layout import TRAIN_DEPTHS
from models_runner.experiments.services import experiment_create
from models_runner.experiments.trainings import training_work
from models_runner.features.selectors import facts_of
from models_runner.leaderboard.services.releases import release_receive
from models_runner.models import Experiment, FeatureSet, SettingsSearch, Training
from models_runner.tuning.services import settings_search_create
from models_runner.tuning.work import settings_search_work
from tests.factories import NOW, QueryFactory, VideoFactory
from tests.judging.views.endpoints import zipped
from tests.moment_retrieval.training.tiny import CLIP_S, QUERY, VIDEO, write_features

PROGRAM = [sys.executable, str(Path(__file__).with_name("training_program.py"))]
TUNING_PROGRAM = [sys.executable, "-m", "tests.models_runner.tuning_program"]
SPLITS = {"train": (40, 41), "val": (10,), "test": (20,)}
DRAWN = np.random.default_rng(5).normal(size=(3, QUERY)).astype(np.float32)
SECONDS = {"alpha": 6.0, "beta": 9.0}


def trainable(project: Project) -> Release:
    """A release of two videos, two training queries, and one query each to validate and to test with."""
    for name, duration_s in SECONDS.items():
        VideoFactory(corpus=project.dataset.corpus, name=name, duration_s=duration_s)
    corpus = {name: [seconds, index] for index, (name, seconds) in enumerate(SECONDS.items())}
    files: dict[str, Any] = {f"{split}.json": _queries(project, split) for split in ("val", "test")}
    files |= {f"train_top{n:02d}.json": _queries(project, "train") for n in TRAIN_DEPTHS}
    contents = {name: json.dumps(rows).encode() for name, rows in {**files, "video_corpus.json": corpus}.items()}
    manifest = {
        "counts": {"pairs": {}, "videos": len(SECONDS)},
        "files": {name: {"bytes": len(content)} for name, content in contents.items()},
    }
    release = Release(project=project, version=1, state="ready", manifest=manifest)
    release.archive.save("release.zip", ContentFile(zipped(contents)), save=False)
    release.save()
    release_receive(release_id=release.pk)
    return release


def _queries(project: Project, split: str) -> list[dict[str, Any]]:
    rows = []
    for number in SPLITS[split]:
        text = f"a person sings {number}"
        if not project.queries.filter(number=number).exists():
            QueryFactory(project=project, number=number, text=text, split=split)
        spans = {"alpha": [0.0, 3.0], "beta": [3.0, 7.5]}
        moments = [
            {"pair_id": 2 * number + index, "video_name": name, "timestamp": span, "duration": SECONDS[name]}
            | {"similarity": 0.9, "relevance": 4 - index}
            for index, (name, span) in enumerate(spans.items())
        ]
        rows.append({"query_id": number, "query": text, "relevant_moment": moments})
    return rows


class Drawn:
    """Makes rows of any words."""

    name, width = "drawn", QUERY

    def rows(self, items: list[Any]) -> Iterator[np.ndarray]:
        yield from (DRAWN for _ in items)


def configure_training(settings: Any, folder: Path) -> None:
    """Experiments lie below ``folder``, and the stand-in trains."""
    settings.EXPERIMENTS_ROOT, settings.TRAIN_COMMAND = folder / "experiments", PROGRAM
    settings.TUNE_COMMAND = TUNING_PROGRAM
    settings.TRAIN_DEVICE = "cpu"  # no process is started to look for GPUs


def features_of(project: Project, folder: Path) -> dict[str, dict[str, Any]]:
    """Features of its videos and queries, made before; as an experiment keeps them."""
    facts = {}
    for kind, extractor in (("video", "builtin-pixels"), ("query", "builtin-text")):
        path = folder / "features" / str(project.uuid) / f"{kind}.h5"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"features")
        measured = {"width": 2, "n_items": 1, "checksum": "0", "state": "done", "finished_at": NOW}
        about = {"kind": kind, "extractor": extractor, "path": str(path), **measured}
        feature_set, _ = FeatureSet.objects.get_or_create(project=project, name=f"own {kind}", defaults=about)
        facts[kind] = facts_of(feature_set)
    return facts


def features_drawn(project: Project, folder: Path) -> None:
    """Features that can be trained on, of the videos and queries of ``trainable``: there is nothing to be learnt."""
    facts, draw = features_of(project, folder), np.random.default_rng(7)
    clips = {name: round(seconds / CLIP_S) for name, seconds in SECONDS.items()}
    words = {str(number): 4 for numbers in SPLITS.values() for number in numbers}
    for kind, counts, width in (("video", clips, VIDEO), ("query", words, QUERY)):
        rows = {name: draw.normal(size=(count, width)).astype(np.float32) for name, count in counts.items()}
        write_features(Path(facts[kind]["path"]), rows)


def order_experiment(
    release: Release, folder: Path, *, how: str = "done", options: dict[str, Any] | None = None, **values: Any
) -> Experiment:
    """An experiment that nobody has begun to train."""
    fields = {"baseline": "reloclnet", "top_n": 20, "seeds": 1, "actor": None, **values}
    features = features_of(release.project, folder)
    fields["options"] = {"how": how, **(options or {})}
    return experiment_create(release=release, features=features, **fields)


def order_search(release: Release, folder: Path, **values: Any) -> SettingsSearch:
    """A search over settings that nobody has begun."""
    space = {"lr": [1e-4, 1e-3], "objective.margin": [0.1, 0.2]}
    fields = {"baseline": "reloclnet", "top_n": 20, "options": {"batch": 8}, "n_runs": 3, "actor": None, **values}
    fields = {"space": space, "method": "grid", **fields}
    return settings_search_create(release=release, features=features_of(release.project, folder), **fields)


def searched(search: SettingsSearch) -> SettingsSearch:
    """After its task was run once."""
    settings_search_work(search_id=search.pk)
    return SettingsSearch.objects.get(pk=search.pk)


def only(experiment: Experiment) -> Training:
    return experiment.trainings.get()


def trained(training: Training) -> Training:
    """After its task was run once."""
    training_work(training_id=training.pk)
    return Training.objects.get(pk=training.pk)
