"""Attributes of a file of features: what made them, in words and numbers that HDF5 keeps beside the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Attributes = dict[str, str | int | float]

LABELS = {
    "extractor": "extractor",
    "model": "model",
    "clip_s": "seconds of a clip",
    "fps": "frames a second",
    "frames": "frames of a clip",
    "layer": "layer",
    "pooling": "pooling",
    "normalisation": "normalisation",
    "width": "numbers in a row",
    "sources": "joined from",
}
LONGEST_TEXT = 2_000  # characters of a value; longer ones are not ours


def known_attributes(values: Mapping[str, Any]) -> Attributes:
    """Return those of the values that name one of LABELS and hold a short text or a finite number."""
    return {name: value for name in LABELS if name in values and (value := _plain(values[name])) is not None}


def description(attributes: Mapping[str, str | int | float]) -> str:
    """Return the attributes on one line."""
    return "; ".join(
        f"{label}: {_text(attributes[name])}" for name, label in LABELS.items() if attributes.get(name, "") != ""
    )


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return in words where two files were not made alike; empty where they were."""
    names = [name for name in LABELS if before.get(name) != after.get(name)]
    return "; ".join(f"{LABELS[name]}: {before.get(name)!r}, and now {after.get(name)!r}" for name in names)


def _plain(value: Any) -> str | int | float | None:
    """Return a value of HDF5 or JSON as Python's own; None where it is neither a short text nor a finite number."""
    if hasattr(value, "item"):
        if getattr(value, "size", 1) != 1:
            return None
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def _text(value: str | int | float) -> str:
    return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
