"""Mixed precision: most products in 16 bits, sums, losses and weights in 32."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


class Precision:
    """One of float32, bfloat16 and float16; the last scales losses, so that small gradients survive."""

    def __init__(self, name: str, device: torch.device) -> None:
        self.type, self.device = TYPES.get(name), device
        self.scaler = torch.amp.GradScaler(device.type, enabled=name == "float16")

    def narrow(self) -> AbstractContextManager[None]:
        """Where the model runs."""
        kept: AbstractContextManager[None] = torch.autocast(
            self.device.type, dtype=self.type or torch.bfloat16, enabled=self.type is not None
        )
        return kept

    def backward(self, loss: Tensor) -> None:
        """Add the gradients of a loss."""
        self.scaler.scale(loss).backward()

    def step(self, optimiser: Optimizer) -> None:
        """Change the weights; a step whose gradients overflowed is left out."""
        self.scaler.unscale_(optimiser)  # gradients are clipped at their own size
        self.scaler.step(optimiser)
        self.scaler.update()

    @property
    def state(self) -> dict[str, Any]:
        return dict(self.scaler.state_dict())

    @state.setter
    def state(self, state: Mapping[str, Any]) -> None:
        if state:
            self.scaler.load_state_dict(dict(state))
