"""C3D: eight convolutions over 16 frames (Tran et al. 2015, arXiv:1412.0767).

Parameters are called ``conv1`` to ``conv5b`` and ``fc6``, as in PyTorch copies of the network trained on Sports-1M;
``features.0`` to ``features.18`` and ``classifier.0`` (``c3d-pretrained.pth``) are renamed when they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from torch import Tensor, nn
from torch.nn import functional

STEM = 64  # channels of the first layer
LAYERS = {"conv1": 1, "conv2": 2, "conv3a": 4, "conv3b": 4, "conv4a": 8, "conv4b": 8, "conv5a": 8, "conv5b": 8}
POOLED_AFTER = ("conv1", "conv2", "conv3b", "conv4b", "conv5b")
OTHER_NAMES = ("0", "3", "6", "8", "11", "13", "16", "18")  # of the layers, among ``features``


class C3D(nn.Module):
    """Features of clips: the first fully connected layer (fc6), 4,096 numbers, rectified.

    Shapes: B clips of 16 frames of 112 x 112 pixels.

    Args:
        stem: channels of the first layer; all others grow with it.
    """

    spare = ("fc7.", "fc8.", "classifier.3.", "classifier.6.")  # parameters of checkpoints that are not needed
    flat: tuple[str, ...] = ()
    renamed = (
        *((rf"^features\.{number}\.", f"{name}.") for name, number in zip(LAYERS, OTHER_NAMES, strict=True)),
        (r"^classifier\.0\.", "fc6."),
    )

    def __init__(self, *, stem: int = STEM) -> None:
        super().__init__()
        channels = 3
        for name, factor in LAYERS.items():
            self.add_module(name, nn.Conv3d(channels, factor * stem, 3, padding=1))
            channels = factor * stem
        self.width = 64 * stem
        self.fc6 = nn.Linear(channels * 4 * 4, self.width)

    @classmethod
    def like(cls, state: Mapping[str, Any]) -> Self:
        """Return a network with as many channels as the parameters of a checkpoint."""
        return cls(stem=len(state["conv1.weight"]))

    def forward(self, frames: Tensor) -> Tensor:
        """Frames [B, 3, 16, 112, 112] -> features [B, width]."""
        values = frames
        for name in LAYERS:
            values = functional.relu(self.get_submodule(name)(values))
            if name in POOLED_AFTER:
                time, padding = (1, 0) if name == "conv1" else (2, int(name == "conv5b"))
                values = functional.max_pool3d(values, (time, 2, 2), padding=(0, padding, padding))
        return functional.relu(self.fc6(values.flatten(1)))  # from [B, C, 1, 4, 4]
