"""Trains by a plan, from its first step or from where it was left, to its predictions.

``train`` leads from a folder to an exit status; ``Trainer`` runs from checkpoint to checkpoint (training/trainer.py),
with ``Schedule`` and ``Loader`` (training/steps.py) and ``Stepper`` (training/stepper.py). A folder holds a plan first,
then events, checkpoints and predictions (docs/training.md).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from moment_retrieval.data import TrainingDataset, read_dataset, resident
from moment_retrieval.distributed import (
    StopRequest,
    Team,
    TrainingStopped,
    assemble,
    dismiss,
    is_lost,
    is_out_of_memory,
    keep_freed,
)
from moment_retrieval.errors import ScoringError
from moment_retrieval.jsonfiles import is_out_of_room
from moment_retrieval.settings import Settings
from moment_retrieval.training import feature_rows
from moment_retrieval.training.evaluation import (
    TRAIN,
    AmongCandidates,
    CandidateRequest,
    Retriever,
    WholeCorpus,
    first_stage,
)
from moment_retrieval.training.events import LOG, Events
from moment_retrieval.training.feature_rows import FeatureCache
from moment_retrieval.training.plan import PLAN, BadPlan, Plan, settings_of
from moment_retrieval.training.sampled_videos import VideoSampler, list_length
from moment_retrieval.training.trainer import Trainer

DONE, LOST, BAD_PLAN, FAILED, STOPPED = 0, 1, 2, 3, 4
LOCK = ".lock"
RESIDENT = 0.3  # share of a GPU's free memory that features may take


def train(folder: Path, stop: StopRequest | None = None) -> int:
    """Carry out the plan in a folder, from the beginning or from where it was left.

    Returns:
        DONE; FAILED, the reason being an event; STOPPED when asked to; LOST, of several processes, where another ended
        without a message.

    Raises:
        BadPlan: the plan cannot be carried out, or another process does.
        ScoringError: there is no plan, or it is not JSON.
    """
    try:
        plan = _plan(folder)
    except ScoringError as error:
        _refuse(folder, str(error))
        raise
    if plan.threads:
        torch.set_num_threads(plan.threads)
    team = assemble(plan.device)
    try:
        with ExitStack() as stack:
            request, events = stack.enter_context(stop or StopRequest()), None
            if team.first:
                stack.enter_context(_locked(folder))
                events = stack.enter_context(Events(folder))
            return _carry_out(folder, plan, team, request, events)
    finally:
        dismiss(team)


def program(folder: Path) -> int:
    """``train``, where the process does nothing else."""
    keep_freed()
    return train(folder)


def _plan(folder: Path) -> Plan:
    plan = Plan.read(folder)
    settings_of(plan)
    if plan.device == "cuda" and not torch.cuda.is_available():
        raise BadPlan("device is cuda, and there is no GPU")
    return plan


def _refuse(folder: Path, reason: str) -> None:
    """Record that it cannot begin, where the folder is a training's and no other process trains there."""
    if os.environ.get("RANK", "0") == "0" and (folder / PLAN).is_file():
        with suppress(BadPlan), _locked(folder), Events(folder) as events:
            events.record("failed", reason=reason)


def _carry_out(folder: Path, plan: Plan, team: Team, stop: StopRequest, events: Events | None) -> int:
    trainer: Trainer | None = None

    def end(status: int, kind: str, **values: Any) -> int:
        if events is not None:
            events.record(kind, **values, step=0 if trainer is None else trainer.progress.step)
        return status

    def fail(reason: str) -> int:
        print(f"error: {reason}", file=sys.stderr)
        if events is None:  # the first process will only see that this one is gone
            with Events(folder) as own:
                step = 0 if trainer is None else trainer.progress.step
                own.record("failed", reason=f"process {team.rank}: {reason}", step=step)
        return end(FAILED, "failed", reason=reason)

    try:
        trainer = _trainer(folder, plan, team, stop, events)
        trainer.run()
    except TrainingStopped:
        return end(STOPPED, "stopped")
    except BadPlan as error:
        end(BAD_PLAN, "failed", reason=str(error))
        raise
    except ScoringError as error:
        return fail(str(error))
    except Exception as error:
        if reason := _known(error):
            return fail(reason)
        if events is not None:
            traceback.print_exc(file=events.log)
        traceback.print_exc()
        if team.size > 1 and is_lost(error):
            return LOST  # its own process says why, if it can
        log_name = "standard error" if events is None else LOG
        return fail(f"{type(error).__name__}: {error}; {log_name} says where")
    if team.first:
        shutil.rmtree(folder / feature_rows.FOLDER, ignore_errors=True)
    return DONE


def _known(error: Exception) -> str:
    """Describe an error of the machine, not of the program; else return nothing."""
    if is_out_of_memory(error):
        return f"out of memory: {error}"
    if is_out_of_room(error):
        return f"the disk is full: {error}; make room, then resume"
    return ""


def _trainer(folder: Path, plan: Plan, team: Team, stop: StopRequest, events: Events | None) -> Trainer:
    located = plan.located(folder)
    feature_cache = FeatureCache(folder / feature_rows.FOLDER, stop.look)
    dataset = resident(_prepare_dataset(located, feature_cache, team), team.device, RESIDENT)
    settings = settings_of(plan, dataset.sizes)
    splits = list(dataset.splits.values())
    facts: dict[str, Any] = {}
    retriever: Retriever = WholeCorpus(dataset.clips, settings.decoding, team.device)
    lists: dict[str, Tensor] = {}
    if plan.candidates is not None and team.first:
        request = CandidateRequest(
            settings.decoding.videos,
            dataset.clips,
            splits,
            feature_cache,
            team.device,
            list_length(settings.objective),
            dataset.query_ids,
        )
        stage = first_stage(located, request)
        facts = {"candidates": {"name": stage.name, "recall": stage.recall}}
        shares = ", ".join(f"{share:.4f} of {name}" for name, share in stage.recall.items())
        dataset.notices.append(f"candidates: {stage.name}; they hold {shares} (share of relevant moments)")
        retriever, lists = AmongCandidates(dataset.clips, settings.decoding, team.device, stage.candidates), stage.lists
    samplers = _samplers(plan, settings, dataset, team.result_of_first(lambda: lists))
    return Trainer(folder, plan, settings, dataset, team, retriever, stop, events, facts, samplers)


def _samplers(
    plan: Plan, settings: Settings, dataset: TrainingDataset, lists: Mapping[str, Tensor]
) -> dict[str, VideoSampler]:
    """Make samplers of videos for the training and for splits' losses. Raises BadPlan where a list is too short."""
    objective = settings.objective
    samplers = {
        name: VideoSampler(one, objective.sampled_videos, objective.sampled_pool, plan.seed)
        for name, one in lists.items()
    }
    if TRAIN in samplers:
        samplers[TRAIN].check(dataset.samples.query, dataset.samples.video, dataset.query_ids)
    return samplers


def _prepare_dataset(plan: Plan, feature_cache: FeatureCache, team: Team) -> TrainingDataset:
    """The first process prepares the features, the others read what it wrote."""
    dataset = read_dataset(plan, feature_cache) if team.first else None
    team.result_of_first(lambda: None)
    return dataset or read_dataset(plan, feature_cache)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let no other process train in this folder. Raises BadPlan where one does."""
    with (folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadPlan(f"{folder}: another process trains in this folder") from error
        yield
