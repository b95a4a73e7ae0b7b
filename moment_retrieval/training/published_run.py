"""Retrieval by a published checkpoint, given features and judged moments."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from moment_retrieval import formats
from moment_retrieval.data import Clips, read_clips, read_split, readers_of
from moment_retrieval.errors import at
from moment_retrieval.metrics.recall import Task
from moment_retrieval.published import Published, UnfitWeights, load_published
from moment_retrieval.records import read_corpus
from moment_retrieval.training.evaluation import AmongCandidates, CandidateRequest, Retriever, WholeCorpus, first_stage
from moment_retrieval.training.feature_rows import KINDS, FeatureCache, NoFeatures, Reader, Store, opened_stores
from moment_retrieval.training.plan import BadPlan, Plan, settings_of

SPLIT = "val"  # what the judged moments are called in the plan that is made for them
TEMPORAL = 2  # numbers that a clip's place in time adds to its features


def retrieve(options: argparse.Namespace) -> tuple[Path, list[str]]:
    """Answer all judged queries by a published checkpoint, and write the predictions.

    Args:
        options: of the command ``score-checkpoint``.

    Returns:
        The judged moments that were answered, and notices about them.

    Raises:
        UnsafeCheckpoint, UnknownWeight, UnfitWeights: it cannot be used.
        BadPlan: a file is not named.
        ScoringError: a file cannot be read, or the features are not those of the model.
    """
    published = load_published(options.checkpoint)
    with at(str(options.checkpoint)):
        model = published.model()
    plan = plan_of(options, published, model.config)
    device = _device(options.device)
    with TemporaryDirectory(prefix="score-checkpoint-") as temporary:
        feature_cache = FeatureCache(options.work or Path(temporary))
        with _opened(plan, model.config) as (stores, readers):
            names = tuple(read_corpus(Path(plan.corpus)).durations_s)
            clips = read_clips(names, len(names), feature_cache, stores, readers)
            split = read_split(SPLIT, plan, clips, feature_cache, stores["query"])
        retriever, notices = _retriever(plan, CandidateRequest(0, clips, [split], feature_cache, device))
        table = retriever(model.to(device), [split], lambda: None)[SPLIT][Task.VCMR]
    formats.write_run(options.to, table)
    if n_missing := len(split.queries) - len(split.answered):
        notices.append(f"{n_missing} of the {len(split.queries)} queries have no features and score 0")
    if n_missing := clips.searched - len(clips.found):
        notices.append(f"{n_missing} of the {clips.searched} videos have no features and cannot be retrieved")
    return Path(plan.val), notices


def plan_of(options: argparse.Namespace, published: Published, config: object) -> Plan:
    """A plan that names the files, and the sizes that features are read by. Raises BadPlan."""
    values = _named(options) | {"sizes": {name: getattr(config, name) for name in ("clips", "words")}}
    if options.plan is None:
        needed = {SPLIT: "--ground-truth", "corpus": "--corpus", "video": "--video", "query": "--query"}
        if lacking := [option for name, option in needed.items() if name not in values]:
            raise BadPlan(f"name a plan, or {', '.join(lacking)}")
        return Plan.of({"baseline": published.baseline, "train": values[SPLIT], **values})
    plan = Plan.read(options.plan).located(options.plan)
    if plan.baseline != published.baseline:
        raise BadPlan(f"the plan is for {plan.baseline}, and the checkpoint of {published.baseline}")
    if SPLIT not in values and getattr(plan, options.split) is None:
        raise BadPlan(f"the plan names no {options.split}")
    return replace(plan, **{SPLIT: getattr(plan, options.split), **values})


def _named(options: argparse.Namespace) -> dict[str, Any]:
    """The files that are named, as a plan names them."""
    paths = {name: getattr(options, name) for name in ("corpus", *KINDS)} | {SPLIT: options.ground_truth}
    files: dict[str, Any] = {name: str(path.absolute()) for name, path in paths.items() if path is not None}
    if (path := options.candidates) is not None:
        files["candidates"] = {"source": "checkpoint" if path.is_dir() else "listed", "path": str(path.absolute())}
    return files


@contextmanager
def _opened(plan: Plan, config: object) -> Iterator[tuple[dict[str, Store], dict[str, Reader]]]:
    """The features, and how they are read; whether places in time are added is seen from the sizes of the model."""
    with opened_stores(plan) as stores:
        sizes = {kind: getattr(config, f"{kind}_size") for kind in KINDS}
        endpoints = sizes["video"] == stores["video"].width + TEMPORAL
        if plan.subtitle is None:
            stores["subtitle"] = NoFeatures(sizes["subtitle"] - TEMPORAL * endpoints)
        readers = readers_of(plan)
        readers |= {kind: replace(readers[kind], endpoints=endpoints) for kind in ("video", "subtitle")}
        for kind, store in stores.items():
            if (width := readers[kind].width(store.width)) != sizes[kind]:
                read = f"{kind}: the model reads {sizes[kind]} numbers of a row"
                raise UnfitWeights(f"{read}, and the features give {width}")
        yield stores, readers


def _retriever(plan: Plan, request: CandidateRequest) -> tuple[Retriever, list[str]]:
    decoding = settings_of(plan).decoding
    clips: Clips = request.clips
    if plan.candidates is None:
        return WholeCorpus(clips, decoding, request.device), []
    stage = first_stage(plan, replace(request, count=decoding.videos))
    notice = f"candidates: {stage.name}; they hold {stage.recall[SPLIT]:.4f} (share of relevant moments)"
    return AmongCandidates(clips, decoding, request.device, stage.candidates), [notice]


def _device(choice: str) -> torch.device:
    there = torch.cuda.is_available()
    if choice == "cuda" and not there:
        raise BadPlan("device is cuda, and there is no GPU")
    return torch.device("cuda" if there and choice != "cpu" else "cpu")
