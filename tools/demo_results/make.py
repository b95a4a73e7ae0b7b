"""Features, trainings by the site's worker, and the files of both that are shipped."""

import json
import shutil
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np

from accounts.models import Project
from judging.models import Release
from models_runner.demo.services import feature_set_add
from models_runner.demo.shipped import (
    FEATURES,
    META,
    RESULTS,
    WEIGHTS,
    ShippedFeatures,
    arrays_write,
    folder_for,
    rounded,
)
from models_runner.experiments.files import folder_of
from models_runner.experiments.services import experiment_create
from models_runner.experiments.settings import options_of
from models_runner.features.making import feature_set_work
from models_runner.features.selectors import facts_of
from models_runner.features.services import feature_set_delete, feature_set_start
from models_runner.models import Experiment, FeatureSet, Training
from moment_retrieval.features import open_features

EXTRACTORS = {"video": "builtin-pixels", "subtitle": "builtin-text", "query": "builtin-text"}
WITH_WEIGHTS = "xml"
BASELINES = {  # each behind the one that it takes candidates from; with what differs from the small settings
    "xml": {"hidden": 32},  # its weights are shipped
    "reloclnet": {},
    "conquer": {},
}
TOP_N, SEED = 20, 1
RECORDED = ("step", "steps", "epoch", "loss", "best", "best_step", "curve", "metrics")
UPLOAD = {"system": "Merged ranks", "team": "Demo team"}
SPLITS = ("val", "test")
RRF = 60  # Cormack et al., SIGIR 2009: each list adds 1 / (60 + rank)
LONGEST_RUN = 40  # predictions of a query


def main() -> None:
    project = Project.objects.filter(demo_videos__isnull=False).order_by("pk").first()
    assert project is not None
    if project.experiments.exists() or project.feature_sets.exists():
        raise SystemExit("This demo has benchmark runs or features already: make a new one, as the docstring says.")
    assert project.demo_seed is not None and project.demo_videos is not None
    folder = folder_for(seed=project.demo_seed, videos=project.demo_videos)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    entries: dict[str, Any] = {"features": features_make(project, folder)}
    sets = {one["kind"]: feature_set_add(project, ShippedFeatures(**one, folder=folder)) for one in entries["features"]}
    trainings: dict[str, Training] = {}
    for baseline, changes in BASELINES.items():
        trainings[baseline] = train(project, baseline, changes, sets, trainings)
        print(f"{trainings[baseline].system}: {trainings[baseline].best}", flush=True)
    entries["trainings"] = [training_write(training, folder) for training in trainings.values()]
    entries["uploads"] = [upload_write(split, folder) for split in SPLITS]
    json_write(folder / RESULTS, entries)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        print(f"{path.relative_to(folder)}: {path.stat().st_size:,} bytes")


def features_make(project: Project, folder: Path) -> list[dict[str, str]]:
    """Extract the features of every kind and write them, all in one file; return what is said of each kind."""
    arrays: dict[str, Any] = {}
    entries = []
    for kind, extractor in EXTRACTORS.items():
        row = feature_set_start(project=project, kind=kind, extractor=extractor, actor=None, wake=False)
        feature_set_work(feature_set_id=row.pk)
        row.refresh_from_db()
        with open_features(row.path) as store:
            rows_by_name = {name: store.rows(name) for name in store.names}
        rows, scale = rounded(np.concatenate(list(rows_by_name.values())))
        arrays[f"{kind}_rows"], arrays[f"{kind}_scale"] = rows, np.float64(scale)
        arrays[f"{kind}_counts"] = np.array([len(some) for some in rows_by_name.values()], np.int32)
        arrays[f"{kind}_names"] = np.array(list(rows_by_name))
        entries.append({"kind": kind, "extractor": extractor, "made_by": row.made_by})
        feature_set_delete(feature_set=row, actor=None)
    arrays_write(folder / FEATURES, arrays)
    return entries


def train(
    project: Project,
    baseline: str,
    changes: Mapping[str, Any],
    sets: Mapping[str, FeatureSet],
    before: Mapping[str, Training],
) -> Training:
    """Order a training as the form does, and wait until the site's worker has ended it."""
    release = Release.objects.filter(project=project, state=Release.State.READY).latest("version")
    experiment = experiment_create(
        release=release,
        baseline=baseline,
        top_n=TOP_N,
        seeds=1,
        features={kind: facts_of(row) for kind, row in sets.items()},
        options=options_of(baseline, TOP_N, "small", changes),
        candidates=before[WITH_WEIGHTS] if baseline == Experiment.Baseline.CONQUER else None,
        actor=None,
        first_seed=SEED,
    )
    while (training := experiment.trainings.select_related("experiment__candidates__experiment").get()).is_awaited:
        sleep(1)
    if training.state != Training.State.DONE:
        raise SystemExit(f"{training.system} {training.state}: {training.error}")
    return training


def training_write(training: Training, folder: Path) -> dict[str, Any]:
    """Write what a training left, and return what is said of it."""
    experiment, source = training.experiment, folder_of(training)
    target = folder / experiment.baseline
    target.mkdir()
    for split in SPLITS:
        shutil.copyfile(source / predictions(split), target / predictions(split))
    has_weights = experiment.baseline == WITH_WEIGHTS
    if has_weights:
        weights_write(source / "best", target)
    candidates = experiment.candidates
    return {
        "name": experiment.name,
        "baseline": experiment.baseline,
        "top_n": experiment.top_n,
        "seed": training.seed,
        "options": experiment.options,
        "candidates": candidates.experiment.name if candidates else "",
        "record": {column: getattr(training, column) for column in RECORDED},
        "has_weights": has_weights,
    }


def weights_write(best: Path, target: Path) -> None:
    """Bring the weights to 16 bits; of their record leave out the plan, which names paths of this site."""
    from safetensors.numpy import load_file

    weights = load_file(best / "weights.safetensors")
    arrays_write(target / WEIGHTS, {name: array.astype(np.float16) for name, array in weights.items()})
    meta = json.loads((best / META).read_text(encoding="utf-8"))
    del meta["progress"]["plan"]
    json_write(target / META, meta)


def upload_write(split: str, folder: Path) -> dict[str, str]:
    """Merge the ranked lists of the baselines by reciprocal ranks, for the participant to upload."""
    queries: dict[int, str] = {}
    scores: dict[int, dict[tuple[Any, ...], float]] = defaultdict(lambda: defaultdict(float))
    for baseline in BASELINES:
        for entry in json.loads((folder / baseline / predictions(split)).read_text(encoding="utf-8")):
            queries[entry["query_id"]] = entry["query"]
            for rank, (*span, _) in enumerate(entry["predictions"], start=1):
                scores[entry["query_id"]][tuple(span)] += 1 / (RRF + rank)
    entries = []
    for query_id, text in queries.items():
        best = sorted(scores[query_id].items(), key=lambda item: (-item[1], item[0]))[:LONGEST_RUN]
        ranked = [[*span, round(score, 6)] for span, score in best]
        entries.append({"query_id": query_id, "query": text, "predictions": ranked})
    name = f"merged.{split}.json"
    json_write(folder / name, entries)
    return {**UPLOAD, "split": split, "file": name}


def predictions(split: str) -> str:
    return f"predictions.{split}.json"


def json_write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
