"""Looks for good settings: a plan trained with many settings, best on validation first; bad ones are stopped early.

A folder holds ``tuning.json``: the plan that is changed, the space of settings, how many trainings may be spent. Each
has a folder of its own, so that a search goes on where it was left (docs/training.md).
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, islice, product
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Self

from moment_retrieval.distributed import StopRequest
from moment_retrieval.errors import at
from moment_retrieval.jsonfiles import as_object, decode, parse_json, read_bytes, write_atomically
from moment_retrieval.settings import SELECTED_BY
from moment_retrieval.train import DONE, STOPPED, train
from moment_retrieval.training.events import EVENTS, curves, read_events
from moment_retrieval.training.plan import PLAN, BadPlan, Plan

TUNING, TRIAL, TABLE = "tuning.json", "trial.json", "trials.csv"
RANDOM, GRID = "random", "grid"
PARTS = ("sizes", "objective", "decoding", "reading")  # of a plan, whose entries are named "objective.margin"
LEAST_FINISHED = 3  # trainings, before one is stopped for being worse
LEAST_EVALUATIONS = 2  # of a training, before it is
FINISHED, EARLY, FAILED = "finished", "stopped early", "failed"


@dataclass(frozen=True)
class Tuning:
    """A search: the plan that is changed, and which settings are tried.

    A name of ``space`` is one of the plan's (``lr``) or of one of its parts (``objective.margin``). Its values are a
    list of choices, or of a random search a range: ``{"low": 1e-5, "high": 1e-3, "log": true}``.
    """

    plan: Mapping[str, Any]
    space: Mapping[str, Any]
    runs: int  # the budget
    how: str = RANDOM  # or grid: all combinations of the choices, the first ``runs`` of them
    seed: int = 1
    stop_early: bool = True

    def __post_init__(self) -> None:
        if self.how not in (RANDOM, GRID):
            raise BadPlan(f"how must be {RANDOM} or {GRID}, got {self.how!r}")
        if not isinstance(self.runs, int) or self.runs < 1:
            raise BadPlan(f"runs must be a whole number, 1 or more, got {self.runs!r}")
        if not self.space:
            raise BadPlan("the space names no setting")
        for name, values in self.space.items():
            _check_values(name, values, self.how)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The search in a folder. Raises BadPlan, ScoringError."""
        path = folder / TUNING
        data = read_bytes(path)
        with at(str(path)):
            values: dict[str, Any] = as_object(parse_json(decode(data)), "a search")
            try:
                return cls(**values)
            except TypeError as error:
                raise BadPlan(f"it is no search: {error}") from error

    def settings(self) -> list[dict[str, Any]]:
        """Return the settings to try, the same ones whenever they are asked for."""
        names = list(self.space)
        if self.how == GRID:
            combinations = product(*(self.space[name] for name in names))
            return [dict(zip(names, values, strict=True)) for values in islice(combinations, self.runs)]
        draws = (Random(f"{self.seed} {number}") for number in range(self.runs))
        return [{name: _drawn(self.space[name], draw) for name in names} for draw in draws]

    @property
    def n_runs(self) -> int:
        """How many trainings the search takes: of a grid no more than it has combinations."""
        return len(self.settings())

    def plan_with(self, settings: Mapping[str, Any]) -> Plan:
        """Return the plan with these settings. Raises BadPlan where one cannot be used."""
        values: dict[str, Any] = {name: dict(part) if name in PARTS else part for name, part in self.plan.items()}
        for name, value in settings.items():
            part, _, entry = name.rpartition(".")
            if part and part not in PARTS:
                raise BadPlan(f"{name}: a plan has the parts {', '.join(PARTS)}")
            (values.setdefault(part, {}) if part else values)[entry] = value
        return Plan.of(values)


def _check_values(name: str, values: Any, how: str) -> None:
    if isinstance(values, list) and values:
        return
    if how == RANDOM and isinstance(values, Mapping) and set(values) <= {"low", "high", "log"}:
        low, high = values.get("low"), values.get("high")
        numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (low, high))
        if numbers and low < high and (low > 0 or not values.get("log")):  # type: ignore[operator]
            return
    ranges = ", or a range with low, high and, above 0, log" if how == RANDOM else ""
    raise BadPlan(f"{name}: give a list of choices{ranges}")


def _drawn(values: Any, draw: Random) -> Any:
    if isinstance(values, list):
        return draw.choice(values)
    low, high = float(values["low"]), float(values["high"])
    if values.get("log"):
        return float(f"{math.exp(draw.uniform(math.log(low), math.log(high))):.4g}")
    return float(f"{draw.uniform(low, high):.4g}")


@dataclass(frozen=True)
class Trial:
    """One training of a search; ``curve`` is the best score so far at each evaluation."""

    number: int
    settings: Mapping[str, Any]
    state: str = ""
    best: float | None = None
    curve: Sequence[float] = ()
    reason: str = ""


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


def curve_of(folder: Path) -> list[float]:
    """The best validation score so far at each evaluation of a training."""
    selected_by = Plan.read(folder).selected_by
    return list(accumulate((value for _, value in curves(read_events(folder)).get(selected_by, [])), max))


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
        own = folder / f"trial-{number:03d}"
        trial = _ended(own, number, settings, plan)
        if trial is None and (stop is None or not stop.requested):
            finished = [one.curve for one in trials if one.state == FINISHED] if tuning.stop_early else []
            trial = _trained(own, plan, Trial(number, settings), finished)
        if trial is None:
            break  # somebody stopped it; the training goes on there
        trials.append(trial)
        report(trial)
        write_table(folder / TABLE, trials, tuning.plan.get("selected_by", SELECTED_BY))
    return sorted(trials, key=lambda one: (-(one.best if one.best is not None else -1.0), one.number))


def _ended(folder: Path, number: int, settings: Mapping[str, Any], plan: Plan) -> Trial | None:
    path = folder / TRIAL
    if not path.is_file():
        return None
    values: dict[str, Any] = as_object(parse_json(decode(read_bytes(path))), "a trial")
    if values.pop("plan") != json.loads(json.dumps(asdict(plan))) or values["settings"] != settings:
        raise BadPlan(f"{folder} holds another search; begin this one in a folder of its own")
    return Trial(number=number, **{name: values[name] for name in values if name != "number"})


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


def write_table(path: Path, trials: Sequence[Trial], metric: str) -> None:
    """Write all trials as CSV, the best by ``metric`` first."""
    names = list(trials[0].settings) if trials else []
    rows = sorted(trials, key=lambda one: (-(one.best if one.best is not None else -1.0), one.number))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["trial", *names, "state", metric, "evaluations"])
        for one in rows:
            best = "" if one.best is None else f"{one.best:.6f}"
            writer.writerow([one.number, *one.settings.values(), one.state, best, len(one.curve)])
