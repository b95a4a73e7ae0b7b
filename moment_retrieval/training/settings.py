"""A plan's changes to the released settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from moment_retrieval.baselines import BASELINES, Reading
from moment_retrieval.decoding import Decoding
from moment_retrieval.errors import ScoringError
from moment_retrieval.jsonfiles import is_finite, shown
from moment_retrieval.objective import Objective
from moment_retrieval.ragged import Padding
from moment_retrieval.training.plan import BadPlan, Plan

NEEDED = (
    *("video_size", "subtitle_size", "query_size", "hidden", "heads", "clips", "words", "kernel_size"),
    *("inner", "centres", "narrow"),  # of CONQUER alone
)
MAY_BE_NONE = ("hard_from_epoch",)
SettingsT = TypeVar("SettingsT")


class OtherSizes(ScoringError):
    """Features have other sizes than the plan says."""


@dataclass(frozen=True)
class Settings:
    """What a plan comes to."""

    config: Any
    objective: Objective
    decoding: Decoding
    reading: Reading
    batch: int

    @classmethod
    def of(cls, plan: Plan, found: Mapping[str, int] | None = None) -> Settings:
        """Those of a plan, with the sizes that were ``found`` in its features.

        Raises:
            BadPlan: a name is not known, or a value is of another kind.
            OtherSizes: the plan names other sizes than the features have.
        """
        way = BASELINES[plan.baseline]
        for name, size in (found or {}).items():
            if plan.sizes.get(name, size) != size:
                raise OtherSizes(f"{name} is {plan.sizes[name]} in the plan, and the features have {size}")
        if plan.sizes.get("score_videos"):
            raise BadPlan("score_videos needs sampled videos beside the own one, which training does not draw")
        config = changed(way.config(), "sizes", {**plan.sizes, **(found or {})})
        _check_sizes(config)
        return cls(
            config=replace(config, padding=Padding(plan.padding)),
            objective=changed(way.objective, "objective", plan.objective),
            decoding=changed(way.decoding, "decoding", plan.decoding),
            reading=reading_of(plan),
            batch=plan.batch or way.batch,
        )

    def build(self, baseline: str) -> Any:
        """A fresh model. Raises BadPlan where its sizes do not go together."""
        try:
            return BASELINES[baseline].model(self.config)
        except (ValueError, RuntimeError) as error:
            raise BadPlan(f"no model has these sizes: {error}") from error


def reading_of(plan: Plan) -> Reading:
    """How a plan reads features. Raises BadPlan."""
    return changed(BASELINES[plan.baseline].reading, "reading", plan.reading)


def _check_sizes(config: Any) -> None:
    """Raise BadPlan for sizes that no model can have."""
    for name in NEEDED:
        if getattr(config, name, 1) < 1:
            raise BadPlan(f"sizes: {name} must be 1 or more, got {getattr(config, name)}")
    if config.hidden % config.heads:
        raise BadPlan(f"sizes: hidden ({config.hidden}) must be a multiple of heads ({config.heads})")
    if not 0 <= config.dropout < 1:
        raise BadPlan(f"sizes: dropout must be from 0 to less than 1, got {config.dropout}")
    if config.kernel_size % 2 == 0:
        raise BadPlan(f"sizes: kernel_size must be odd, got {config.kernel_size}")


def changed(settings: SettingsT, name: str, changes: Mapping[str, Any]) -> SettingsT:
    """Settings with some values changed. Raises BadPlan for what they do not have or cannot be."""
    known = {one.name for one in fields(settings)}  # type: ignore[arg-type]
    if unknown := sorted(set(changes) - known):
        raise BadPlan(f"{name}: nothing is known of {', '.join(unknown)}")
    for key, value in changes.items():
        none = value is None and key in MAY_BE_NONE
        if not (none or _alike(value, getattr(settings, key))):
            raise BadPlan(f"{name}: {key} must be like {getattr(settings, key)!r}, got {shown(value)}")
    return replace(settings, **changes)  # type: ignore[type-var]


def _alike(value: Any, released: Any) -> bool:
    """Whether a value may stand for a released one: yes or no, a whole number from 0, a number."""
    if isinstance(released, bool) or isinstance(value, bool):
        return isinstance(value, bool) and isinstance(released, bool)
    if isinstance(released, int):
        return isinstance(value, int) and value >= 0
    return isinstance(released, float) and isinstance(value, int | float) and is_finite(value)
