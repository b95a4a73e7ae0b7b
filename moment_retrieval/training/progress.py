"""How far a training has come, the checkpoints it goes on from, and the finished training opened for use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from moment_retrieval import __version__, checkpoints
from moment_retrieval.baselines import model_of
from moment_retrieval.checkpoints import META, About, BrokenCheckpoint, Checkpoint
from moment_retrieval.settings import Decoding, Settings, config_from
from moment_retrieval.training.plan import BadPlan, Plan, settings_of

LAST, BEST = "last", "best"


@dataclass(frozen=True)
class Progress:
    """Where a training stands after a step."""

    step: int = 0  # steps made
    evaluated: int = 0  # the step of the last evaluation
    # best, best_step: the best value so far of what is selected by, and when it was reached
    best: float = -1.0
    best_step: int = 0
    metrics: Mapping[str, float] = field(default_factory=dict)  # all metrics of the best
    without: int = 0  # evaluations since then
    parts: int = 1  # into how many parts a batch is cut, for memory
    scaler: Mapping[str, Any] = field(default_factory=dict)  # state of the scaling of losses, in float16

    def after(self, metrics: Mapping[str, float], value: float) -> Progress:
        """After an evaluation at this step; only a greater value is better."""
        if value > self.best:
            return replace(self, evaluated=self.step, best=value, best_step=self.step, metrics=dict(metrics), without=0)
        return replace(self, evaluated=self.step, without=self.without + 1)


@dataclass(frozen=True)
class CheckpointManager:
    """Saves and restores one training in its folder."""

    folder: Path
    plan: Plan
    settings: Settings
    data: Mapping[str, str]

    def about(self, progress: Progress, epoch: int) -> About:
        """Build meta.json."""
        settings = self.settings
        config = {**asdict(settings.config), **asdict(settings.objective), **asdict(settings.decoding)}
        plan_values = {name: value for name, value in asdict(self.plan).items() if name not in ("sizes", "objective")}
        return About(
            baseline=self.plan.baseline,
            config=config,
            code=__version__,
            data=dict(self.data),
            seeds={"all": self.plan.seed},
            step=progress.step,
            epoch=epoch,
            metrics=dict(progress.metrics),
            progress={
                **asdict(progress),
                "plan": {**plan_values, "sizes": self.plan.sizes, "objective": self.plan.objective},
            },
        )

    def save(self, which: str, progress: Progress, epoch: int, model: nn.Module, *more: Any) -> None:
        """Write the best weights, to score with, or the last, to go on from: with optimiser and generators' states."""
        checkpoints.save(self.folder / which, self.about(progress, epoch), model, *more)

    def last(self) -> Checkpoint | None:
        """Load the last checkpoint.

        Raises:
            BadPlan: it was trained by another plan or on other files.
            BrokenCheckpoint: it cannot be read.
        """
        folder = self.folder / LAST
        if not folder.exists() and not folder.with_name(f".{LAST}.old").exists():
            return None
        checkpoint = checkpoints.load(folder)
        others = self.plan.differences(_told(checkpoint, "plan", dict))
        others += [
            f"{name}: another file" for name, digest in self.data.items() if checkpoint.about.data.get(name) != digest
        ]
        if others:
            raise BadPlan(f"{LAST}/ was trained by another plan ({'; '.join(others)}): start in a new folder")
        return checkpoint


def progress_of(checkpoint: Checkpoint) -> Progress:
    """Where the training of a checkpoint stood. Raises BrokenCheckpoint."""
    fresh = asdict(Progress())
    return Progress(**{name: _told(checkpoint, name, type(value)) for name, value in fresh.items()})


def _told(checkpoint: Checkpoint, name: str, kind: type) -> Any:
    value = checkpoint.about.progress.get(name)
    if not isinstance(value, kind | int if kind is float else kind):
        raise BrokenCheckpoint(f"{LAST}: {META} tells no {name}")
    return value


def weights_are_finite(model: nn.Module) -> bool:
    """No weight is NaN or infinite."""
    with torch.no_grad():
        return all(bool(torch.isfinite(parameter).all()) for parameter in model.parameters())


@dataclass(frozen=True)
class Trained:
    """Weights, ready to score, with what they were trained by; the plan's paths do not depend on its folder."""

    plan: Plan
    model: Any
    decoding: Decoding
    about: About


def open_trained(folder: Path, *, which: str = BEST, device: str | torch.device = "cpu") -> Trained:
    """The model of an experiment's folder on a device, best or last. Raises ScoringError: it cannot be read."""
    plan = Plan.read(folder).located(folder)
    checkpoint = checkpoints.load(folder / which)
    decoding = settings_of(plan).decoding
    about = checkpoint.about
    model = model_of(about.baseline, config_from(about.baseline, about.config))
    checkpoint.restore(model)
    return Trained(plan, model.to(device).eval(), decoding, about)
