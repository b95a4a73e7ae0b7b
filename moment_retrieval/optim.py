"""The optimisers the baselines were published with, as torch optimisers.

BertAdam trains XML and ReLoCLNet, CorrectedAdam trains CONQUER. Both decay weights beside the gradient, not through it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from moment_retrieval.settings import WARM_UP

BETAS = (0.9, 0.999)
EPSILON = 1e-6
CLIP_EPSILON = 1e-6
WEIGHT_DECAY = 0.01


def parameter_groups(model: nn.Module, *, exempt: Iterable[str], weight_decay: float = WEIGHT_DECAY) -> list[Any]:
    """Two groups for an optimiser: what decays, and the parameters whose names are ``exempt``."""
    exempt = set(exempt)
    parameters = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    return [
        {"params": [parameter for name, parameter in parameters if name not in exempt], "weight_decay": weight_decay},
        {"params": [parameter for name, parameter in parameters if name in exempt], "weight_decay": 0.0},
    ]


def warmed_up(step: int, total: int, warm_up: float = WARM_UP) -> float:
    """Return the learning rate factor at a step, counted from 0: up to 1 in a straight line, then down to 0."""
    progress = step / total
    return progress / warm_up if progress < warm_up else max((progress - 1) / (warm_up - 1), 0.0)


class BertAdam(Optimizer):
    """Adam without bias correction, with warm-up, every tensor's gradient clipped by itself (BERT's, of 2018).

    Args:
        groups: parameters, as ``parameter_groups`` gives them.
        lr: learning rate at the end of the warm-up.
        total: steps of the whole training as planned; -1 keeps ``lr`` from first to last.
        warm_up: their share that warms up.
        max_norm: how long a tensor's gradient may be; 0 lets all pass.
    """

    def __init__(
        self, groups: Any, *, lr: float, total: int = -1, warm_up: float = WARM_UP, max_norm: float = 1.0
    ) -> None:
        defaults = {"lr": lr, "total": total, "warm_up": warm_up, "max_norm": max_norm, "weight_decay": WEIGHT_DECAY}
        super().__init__(groups, defaults)

    def step(self, closure: None = None) -> None:
        """Change every parameter that has a gradient."""
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._change(parameter, group)

    def _change(self, parameter: Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            moments = {"first": torch.zeros_like(parameter), "second": torch.zeros_like(parameter)}
            state |= {"step": torch.tensor(0), **moments}
        gradient = parameter.grad
        if group["max_norm"]:
            gradient = gradient * torch.clamp(group["max_norm"] / (gradient.norm() + CLIP_EPSILON), max=1.0)
        first = state["first"].mul_(BETAS[0]).add_(gradient, alpha=1 - BETAS[0])
        second = state["second"].mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        change = first / second.sqrt().add_(EPSILON)
        if group["weight_decay"]:
            change.add_(parameter, alpha=group["weight_decay"])
        step, total = int(state["step"]), group["total"]
        rate = group["lr"] * (warmed_up(step, total, group["warm_up"]) if total > 0 else 1.0)
        parameter.add_(change, alpha=-rate)
        state["step"] += 1


class CorrectedAdam(torch.optim.Adam):
    """Adam with bias correction whose epsilon stands beside the uncorrected second moment; then weights decay.

    p <- p - lr * sqrt(1 - b2^t) / (1 - b1^t) * m / (sqrt(v) + eps), then p <- p - lr * decay * p. torch's AdamW has
    sqrt(v / (1 - b2^t)) + eps below the line and decays first: the same, with another epsilon at every step and a rate
    smaller by the decay.
    """

    def __init__(self, groups: Any, *, lr: float) -> None:
        groups = [{**group, "decay": group.get("weight_decay", WEIGHT_DECAY), "weight_decay": 0.0} for group in groups]
        super().__init__(groups, lr=lr, betas=BETAS, eps=EPSILON, decoupled_weight_decay=True)

    def step(self, closure: None = None) -> None:
        """Change every parameter that has a gradient."""
        rates = [group["lr"] for group in self.param_groups]
        for group, rate in zip(self.param_groups, rates, strict=True):
            decay = rate * group["decay"]
            group["eps"] = EPSILON / (1 - BETAS[1] ** (self._steps(group) + 1)) ** 0.5
            group["lr"] = rate * (1 - decay)
            group["weight_decay"] = decay / group["lr"] if rate else 0.0
            group["decoupled_weight_decay"] = True  # whatever an older checkpoint says
        try:
            super().step()
        finally:
            for group, rate in zip(self.param_groups, rates, strict=True):
                group["lr"], group["weight_decay"] = rate, 0.0

    def _steps(self, group: dict[str, Any]) -> int:
        """How many steps the group has made; its parameters make them together."""
        states = (self.state[parameter] for parameter in group["params"] if parameter in self.state)
        return next((int(state["step"]) for state in states if "step" in state), 0)
