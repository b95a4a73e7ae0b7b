"""SlowFast: a deep network on few frames beside a thin one on many (Feichtenhofer et al. 2019, arXiv:1812.03982).

Parameters are called as in the checkpoints of github.com/facebookresearch/SlowFast that were trained by PyTorch; those
of PyTorchVideo (``SLOWFAST_8x8_R50.pyth``) are renamed when they are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

STEM = 64  # channels of the first slow layer
ALPHA = 4  # fast frames for each slow one
BETA = 8  # slow channels for each fast one
FUSION = 2  # channels that the slow network gets for each fast one
DEPTHS = (3, 4, 6, 3)  # blocks of ResNet-50
KERNEL = 7  # frames that a fusion sees: 7 in 8x8 networks, 5 in 4x16
SLOW_TIMES, FAST_TIMES = (1, 1, 3, 3), (3, 3, 3, 3)  # frames that a block of each stage sees


class Stem(nn.Module):
    """The first layer of one path: convolution, batch normalisation, rectifier, maximum."""

    def __init__(self, channels: int, time: int) -> None:
        super().__init__()
        self.conv = nn.Conv3d(3, channels, (time, 7, 7), (1, 2, 2), (time // 2, 3, 3), bias=False)
        self.bn = nn.BatchNorm3d(channels)

    def forward(self, frames: Tensor) -> Tensor:
        """[B, 3, T, H, W] -> [B, C, T, H / 4, W / 4]."""
        return functional.max_pool3d(functional.relu(self.bn(self.conv(frames))), (1, 3, 3), (1, 2, 2), (0, 1, 1))


class Bottleneck(nn.Module):
    """Three convolutions: over time, over the picture, over channels."""

    def __init__(self, channels_in: int, channels: int, time: int, stride: int) -> None:
        super().__init__()
        inner = channels // 4
        self.a = nn.Conv3d(channels_in, inner, (time, 1, 1), padding=(time // 2, 0, 0), bias=False)
        self.a_bn = nn.BatchNorm3d(inner)
        self.b = nn.Conv3d(inner, inner, (1, 3, 3), (1, stride, stride), (0, 1, 1), bias=False)
        self.b_bn = nn.BatchNorm3d(inner)
        self.c = nn.Conv3d(inner, channels, 1, bias=False)
        self.c_bn = nn.BatchNorm3d(channels)

    def forward(self, values: Tensor) -> Tensor:
        """[B, C, T, H, W] -> [B, C', T, H / stride, W / stride]."""
        values = functional.relu(self.a_bn(self.a(values)))
        return self.c_bn(self.c(functional.relu(self.b_bn(self.b(values)))))


class Block(nn.Module):
    """A bottleneck beside a shortcut."""

    def __init__(self, channels_in: int, channels: int, time: int, stride: int) -> None:
        super().__init__()
        self.is_mapped = channels_in != channels or stride != 1
        if self.is_mapped:
            self.branch1 = nn.Conv3d(channels_in, channels, 1, (1, stride, stride), bias=False)
            self.branch1_bn = nn.BatchNorm3d(channels)
        self.branch2 = Bottleneck(channels_in, channels, time, stride)

    def forward(self, values: Tensor) -> Tensor:
        """[B, C, T, H, W] -> [B, C', T, H / stride, W / stride]."""
        shortcut = self.branch1_bn(self.branch1(values)) if self.is_mapped else values
        return functional.relu(shortcut + self.branch2(values))


class Fusion(nn.Module):
    """Adds channels of the fast path to the slow one."""

    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        self.conv_f2s = nn.Conv3d(
            channels, channels * FUSION, (kernel, 1, 1), (ALPHA, 1, 1), (kernel // 2, 0, 0), bias=False
        )
        self.bn = nn.BatchNorm3d(channels * FUSION)

    def forward(self, slow: Tensor, fast: Tensor) -> Tensor:
        """slow [B, C, T / 4, H, W], fast [B, C / 8, T, H, W] -> [B, C + C / 4, T / 4, H, W]."""
        return torch.cat([slow, functional.relu(self.bn(self.conv_f2s(fast)))], dim=1)


class SlowFast(nn.Module):
    """Features of clips: the means over time and picture of both paths, 2,048 and 256 numbers.

    Shapes: B clips, T frames (a multiple of 4), H and W pixels.

    Args:
        stem: channels of the first slow layer, a multiple of 8; all others grow with it.
        depths: blocks of each of the four stages.
        kernel: frames that a fusion sees.
    """

    spare = ("head.",)  # parameters of checkpoints that name classes
    flat: tuple[str, ...] = ()
    renamed = (  # of PyTorchVideo
        (r"blocks\.0\.multipathway_blocks\.(\d)\.conv\.", r"s1.pathway\1_stem.conv."),
        (r"blocks\.0\.multipathway_blocks\.(\d)\.norm\.", r"s1.pathway\1_stem.bn."),
        (r"blocks\.(\d)\.multipathway_fusion\.conv_fast_to_slow\.", r"s\1+1_fuse.conv_f2s."),
        (r"blocks\.(\d)\.multipathway_fusion\.norm\.", r"s\1+1_fuse.bn."),
        (r"blocks\.(\d)\.multipathway_blocks\.(\d)\.res_blocks\.(\d+)\.", r"s\1+1.pathway\2_res\3."),
        (r"\.branch1_conv\.", ".branch1."),
        (r"\.branch1_norm\.", ".branch1_bn."),
        (r"\.branch2\.conv_([abc])\.", r".branch2.\1."),
        (r"\.branch2\.norm_([abc])\.", r".branch2.\1_bn."),
        (r"blocks\.6\.proj\.", "head."),
        *((rf"^s{number}\+1", f"s{number + 1}") for number in range(5)),
    )

    def __init__(self, *, stem: int = STEM, depths: Sequence[int] = DEPTHS, kernel: int = KERNEL) -> None:
        if stem % BETA:
            raise ValueError(f"the first layer of SlowFast has {stem} channels, which is no multiple of {BETA}")
        super().__init__()
        self.s1 = nn.Module()
        self.s1.pathway0_stem, self.s1.pathway1_stem = Stem(stem, 1), Stem(stem // BETA, 5)
        self.s1_fuse = Fusion(stem // BETA, kernel)
        self.depths = tuple(depths)
        slow, fast = stem, stem // BETA
        for index, depth in enumerate(self.depths):
            stage = nn.Module()
            channels = 4 * stem * 2**index
            for path, (channels_in, channels_out, times) in enumerate(
                ((slow + fast * FUSION, channels, SLOW_TIMES), (fast, channels // BETA, FAST_TIMES))
            ):
                for number in range(depth):
                    stride = 2 if index and not number else 1
                    block = Block(channels_out if number else channels_in, channels_out, times[index], stride)
                    stage.add_module(f"pathway{path}_res{number}", block)
            self.add_module(f"s{index + 2}", stage)
            slow, fast = channels, channels // BETA
            if index + 1 < len(self.depths):
                self.add_module(f"s{index + 2}_fuse", Fusion(fast, kernel))
        self.width = slow + fast

    @classmethod
    def like(cls, state: Mapping[str, Any]) -> Self:
        """Return a network with as many channels, blocks and fusion frames as the parameters of a checkpoint."""
        stem, kernel = len(state["s1.pathway0_stem.conv.weight"]), state["s1_fuse.conv_f2s.weight"].shape[2]
        matches = (re.match(r"s([2-5])\.pathway0_res(\d+)\.", name) for name in state)
        blocks = {(int(match[1]), int(match[2])) for match in matches if match}
        return cls(stem=stem, depths=[sum(stage == each for each, _ in blocks) for stage in range(2, 6)], kernel=kernel)

    def forward(self, frames: Tensor) -> Tensor:
        """Frames [B, 3, T, H, W] of the fast path -> features [B, width]; the slow path sees every fourth."""
        count = frames.shape[2]
        indexes = torch.linspace(0, count - 1, max(1, count // ALPHA)).long().to(frames.device)
        slow, fast = self.s1.pathway0_stem(frames.index_select(2, indexes)), self.s1.pathway1_stem(frames)
        for index, depth in enumerate(self.depths):
            fusion = self.get_submodule(f"s{index + 1}_fuse")
            slow = fusion(slow, fast)
            for number in range(depth):
                slow = self.get_submodule(f"s{index + 2}.pathway0_res{number}")(slow)
                fast = self.get_submodule(f"s{index + 2}.pathway1_res{number}")(fast)
        return torch.cat([slow.mean(dim=(2, 3, 4)), fast.mean(dim=(2, 3, 4))], dim=1)
