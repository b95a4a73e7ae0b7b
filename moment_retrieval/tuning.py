"""Looks for good settings: a plan trained with many settings, best on validation first; bad ones are stopped early.

A folder holds ``tuning.json``: the plan that is changed, the space of settings, how many trainings may be spent. Each
has a folder of its own, so that a search goes on where it was left (docs/training.md).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import median
from typing import Any

from moment_retrieval.distributed import StopRequest
from moment_retrieval.jsonfiles import write_atomically
from moment_retrieval.settings import SELECTED_BY
from moment_retrieval.train import DONE, STOPPED, train
from moment_retrieval.training.events import EVENTS, read_events
from moment_retrieval.training.plan import PLAN, BadPlan, Plan
from moment_retrieval.training.trials import (
    EARLY,
    FAILED,
    FINISHED,
    TABLE,
    TRIAL,
    Trial,
    Tuning,
    best_first,
    curve_of,
    read_trial,
    trial_folder,
    trial_of,
    write_table,
)

LEAST_FINISHED = 3  # trainings, before one is stopped for being worse
LEAST_EVALUATIONS = 2  # of a training, before it is


class StopWhenWorse(StopRequest):
    """Ends a training that is worse than half of the finished ones were after as many evaluations.

    Source: the median stopping rule of Google Vizier (Golovin et al., KDD 2017), section 3.2.1.
    """

    def __init__(self, folder: Path, finished: Sequence[Sequence[float]]) -> None:
        super().__init__()
        self.events, self.finished, self.size, self.is_worse = folder / EVENTS, finished, 0, False

    def look(self) -> None:
        size = os.stat(self.events).st_size if self.events.exists() else 0
        if size != self.size and len(self.finished) >= LEAST_FINISHED:
            self.size = size
            curve = curve_of(self.events.parent)
            others = [one[len(curve) - 1] for one in self.finished if len(one) >= len(curve)]
            if len(curve) >= LEAST_EVALUATIONS and len(others) >= LEAST_FINISHED and curve[-1] < median(others):
                self.is_worse = True
                self.ask()
        super().look()


def tune(folder: Path, *, stop: StopRequest | None = None, report: Callable[[Trial], None] = print) -> list[Trial]:
    """Train every setting of a search that has not ended yet, one after the other.

    Args:
        stop: ends the search when asked; it goes on there when it is called again.
        report: hears of every trial, those of an earlier call too.

    Returns:
        All trials that have ended, the best first.

    Raises:
        BadPlan: the search or a plan cannot be used, or another plan was searched in this folder.
        ScoringError: there is no search in the folder, or it is not JSON.
    """
    tuning, trials = Tuning.read(folder), list[Trial]()
    plans = [
        replace(tuning.plan_with(settings).located(folder.resolve()), keep_predictions=False)
        for settings in tuning.settings()
    ]
    for number, (settings, plan) in enumerate(zip(tuning.settings(), plans, strict=True), start=1):
        own = trial_folder(folder, number)
        trial = _ended(own, number, settings, plan)
        if trial is None and (stop is None or not stop.requested):
            finished = [one.curve for one in trials if one.state == FINISHED] if tuning.stop_early else []
            trial = _trained(own, plan, Trial(number, settings), finished)
        if trial is None:
            break  # somebody stopped it; the training goes on there
        trials.append(trial)
        report(trial)
        write_table(folder / TABLE, trials, tuning.plan.get("selected_by", SELECTED_BY))
    return best_first(trials)


def _ended(folder: Path, number: int, settings: Mapping[str, Any], plan: Plan) -> Trial | None:
    if not (folder / TRIAL).is_file():
        return None
    values = read_trial(folder)
    if values["plan"] != json.loads(json.dumps(asdict(plan))) or values["settings"] != settings:
        raise BadPlan(f"{folder} holds another search; begin this one in a folder of its own")
    return trial_of(number, values)


def _trained(folder: Path, plan: Plan, trial: Trial, finished: Sequence[Sequence[float]]) -> Trial | None:
    """Train, or go on; None where the user stopped it."""
    folder.mkdir(exist_ok=True)
    if not (folder / PLAN).is_file():
        plan.write(folder)
    before = Plan.read(folder)
    if before != Plan.of(json.loads(json.dumps(asdict(plan)))):
        raise BadPlan(f"{folder} holds another plan; begin this search in a folder of its own")
    request = StopWhenWorse(folder, finished)
    status = train(folder, request)
    if status == STOPPED and not request.is_worse:
        return None
    curve = curve_of(folder)
    state = FINISHED if status == DONE else EARLY if request.is_worse else FAILED
    reasons = [event["reason"] for event in read_events(folder) if event["kind"] == "failed"]
    reason = next(reversed(reasons), "") if state == FAILED else ""
    trial = replace(trial, state=state, best=max(curve, default=None), curve=curve, reason=reason)
    if state != FAILED:  # the disk may have been full: it is tried again when the search goes on
        write_atomically(folder / TRIAL, json.dumps({**asdict(trial), "plan": asdict(plan)}) + "\n")
    return trial
