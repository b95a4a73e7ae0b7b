"""The three baselines by name: model, loss, optimiser and released settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.optim import Optimizer

from moment_retrieval.losses import Loss
from moment_retrieval.models.conquer import Conquer, conquer_loss
from moment_retrieval.models.reloclnet import Reloclnet, reloclnet_loss
from moment_retrieval.models.xml import xml_loss
from moment_retrieval.models.xml_ablations import xml_of
from moment_retrieval.optim import BertAdam, CorrectedAdam, parameter_groups
from moment_retrieval.settings import LEARNING_RATE, RELEASED, WARM_UP, Settings
from moment_retrieval.training.plan import BadPlan


@dataclass(frozen=True)
class Baseline:
    """One of the three."""

    released: Settings  # how it was trained for the published tables
    model: Callable[[Any], Any]  # makes one of its sizes
    loss: Callable[..., Loss]  # of (output, batch, objective, how negatives are drawn)
    optimiser: Callable[..., Optimizer]  # of (groups of parameters, rate, and how it warms up)

    def build(self, **changes: Any) -> Any:
        """A fresh model; ``changes`` to the released sizes by name."""
        return self.model(self.released.config.changed(changes))


BASELINES: Mapping[str, Baseline] = {
    "xml": Baseline(RELEASED["xml"], xml_of, xml_loss, BertAdam),
    "reloclnet": Baseline(RELEASED["reloclnet"], Reloclnet, reloclnet_loss, BertAdam),
    "conquer": Baseline(RELEASED["conquer"], Conquer, conquer_loss, CorrectedAdam),
}


def model_of(baseline: str, config: Any) -> Any:
    """Return a fresh model of these sizes. Raises BadPlan where they do not go together."""
    try:
        return BASELINES[baseline].model(config)
    except (ValueError, RuntimeError) as error:
        raise BadPlan(f"no model has these sizes: {error}") from error


def optimiser_of(
    baseline: str, model: nn.Module, *, lr: float = LEARNING_RATE, total: int = -1, warm_up: float = WARM_UP
) -> Optimizer:
    """The released optimiser of a baseline; ``total`` steps are planned."""
    exempt = [name for name, _ in model.named_parameters() if model.undecayed(name)]
    schedule = {"total": total, "warm_up": warm_up} if RELEASED[baseline].warms_up else {}
    return BASELINES[baseline].optimiser(parameter_groups(model, exempt=exempt), lr=lr, **schedule)
