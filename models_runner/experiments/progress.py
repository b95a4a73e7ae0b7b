"""How far a training is, by what it wrote down (events.jsonl). Pure. Events are taken one by one, those of earlier
attempts too: an attempt that goes on from a checkpoint takes back what was written after it."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

MEASURE = "ndcg@20_0.5"  # of validation; the weights are chosen by it
POINTS = 300  # of a curve; beyond, every second one goes
NOTICES, LONGEST = 20, 500
Point = list[float | None]  # step, value; of a score also the loss


@dataclass
class Progress:
    """Progress on a training's page."""

    step: int = 0
    steps: int = 0
    epoch: float = 0
    loss: float | None = None
    best: float | None = None
    best_step: int = 0
    seconds_per_step: float | None = None
    eta_s: float | None = None
    memory_mb: float | None = None
    losses: list[Point] = field(default_factory=list)
    scores: list[Point] = field(default_factory=list)
    metrics: dict[str, dict[str, float]] = field(default_factory=dict)  # of the best weights, by split and measure
    notices: list[str] = field(default_factory=list)
    records: list[tuple[int, float]] = field(default_factory=list)  # step and score of every best there was
    has_checkpoint: bool = False  # a checkpoint to go on from, since the program was started
    ended: str = ""  # "done", "stopped", "failed"
    reason: str = ""

    def take(self, event: Mapping[str, Any]) -> None:
        """One event more; what is not known or not as it should be is left aside."""
        kind = event.get("kind")
        if kind == "start":
            self._start(event)
        elif kind == "step":
            self._step(event)
        elif kind == "evaluation" and event.get("split", "val") == "val":
            self._evaluation(event)
        elif kind == "checkpoint":
            self.has_checkpoint = self.has_checkpoint or event.get("which") == "last"
        elif kind == "notice":
            self.notices = [*self.notices, str(event.get("text", ""))[:LONGEST]][-NOTICES:]
        elif kind in ("done", "stopped", "failed"):
            if self.ended != "failed":  # of several processes, the first to fail knows why
                self.ended, self.reason = str(kind), str(event.get("reason", ""))
            self.eta_s = None
            self._at(event)
            self.metrics = metrics_by_split(event.get("metrics")) if kind == "done" else {}

    def _start(self, event: Mapping[str, Any]) -> None:
        """A new attempt: what came after the checkpoint that it begins with did not happen."""
        self.begin()
        self.step = whole(event.get("resumed_from_step"))
        self.steps = max(whole(event.get("steps")), self.step)
        self.losses = [point for point in self.losses if (point[0] or 0) <= self.step]
        self.scores = [point for point in self.scores if (point[0] or 0) <= self.step]
        self.records = [record for record in self.records if record[0] <= self.step]
        self.best_step, self.best = self.records[-1] if self.records else (0, None)

    def begin(self) -> None:
        """The program is being started: how an earlier attempt ended is over."""
        self.has_checkpoint, self.ended, self.reason, self.eta_s = False, "", "", None

    def _at(self, event: Mapping[str, Any]) -> None:
        self.step = whole(event.get("step"), self.step)
        self.steps = max(self.steps, self.step)

    def _step(self, event: Mapping[str, Any]) -> None:
        self._at(event)
        self.epoch = number(event.get("epoch")) or self.epoch
        self.loss = number(event.get("loss"))
        self.seconds_per_step, self.eta_s = number(event.get("seconds_per_step")), number(event.get("eta_s"))
        self.memory_mb = number(event.get("memory_mb"))
        if self.loss is not None:
            self.losses = thinned([*self.losses, [self.step, self.loss]])

    def _evaluation(self, event: Mapping[str, Any]) -> None:
        self._at(event)
        metrics = event.get("metrics")
        score = number(metrics.get(MEASURE)) if isinstance(metrics, Mapping) else None
        if score is None:
            return
        self.eta_s = number(event.get("eta_s", self.eta_s))
        self.scores = thinned([*self.scores, [self.step, score, number(event.get("loss"))]])
        if self.best is None or score > self.best:
            self.best, self.best_step = score, self.step
            self.records.append((self.step, score))

    def row(self) -> dict[str, Any]:
        """Return the trainings table's row; crashes before the newest checkpoint count no more."""
        row = asdict(self)
        if row.pop("has_checkpoint"):
            row["crashes"] = 0
        row["curve"] = {"losses": row.pop("losses"), "scores": row.pop("scores")}
        del row["ended"], row["reason"], row["records"]
        return row


def metrics_by_split(value: object) -> dict[str, dict[str, float]]:
    """Return the finite numbers by split and name."""
    if not isinstance(value, Mapping):
        return {}
    return {
        str(split): {str(name): score for name, one in values.items() if (score := number(one)) is not None}
        for split, values in value.items()
        if isinstance(values, Mapping)
    }


def number(value: object) -> float | None:
    """A finite number, else nothing: neither a page nor the database has a word for the others."""
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None  # type: ignore[arg-type]


def whole(value: object, default: int = 0) -> int:
    parsed = number(value)
    return default if parsed is None or not 0 <= parsed < 2**31 else int(parsed)


def thinned(points: list[Point]) -> list[Point]:
    """At most POINTS of them, the newest among them."""
    return points if len(points) <= POINTS else points[-1::-2][::-1]


class EventsFile:
    """Reads what was appended since it last looked; a line that is not finished waits."""

    def __init__(self, path: Path) -> None:
        self.path, self.position = path, 0

    def new(self) -> list[dict[str, Any]]:
        try:
            with self.path.open("rb") as file:
                file.seek(self.position)
                data = file.read()
        except FileNotFoundError:
            return []
        end = data.rfind(b"\n") + 1
        self.position += end
        return [event for line in data[:end].splitlines() if (event := _event(line)) is not None]


def _event(line: bytes) -> dict[str, Any] | None:
    """A killed attempt may have left half a line."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None
