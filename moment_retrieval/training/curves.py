"""Losses and metrics by step, for charts. No torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Curve = list[tuple[int, float]]  # step and value, by step


def curves(events: Iterable[Mapping[str, Any]]) -> dict[str, Curve]:
    """The curves of a training by name: ``loss``, ``val_loss``, and every metric of the validation split.

    What was told of a step again, after training had gone on from an earlier one, replaces what was told before; what
    lay behind that step is dropped.
    """
    held: dict[str, dict[int, float]] = {}
    for event in events:
        if event["kind"] == "start":
            _drop_after(held, event.get("resumed_from_step") or 0)
        elif event["kind"] == "step":
            _put(held, event["step"], {"loss": event["loss"]})
        elif event["kind"] == "evaluation" and event["split"] == "val":
            _put(held, event["step"], {"val_loss": event["loss"], **event["metrics"]})
    return {name: sorted(values.items()) for name, values in held.items() if values}


def _put(held: dict[str, dict[int, float]], step: int, values: Mapping[str, float | None]) -> None:
    for name, value in values.items():
        if value is not None:
            held.setdefault(name, {})[step] = value


def _drop_after(held: dict[str, dict[int, float]], step: int) -> None:
    for name, values in held.items():
        held[name] = {place: value for place, value in values.items() if place <= step}
