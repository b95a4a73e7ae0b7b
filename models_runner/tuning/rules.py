"""The settings that can be searched, and how a line of a form says what is tried of one. Pure."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from moment_retrieval.settings import LEARNING_RATE, RELEASED, Decoding, Objective

RANGE, MOST_CHOICES = " to ", 20
OBJECTIVE = Objective()
Space = dict[str, Any]


class Setting(NamedTuple):
    """A number of a plan that is searched for."""

    label: str
    plan_name: str  # as in the space of tuning.json
    least: float
    most: float
    example: str
    baselines: tuple[str, ...] = tuple(RELEASED)
    is_whole: bool = False
    is_log: bool = False  # each power of ten of a range is drawn from as often


def _objective(name: str) -> str:
    return f"objective.{name}"


SEARCH_ALL = ("xml", "reloclnet")
SETTINGS: Mapping[str, Setting] = {
    "lr": Setting("Learning rate", "lr", 1e-9, 1, "1e-5 to 1e-3", is_log=True),
    "alpha": Setting("Alpha", "decoding.alpha", 0, 1000, "10, 20, 30", SEARCH_ALL),
    "margin": Setting("Margin", _objective("margin"), 0, 10, "0.05, 0.1, 0.2", SEARCH_ALL),
    "span_weight": Setting("Span weight", _objective("span_weight"), 0, 1000, "0.005 to 0.05"),
    "frame_weight": Setting("Frame weight", _objective("frame_weight"), 0, 1000, "0.01, 0.03, 0.1", ("reloclnet",)),
    "video_weight": Setting("Video weight", _objective("video_weight"), 0, 1000, "0.01, 0.03, 0.1", ("reloclnet",)),
    "own_video_weight": Setting(
        "Own video weight", _objective("own_video_weight"), 0, 1000, "0.02, 0.05, 0.1", ("conquer",)
    ),
    "batch": Setting("Batch", "batch", 1, 100_000, "64, 128, 256", is_whole=True),
}
BY_PLAN_NAME = {setting.plan_name: name for name, setting in SETTINGS.items()}


def released_value(name: str, baseline: str) -> float:
    """Return what a setting was released with."""
    released = RELEASED[baseline]
    if name == "lr":
        return LEARNING_RATE
    if name == "batch":
        return released.batch
    part: Decoding | Objective = released.decoding if name == "alpha" else OBJECTIVE
    return float(getattr(part, name))


def values_of(text: str, setting: Setting, *, allows_range: bool) -> list[float] | dict[str, Any]:
    """Return the values that a line names: a list of choices, or a range.

    Args:
        text: ``1e-4, 3e-4``, or ``1e-5 to 1e-3``.
        allows_range: a grid has none.

    Raises:
        ValueError: with what is wrong, for people.
    """
    if RANGE not in text.lower():
        choices = [_number(word, setting) for word in text.replace(";", ",").split(",") if word.strip()]
        if not choices:
            raise ValueError(f"Give numbers with commas, as {setting.example}.")
        if len(set(choices)) < len(choices):
            raise ValueError("Give every number once.")
        if len(choices) > MOST_CHOICES:
            raise ValueError(f"Give at most {MOST_CHOICES} numbers.")
        return choices
    if not allows_range:
        raise ValueError("A grid needs choices with commas; a range is for a random search.")
    if setting.is_whole:
        raise ValueError(f"Give whole numbers with commas, as {setting.example}.")
    ends = text.lower().split(RANGE)
    if len(ends) != 2:
        raise ValueError(f"A range has two ends, as {setting.least:g} to {setting.most:g}.")
    low, high = (_number(word, setting) for word in ends)
    if low >= high:
        raise ValueError("The first end of a range must be less than the second.")
    return {"low": low, "high": high, "log": setting.is_log}


def _number(word: str, setting: Setting) -> float:
    try:
        value = int(word) if setting.is_whole else float(word)
    except ValueError:
        kind = "a whole number" if setting.is_whole else "a number"
        raise ValueError(f"{word.strip()[:20]!r} is not {kind}.") from None
    if not (math.isfinite(value) and setting.least <= value <= setting.most):
        raise ValueError(f"{word.strip()[:20]} is not from {setting.least:g} to {setting.most:g}.")
    return value


def space_texts(space: Mapping[str, Any]) -> dict[str, str]:
    """Return what is tried of each setting, by its label, as a form takes it."""
    return {label_of(name): _text_of(values) for name, values in space.items()}


def _text_of(values: Any) -> str:
    if isinstance(values, list):
        return ", ".join(f"{value:g}" for value in values)
    return f"{values['low']:g}{RANGE}{values['high']:g}"


def label_of(plan_name: str) -> str:
    return SETTINGS[BY_PLAN_NAME[plan_name]].label if plan_name in BY_PLAN_NAME else plan_name
