"""The options of a training: as released, a small preset for computers without a GPU, and changes. Pure. Released
values come from ``moment_retrieval.settings``."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from moment_retrieval.settings import EPOCHS, EVALUATIONS_PER_EPOCH, LEARNING_RATE, PATIENCE, RELEASED, WARM_UP

SIZES = ("hidden", "heads", "inner")
OBJECTIVE = ("weigh_by_similarity", "mask_positives", "hard_from_epoch", "hard_pool")
DECODING, READING = ("end_offset_s",), ("endpoints",)
SMALL = {"epochs": 30, "evaluations_per_epoch": 1.0, "batch": 64, "lr": 1e-3, "padding": "compact"}
SMALL_SIZES = {"hidden": 64, "heads": 4}
SMALL_INNER = 128  # CONQUER's feed-forward halves
WORDS = {
    "lr": "learning rate",
    "warmup": "warm-up",
    "hidden": "hidden size",
    "heads": "attention heads",
    "inner": "inner size",
}
PRESETS = {"released": "As released", "small": "Small"}


class Told(NamedTuple):
    """One setting as a page shows it."""

    name: str
    value: object


def options_of(baseline: str, top_n: int, preset: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a plan: a preset, and what somebody changed of it, by name; None changes nothing."""
    given = {name: value for name, value in changes.items() if value is not None}
    options: dict[str, Any] = {
        **{"epochs": EPOCHS[top_n], "evaluations_per_epoch": EVALUATIONS_PER_EPOCH[top_n], "patience": PATIENCE},
        **{"batch": RELEASED[baseline].batch, "lr": LEARNING_RATE, "padding": "official", "precision": "float32"},
    }
    sizes: dict[str, Any] = {}
    if preset == "small":
        inner = {"inner": SMALL_INNER} if baseline == "conquer" else {}
        options |= SMALL
        sizes = {**SMALL_SIZES, **inner}
    sizes |= {name: given.pop(name) for name in SIZES if name in given}
    objective = {name: given.pop(name) for name in OBJECTIVE if name in given}
    decoding = {name: given.pop(name) for name in DECODING if name in given}
    reading = {name: given.pop(name) for name in READING if name in given}
    parts = {"sizes": sizes, "objective": objective, "decoding": decoding, "reading": reading}
    return {**options, **given, **parts}


def heads_of(baseline: str, preset: str) -> int:
    """Attention heads, which the hidden size is a multiple of."""
    return SMALL_SIZES["heads"] if preset == "small" else int(RELEASED[baseline].config.heads)


def told(options: Mapping[str, Any]) -> list[Told]:
    """The options by name, those of sizes and objective among them."""
    rows = []
    for name, value in options.items():
        if isinstance(value, Mapping):
            rows += told(value)
        else:
            words = WORDS.get(name, name.replace("_", " "))
            rows.append(Told(words, "yes" if value is True else "no" if value is False else value))
    return sorted(rows, key=lambda row: row.name)


def changed(options: Mapping[str, Any], baseline: str, top_n: int) -> list[Told]:
    """What is not as released, but for the ends of predictions."""
    settings = RELEASED[baseline]
    objective = asdict(settings.objective)
    released = {
        **{name: objective[name] for name in OBJECTIVE},
        **{"shuffle_links": False, "same_split": False, "warmup": WARM_UP},
        **{"hidden": settings.config.hidden, "endpoints": settings.reading.endpoints},
        **options_of(baseline, top_n, "released", {}),
    }
    held = {one.name: one.value for one in told(released)}
    rows = [one for one in told(options) if one.name != "end offset s"]
    return [one for one in rows if held.get(one.name) != one.value]
