"""The options of a training: as released, a small preset for computers without a GPU, and changes. Pure. Released
values come from ``moment_retrieval.settings``."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from moment_retrieval.settings import (
    LEARNING_RATE,
    PATIENCE,
    RELEASED,
    WARM_UP,
    Boundaries,
    epochs_of,
    evaluations_per_epoch_of,
)

ABLATIONS = ("encoder", "modular", "streams", "boundaries")  # of XML
SIZES = ("hidden", "heads", "inner", "score_videos", *ABLATIONS)
OBJECTIVE = (
    *("weigh_by_similarity", "mask_positives", "sum_positives", "hard_from_epoch", "hard_pool"),
    *("sampled_videos", "sampled_pool"),
    *("margin", "span_weight", "frame_weight", "video_weight", "own_video_weight"),
)
DECODING = ("end_offset_s", "ranking", "alpha")
PARTS = {"sizes": SIZES, "objective": OBJECTIVE, "decoding": DECODING, "reading": ("endpoints",)}
SMALL = {"epochs": 6, "evaluations_per_epoch": 1.0, "batch": 64, "lr": 1e-3, "padding": "compact"}
SMALL_SIZES = {"hidden": 64, "heads": 4, "inner": 128}  # as far as a model has them
NAME_CANDIDATES = [name for name, one in RELEASED.items() if not one.needs_candidates]  # baselines that search all
WORDS = {
    "lr": "learning rate",
    "warmup": "warm-up",
    "hidden": "hidden size",
    "heads": "attention heads",
    "inner": "inner size",
}
PRESETS = {"released": "As released", "small": "Small"}


def options_of(baseline: str, top_n: int, preset: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a plan: a preset, and changes to it, by name; None changes nothing."""
    rest = {name: value for name, value in changes.items() if value is not None}
    parts: dict[str, Any] = {
        part: {name: rest.pop(name) for name in names if name in rest} for part, names in PARTS.items()
    }
    options: dict[str, Any] = {
        **{"epochs": epochs_of(top_n), "evaluations_per_epoch": evaluations_per_epoch_of(top_n), "patience": PATIENCE},
        **{"batch": RELEASED[baseline].batch, "lr": LEARNING_RATE, "padding": "official", "precision": "float32"},
    }
    if preset == "small":
        options |= SMALL
        sizes = {name: size for name, size in SMALL_SIZES.items() if hasattr(RELEASED[baseline].config, name)}
        parts["sizes"] = {**sizes, **parts["sizes"]}
        if parts["sizes"].get("boundaries", Boundaries.CONVOLUTION) == Boundaries.CONVOLUTION:
            parts["decoding"] = {"end_offset_s": 0.0, **parts["decoding"]}  # released ends are late: a fault to ask for
    return {**options, **rest, **parts}


def changes_of(options: Mapping[str, Any], baseline: str, top_n: int) -> tuple[str, dict[str, Any]]:
    """Return a preset and the changes to it, by name, that ``options`` are made of: the fewest there are."""
    values = _flat(options)
    by_preset = {preset: _flat(options_of(baseline, top_n, preset, {})) for preset in PRESETS}
    changes = {
        preset: {name: value for name, value in values.items() if name not in base or base[name] != value}
        for preset, base in by_preset.items()
    }
    preset = min(PRESETS, key=lambda one: len(changes[one]) + len(by_preset[one].keys() - values.keys()))
    return preset, changes[preset]


def _flat(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with those of their parts among them."""
    parts = {name: value for part in PARTS for name, value in options.get(part, {}).items()}
    return {**{name: value for name, value in options.items() if name not in PARTS}, **parts}


# Seconds of a step on two cores without a GPU, where no training here tells: docs/benchmarks/train-step.md, and for
# small ones docs/benchmarks/demo-experiment.md (155 s of CPU: four trainings of 192 steps; CONQUER 104 s: two of 188).
STEP_S = {
    "released": {"xml": 1.55, "reloclnet": 2.63, "conquer": 1.51},
    "small": {"xml": 0.2, "reloclnet": 0.2, "conquer": 0.28},
}


def heads_of(baseline: str, preset: str) -> int:
    """Attention heads, which the hidden size is a multiple of."""
    return SMALL_SIZES["heads"] if preset == "small" else int(RELEASED[baseline].config.heads)


def settings_by_name(options: Mapping[str, Any]) -> dict[str, object]:
    """Return the options as a page shows them, sorted by name, those of sizes and objective among them."""
    rows: dict[str, object] = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            rows |= settings_by_name(value)
        else:
            words = WORDS.get(name, name.replace("_", " "))
            rows[words] = "yes" if value is True else "no" if value is False else value
    return dict(sorted(rows.items()))


def settings_changed(options: Mapping[str, Any], baseline: str, top_n: int) -> dict[str, object]:
    """Return what is not as released, but for the ends of predictions."""
    settings = RELEASED[baseline]
    objective = asdict(settings.objective)
    released = settings_by_name(
        {
            **{name: objective[name] for name in OBJECTIVE},
            **{"shuffle_links": False, "same_split": False, "warmup": WARM_UP},
            **{name: getattr(settings.config, name, None) for name in ("hidden", "score_videos", *ABLATIONS)},
            **{"endpoints": settings.reading.endpoints, "ranking": settings.decoding.ranking},
            "alpha": settings.decoding.alpha,
            **options_of(baseline, top_n, "released", {}),
        }
    )
    values = settings_by_name(options)
    return {name: value for name, value in values.items() if name != "end offset s" and released.get(name) != value}
