"""The settings that a search tries, and what became of each: ``tuning.json``, and what lies in the folders of trials.

No torch here: whoever watches a search reads them too.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice, product
from pathlib import Path
from random import Random
from typing import Any, Self

from moment_retrieval.errors import at
from moment_retrieval.jsonfiles import as_object, decode, parse_json, read_bytes
from moment_retrieval.training.events import curves, read_events
from moment_retrieval.training.plan import PLAN, BadPlan, Plan

TUNING, TRIAL, TABLE = "tuning.json", "trial.json", "trials.csv"
RANDOM, GRID = "random", "grid"
PARTS = ("sizes", "objective", "decoding", "reading")  # of a plan, whose entries are named "objective.margin"
FINISHED, EARLY, FAILED = "finished", "stopped early", "failed"
WAITING, RUNNING = "waiting", "running"  # of a trial that has not ended


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

    @property
    def n_combinations(self) -> int | None:
        """How many combinations a grid has, of which it tries the first ``runs``; None of a random search."""
        return math.prod(len(values) for values in self.space.values()) if self.how == GRID else None

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


def curve_of(folder: Path) -> list[float]:
    """The best validation score so far at each evaluation of a training."""
    selected_by = Plan.read(folder).selected_by
    return list(accumulate((value for _, value in curves(read_events(folder)).get(selected_by, [])), max))


def trial_folder(folder: Path, number: int) -> Path:
    return folder / f"trial-{number:03d}"


def trials_in(folder: Path, tuning: Tuning) -> list[Trial]:
    """Return a trial for each setting of the search in a folder, as far as it is. Raises ScoringError."""
    return [trial_at(folder, number, settings) for number, settings in enumerate(tuning.settings(), start=1)]


def trial_at(folder: Path, number: int, settings: Mapping[str, Any]) -> Trial:
    """Return one of them, from what lies in its folder. Raises ScoringError."""
    own = trial_folder(folder, number)
    if (own / TRIAL).is_file():
        return trial_of(number, read_trial(own))
    if not (own / PLAN).is_file():
        return Trial(number, settings, WAITING)
    curve, last = curve_of(own), next(reversed(read_events(own)), {"kind": ""})
    state, reason = (FAILED, str(last.get("reason", ""))) if last["kind"] == "failed" else (RUNNING, "")
    return Trial(number, settings, state, max(curve, default=None), curve, reason)


def read_trial(folder: Path) -> dict[str, Any]:
    """The record of a trial that has ended. Raises ScoringError."""
    return as_object(parse_json(decode(read_bytes(folder / TRIAL))), "a trial")


def trial_of(number: int, values: Mapping[str, Any]) -> Trial:
    return Trial(number=number, **{name: values[name] for name in values if name not in ("number", "plan")})


def best_first(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials, the best score first; those without one come last."""
    return sorted(trials, key=lambda one: (-(one.best if one.best is not None else -1.0), one.number))


def table_rows(trials: Sequence[Trial], metric: str) -> Iterator[list[object]]:
    """Yield the header and a row for each trial, the best by ``metric`` first."""
    yield ["trial", *(trials[0].settings if trials else ()), "state", metric, "evaluations"]
    for one in best_first(trials):
        best = "" if one.best is None else f"{one.best:.6f}"
        yield [one.number, *one.settings.values(), one.state, best, len(one.curve)]


def write_table(path: Path, trials: Sequence[Trial], metric: str) -> None:
    """Write all trials as CSV, the best by ``metric`` first."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(table_rows(trials, metric))
