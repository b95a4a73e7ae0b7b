"""Reports of a training: ``events.jsonl`` for programs, ``log.txt`` for people, curves for charts and TensorBoard.

No torch here: whoever watches reads the events too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

EVENTS, LOG = "events.jsonl", "log.txt"


class Events:
    """Appends to both files, each line at once. A training of several processes tells through the first alone."""

    def __init__(self, folder: Path) -> None:
        self.events = _mended(folder / EVENTS).open("a", encoding="utf-8")
        self.log = (folder / LOG).open("a", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.events.close()
        self.log.close()

    def record(self, kind: str, **values: Any) -> None:
        now = datetime.now(UTC)
        event = _finite({"kind": kind, "at": now.isoformat(timespec="milliseconds"), **values})
        self.events.write(json.dumps(event, ensure_ascii=False, allow_nan=False) + "\n")
        self.events.flush()
        self.log.write(f"{now:%Y-%m-%d %H:%M:%S}  {log_text(event)}\n")
        self.log.flush()


def read_events(folder: Path) -> list[dict[str, Any]]:
    """All events of a folder, oldest first; a last line that is being written is left out."""
    path = folder / EVENTS
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n") and line.strip()]


def log_text(event: Mapping[str, Any]) -> str:
    """An event in words."""
    words = WORDS.get(event["kind"])
    return json.dumps(event) if words is None else words(event)


def _start(event: Mapping[str, Any]) -> str:
    again = f", goes on from step {event['resumed_from_step']}" if event["resumed_from_step"] else ""
    return f"{event['samples']} samples, {event['steps']} steps on {event['device']}{again}"


def _step(event: Mapping[str, Any]) -> str:
    terms = ", ".join(f"{name} {_shown(value)}" for name, value in event["terms"].items())
    loss, rate = _shown(event["loss"]), f"{event['lr']:.3g}"
    return f"step {event['step']}, epoch {event['epoch']}: loss {loss} ({terms}), rate {rate}"


def _evaluation(event: Mapping[str, Any]) -> str:
    scores = ", ".join(f"{name} {value:.4f}" for name, value in event["metrics"].items() if name.startswith("ndcg@20"))
    return f"step {event['step']}, {event['split']}: {scores}" + (", the best so far" if event["best"] else "")


WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "start": _start,
    "step": _step,
    "evaluation": _evaluation,
    "checkpoint": lambda event: f"step {event['step']}: checkpoint {event['which']}",
    "notice": lambda event: str(event["text"]),
    "failed": lambda event: f"failed: {event['reason']}",
    "stopped": lambda event: f"stopped when asked, after step {event['step']}",
    "done": lambda event: f"done after step {event['step']}; the best weights are of step {event['best_step']}",
}


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


def _finite(value: Any) -> Any:
    """The same without what JSON has no word for."""
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _mended(path: Path) -> Path:
    """The file without half a line that a crash left at its end."""
    if path.exists():
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with path.open("rb+") as file:
                file.truncate(whole)
    return path


Curve = list[tuple[int, float]]  # step and value, by step


def curves(events: Iterable[Mapping[str, Any]]) -> dict[str, Curve]:
    """The curves of a training by name: ``loss``, ``val_loss``, and every metric of the validation split.

    What is reported of a step again, after training went on from an earlier one, replaces the report before; what
    lay behind that step is dropped.
    """
    points: dict[str, dict[int, float]] = {}
    for event in events:
        if event["kind"] == "start":
            _drop_after(points, event.get("resumed_from_step") or 0)
        elif event["kind"] == "step":
            _put(points, event["step"], {"loss": event["loss"]})
        elif event["kind"] == "evaluation" and event["split"] == "val":
            _put(points, event["step"], {"val_loss": event["loss"], **event["metrics"]})
    return {name: sorted(values.items()) for name, values in points.items() if values}


def _put(points: dict[str, dict[int, float]], step: int, values: Mapping[str, float | None]) -> None:
    for name, value in values.items():
        if value is not None:
            points.setdefault(name, {})[step] = value


def _drop_after(points: dict[str, dict[int, float]], step: int) -> None:
    for name, values in points.items():
        points[name] = {position: value for position, value in values.items() if position <= step}


FOLDER = "tensorboard"


class TensorBoardWriter:
    """Writes losses and metrics by step; what an earlier run wrote behind the step it went on from is left out."""

    def __init__(self, folder: Path, resumed_from: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(folder / FOLDER), purge_step=resumed_from + 1 if resumed_from else None)

    def close(self) -> None:
        self.writer.close()

    def step(self, step: int, loss: float, terms: dict[str, float], lr: float) -> None:
        """One step's losses."""
        parts = {f"terms/{name}": value for name, value in terms.items()}
        for name, value in {"loss": loss, "rate": lr, **parts}.items():
            self.writer.add_scalar(f"train/{name}", value, step)

    def evaluation(self, step: int, split: str, metrics: dict[str, float], loss: float | None) -> None:
        for name, value in (metrics | ({} if loss is None else {"loss": loss})).items():
            self.writer.add_scalar(f"{split}/{name.replace('@', '_at_')}", value, step)
        self.writer.flush()
