"""VGG-16 (Simonyan and Zisserman 2015, arXiv:1409.1556).

Parameters are called as in torchvision's checkpoints, ``vgg16-397923af.pth`` for instance; those of timm are renamed
when they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from torch import Tensor, nn
from torch.nn import functional

STEM = 64  # channels of the first layer
STAGES = ((1, 1), (2, 2), (4, 4, 4), (8, 8, 8), (8, 8, 8))  # times as many channels; a maximum follows each stage
PICTURE = 7  # places across and down before the first fully connected layer


class VGG(nn.Module):
    """Features of pictures: the second fully connected layer (fc7), 4,096 numbers, rectified.

    Shapes: F pictures of H x W pixels, 224 x 224 as trained.

    Args:
        stem: channels of the first layer; all others grow with it.
    """

    spare = ("classifier.6.", "head.")  # parameters of checkpoints that name classes
    flat = ("classifier.0.weight", "classifier.3.weight")
    renamed = ((r"^pre_logits\.fc1\.", "classifier.0."), (r"^pre_logits\.fc2\.", "classifier.3."))

    def __init__(self, *, stem: int = STEM) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for stage in STAGES:
            for factor in stage:
                layers += [nn.Conv2d(channels, factor * stem, 3, padding=1), nn.ReLU()]
                channels = factor * stem
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.width = 64 * stem
        self.classifier = nn.Sequential(
            *(nn.Linear(channels * PICTURE**2, self.width), nn.ReLU(), nn.Identity()),
            *(nn.Linear(self.width, self.width), nn.ReLU()),
        )

    @classmethod
    def like(cls, state: Mapping[str, Any]) -> Self:
        """Return a network with as many channels as the parameters of a checkpoint."""
        return cls(stem=len(state["features.0.weight"]))

    def forward(self, pictures: Tensor) -> Tensor:
        """Pictures [F, 3, H, W] -> features [F, width]."""
        return self.classifier(functional.adaptive_avg_pool2d(self.features(pictures), PICTURE).flatten(1))
