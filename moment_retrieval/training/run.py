"""``train FOLDER``: everything from the plan to the exit status."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch

from moment_retrieval.durable import is_out_of_room
from moment_retrieval.errors import ScoringError
from moment_retrieval.features import open_features
from moment_retrieval.training import feature_rows
from moment_retrieval.training.evaluation import AmongCandidates, Retriever, WholeCorpus
from moment_retrieval.training.events import LOG, Events
from moment_retrieval.training.feature_rows import Shelf
from moment_retrieval.training.first_stage import Asked, first_stage
from moment_retrieval.training.material import Material, read_material, resident
from moment_retrieval.training.memory import is_out_of_memory, keep_freed
from moment_retrieval.training.plan import PLAN, BadPlan, Plan
from moment_retrieval.training.settings import Settings
from moment_retrieval.training.signals import Stopped, StopRequest
from moment_retrieval.training.team import Team, assemble, dismiss, is_lost
from moment_retrieval.training.trainer import Means, Trainer

DONE, LOST, BAD_PLAN, FAILED, STOPPED = 0, 1, 2, 3, 4
LOCK = ".lock"
RESIDENT = 0.3  # share of a GPU's free memory that features may take


def train(folder: Path, stop: StopRequest | None = None) -> int:
    """Carry out the plan in a folder, from the beginning or from where it was left.

    Returns:
        DONE; FAILED, the reason being an event; STOPPED when asked to; LOST, of several processes, where another ended
        without a word.

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
        with stop or StopRequest() as request, _alone(folder, first=team.first):
            if not team.first:
                return _carry_out(folder, plan, team, request, None)
            with Events(folder) as events:
                return _carry_out(folder, plan, team, request, events)
    finally:
        dismiss(team)


def program(folder: Path) -> int:
    """``train``, where the process does nothing else."""
    keep_freed()
    return train(folder)


def _plan(folder: Path) -> Plan:
    plan = Plan.read(folder)
    Settings.of(plan)
    if plan.device == "cuda" and not torch.cuda.is_available():
        raise BadPlan("device is cuda, and there is no GPU")
    return plan


def _refuse(folder: Path, reason: str) -> None:
    """Tell that it cannot begin, where the folder is a training's and nobody else trains there."""
    if os.environ.get("RANK", "0") == "0" and (folder / PLAN).is_file():
        with suppress(BadPlan), _alone(folder, first=True), Events(folder) as events:
            events.tell("failed", reason=reason)


def _carry_out(folder: Path, plan: Plan, team: Team, stop: StopRequest, events: Events | None) -> int:
    trainer: list[Trainer] = []  # what there is of it when something fails
    try:
        trainer.append(_trainer(folder, plan, team, stop, events))
        trainer[0].run()
    except Stopped:
        return _ended(events, STOPPED, "stopped", step=_step(trainer))
    except BadPlan as error:
        _ended(events, BAD_PLAN, "failed", reason=str(error), step=_step(trainer))
        raise
    except ScoringError as error:
        return _failed(folder, team, events, str(error), trainer)
    except Exception as error:
        if reason := _known(error):
            return _failed(folder, team, events, reason, trainer)
        if events is not None:
            traceback.print_exc(file=events.log)
        traceback.print_exc()
        if team.size > 1 and is_lost(error):
            return LOST  # its own process says why, if it can
        place = "standard error" if events is None else LOG
        return _failed(folder, team, events, f"{type(error).__name__}: {error}; {place} says where", trainer)
    if team.first:
        shutil.rmtree(folder / feature_rows.FOLDER, ignore_errors=True)
    return DONE


def _known(error: Exception) -> str:
    """What is wrong with the machine and not with the program, in words; else nothing."""
    if is_out_of_memory(error):
        return f"out of memory: {error}"
    if is_out_of_room(error):
        return f"the disk is full: {error}; make room, then resume"
    return ""


def _trainer(folder: Path, plan: Plan, team: Team, stop: StopRequest, events: Events | None) -> Trainer:
    located = plan.located(folder)
    shelf = Shelf(folder / feature_rows.FOLDER, stop.look)
    material = resident(_material(located, shelf, team), team.device, RESIDENT)
    settings = Settings.of(plan, material.sizes)
    splits = list(material.splits.values())
    facts: dict[str, Any] = {}
    retriever: Retriever = WholeCorpus(material.clips, settings.decoding, team.device)
    if plan.candidates is not None and team.first:
        found = first_stage(
            located, Asked(settings.decoding.videos, material.clips, splits, shelf, open_features, team.device)
        )
        facts = {"candidates": {"name": found.name, "recall": found.recall}}
        shares = ", ".join(f"{share:.4f} of {name}" for name, share in found.recall.items())
        material.notices.append(f"candidates: {found.name}; they hold {shares} (share of relevant moments)")
        retriever = AmongCandidates(material.clips, settings.decoding, team.device, found.candidates)
    return Trainer(Means(folder, plan, settings, material, team, retriever, stop, events, facts))


def _material(plan: Plan, shelf: Shelf, team: Team) -> Material:
    """The first process prepares the features, the others read what it wrote."""
    if team.first:
        material = read_material(plan, shelf, open_features)
        team.told_by_first(lambda: None)
    else:
        team.told_by_first(lambda: None)
        material = read_material(plan, shelf, open_features)
    return material


def _failed(folder: Path, team: Team, events: Events | None, reason: str, trainer: list[Trainer]) -> int:
    print(f"error: {reason}", file=sys.stderr)
    if events is None:  # the first process will only see that this one is gone
        with Events(folder) as own:
            return _ended(own, FAILED, "failed", reason=f"process {team.rank}: {reason}", step=_step(trainer))
    return _ended(events, FAILED, "failed", reason=reason, step=_step(trainer))


def _ended(events: Events | None, status: int, kind: str, **values: Any) -> int:
    if events is not None:
        events.tell(kind, **values)
    return status


def _step(trainer: list[Trainer]) -> int:
    return trainer[0].progress.step if trainer else 0


@contextmanager
def _alone(folder: Path, *, first: bool) -> Iterator[None]:
    """Nobody else trains in this folder; the ``first`` process of a training sees to it."""
    if not first:
        yield
        return
    with (folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BadPlan(f"{folder}: another process trains in this folder") from error
        yield
