"""The blocks all three baselines are built of.

Notation: R rows of B sequences end to end, W the width of their rectangle, D features of the input, H hidden features,
h heads. Rows that a layout does not keep cost nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from moment_retrieval.batches import Layout, SideBySide

NORM_EPSILON = 1e-5
AnyLayout = Layout | SideBySide
SPREAD = 0.02  # standard deviation of fresh weights
ALL_WORDS: Any = {"dtype": np.uint64, "endpoint": True}


class Dropout(nn.Module):
    """Zeroes a share of what passes while training, and scales the rest up; functional.dropout, quicker on a CPU.

    torch draws a float for each number there; 16 random bits are enough.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, values: Tensor) -> Tensor:
        """Any shape -> the same."""
        if not self.training or not self.share or values.device.type != "cpu":
            return functional.dropout(values, self.share, self.training)
        return values * _dropout_mask(values, self.share)


def _dropout_mask(values: Tensor, share: float) -> Tensor:
    """0 with a probability of ``share``, to 1 in 65,536, else 1 / (1 - share); of the same shape and type.

    torch's generator draws but the seed of one that is four times as quick.
    """
    seed = int(torch.empty((), dtype=torch.int64).random_())
    words = np.random.Generator(np.random.SFC64(seed)).integers(2**64 - 1, size=(values.numel() + 3) // 4, **ALL_WORDS)
    bits = torch.from_numpy(words.view(np.int16))[: values.numel()].view(values.shape)
    mask = torch.empty_like(values, memory_format=torch.contiguous_format)
    return torch.ge(bits, round(share * 2**16) - 2**15, out=mask).mul_(1 / (1 - share))


class InputProjection(nn.Module):
    """Features of any origin -> hidden features: normalised, dropped, mapped, rectified."""

    def __init__(self, size: int, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(size, eps=NORM_EPSILON)
        self.dropout = Dropout(dropout)
        self.linear = nn.Linear(size, hidden_size)

    def forward(self, rows: Tensor) -> Tensor:
        """[R, D] -> [R, H]."""
        return functional.relu(self.linear(self.dropout(self.norm(rows))))

    def laid(self, rows: Tensor, layout: Layout) -> Tensor:
        """The real rows of a layout [R', D] -> all it keeps [R, H]; those that are not real come from zeros.

        A row of zeros is its norm's bias, so every place of the rectangle has one for the whole batch.
        """
        rows = self(rows)
        if torch.equal(layout.computed, layout.lengths):
            return rows
        nothing = self.norm.bias.expand(layout.width, -1)
        nothing = functional.relu(self.linear(self.dropout(nothing)))  # [W, H]
        return layout.collect(torch.where(layout.real[..., None], layout.of_real.spread(rows), nothing))


class PositionalEncoding(nn.Module):
    """Adds a learnt vector for the place in the sequence, and one for its kind where there are several."""

    def __init__(self, length: int, hidden_size: int, dropout: float, *, kinds: int = 0) -> None:
        super().__init__()
        self.place = nn.Embedding(length, hidden_size)
        self.kind = nn.Embedding(kinds, hidden_size) if kinds else None
        self.norm = nn.LayerNorm(hidden_size, eps=NORM_EPSILON)
        self.dropout = Dropout(dropout)

    def forward(self, rows: Tensor, position: Tensor, kind: int = 0) -> Tensor:
        """rows [R, H], position [R] -> [R, H]."""
        rows = rows + self.place(position)
        if self.kind is not None:
            rows = rows + self.kind.weight[kind]
        return self.dropout(self.norm(rows))


class Attention(nn.Module):
    """Rows look at rows: softmax(QK^T / sqrt(H / h) + what is hidden) V, heads side by side.

    What is hidden gets a large negative number, not minus infinity: a row that may see nothing sees all, with scores
    rounded as coarsely as float32 rounds at that size. Published weights were trained so.
    """

    def __init__(self, hidden_size: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = Dropout(dropout)
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)

    def forward(
        self, rows: Tensor, layout: AnyLayout, mask_bias: Tensor, context: tuple[Tensor, Layout] | None = None
    ) -> Tensor:
        """rows [R, H], hidden broadcasts to [B, h, W, W'], seen [R', H] (the rows themselves if None) -> [R, H]."""
        if context is None:
            query, key, value = self._of(rows, layout, self.query, self.key, self.value)
        else:
            (query,) = self._of(rows, layout, self.query)
            key, value = self._of(*context, self.key, self.value)
        scores = query @ key.transpose(2, 3) / query.shape[3] ** 0.5 + mask_bias  # [B, h, W, W']
        mixed = self.dropout(scores.softmax(3)) @ value  # [B, h, W, H / h]
        return layout.collect(mixed.transpose(1, 2).flatten(2))

    def _of(self, rows: Tensor, layout: AnyLayout, *maps: nn.Linear) -> list[Tensor]:
        """Apply each linear map to the rows, by head: [B, h, W, H / h] each."""
        return [layout.spread(one(rows)).unflatten(2, (self.heads, -1)).transpose(1, 2) for one in maps]


class ProjectedEncoder(nn.Module):
    """Rows put together from several -> hidden features of rows that have seen their sequence."""

    def __init__(self, size: int, hidden: int, heads: int, dropout: float, inner: int) -> None:
        super().__init__()
        self.input = InputProjection(size, hidden, dropout)
        self.encoder = EncoderBlock(hidden, heads, dropout, inner=inner)

    def forward(self, rows: Tensor, layout: Layout) -> Tensor:
        """[R, D] -> [R, H]."""
        return self.encoder(self.input(rows), layout)


class FeedForward(nn.Module):
    """BERT's second half of a layer: out, bent by the exact GELU, and back."""

    def __init__(self, hidden_size: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.outward = nn.Linear(hidden_size, inner)
        self.back = nn.Linear(inner, hidden_size)
        self.norm = nn.LayerNorm(hidden_size, eps=NORM_EPSILON)
        self.dropout = Dropout(dropout)

    def forward(self, rows: Tensor) -> Tensor:
        """[R, H] -> [R, H]."""
        return self.norm(self.dropout(self.back(functional.gelu(self.outward(rows)))) + rows)


class EncoderBlock(nn.Module):
    """A transformer layer; without ``inner`` it has no feed-forward half, as in XML and ReLoCLNet."""

    def __init__(self, hidden_size: int, heads: int, dropout: float, *, inner: int = 0) -> None:
        super().__init__()
        self.attention = Attention(hidden_size, heads, dropout)
        self.mix = nn.Linear(hidden_size, hidden_size)
        self.norm = nn.LayerNorm(hidden_size, eps=NORM_EPSILON)
        self.dropout = Dropout(dropout)
        self.feed_forward = FeedForward(hidden_size, inner, dropout) if inner else nn.Identity()

    def forward(self, rows: Tensor, layout: AnyLayout) -> Tensor:
        """[R, H] -> [R, H]; keys that are not real are hidden."""
        mixed = self.mix(self.attention(rows, layout, layout.hidden))
        return self.feed_forward(self.norm(self.dropout(mixed) + rows))


def initialise(module: nn.Module) -> None:
    """Fresh weights as published; convolutions keep torch's. For ``nn.Module.apply``."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=SPREAD)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
