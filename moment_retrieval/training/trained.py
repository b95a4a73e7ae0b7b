"""A finished training, or one that goes on, opened to be asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from moment_retrieval import checkpoints
from moment_retrieval.baselines import config_from
from moment_retrieval.checkpoints import About
from moment_retrieval.decoding import Decoding
from moment_retrieval.training.plan import Plan
from moment_retrieval.training.progress import BEST
from moment_retrieval.training.settings import Settings


@dataclass(frozen=True)
class Trained:
    """Weights, ready to score, with what they were trained by; the plan's paths do not depend on its folder."""

    plan: Plan
    model: Any
    decoding: Decoding
    about: About


def open_trained(folder: Path, *, which: str = BEST, device: str | torch.device = "cpu") -> Trained:
    """The model of an experiment.

    Args:
        folder: the experiment's.
        which: best, or last.
        device: where the model is to be.

    Raises:
        ScoringError: there is no such checkpoint, or it cannot be read.
    """
    plan = Plan.read(folder).located(folder)
    checkpoint = checkpoints.load(folder / which)
    settings = Settings.of(plan)
    config = config_from(checkpoint.about.baseline, checkpoint.about.config)
    model = replace(settings, config=config).build(checkpoint.about.baseline)
    checkpoint.restore(model)
    return Trained(plan, model.to(device).eval(), settings.decoding, checkpoint.about)
