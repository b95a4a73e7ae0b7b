"""One training on several devices: a process each, started by torchrun.

Every process encodes its share of a batch. Negatives are drawn from the whole batch, so queries and scores are
exchanged with their gradients, and each process computes the loss of the whole batch: what one process would have
computed. DistributedDataParallel then adds up the gradients.

Notation: W processes, B samples of the batch, b = ceil(B / W) of a process; what is missing is filled up, and left
out again.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from moment_retrieval.batches import Batch
from moment_retrieval.models.conquer import ConquerOutput
from moment_retrieval.models.reloclnet import ReloclnetOutput
from moment_retrieval.models.two_stream import Pair
from moment_retrieval.models.xml import XmlOutput
from moment_retrieval.ragged import NOTHING, Layout

GONE = ("closed by peer", "reset by peer", "Broken pipe", "remote process exited", "communicator was aborted")
PATIENCE = timedelta(hours=12)  # the others wait while the first evaluates


@dataclass(frozen=True)
class Team:
    """The processes of one training; ``rank`` of this one, ``size`` of them."""

    device: torch.device
    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """This one evaluates, and writes."""
        return self.rank == 0

    def share(self, rows: Tensor) -> Tensor:
        """This process's samples [b] of a batch [B]; beyond its end, the first sample again."""
        if self.size == 1:
            return rows
        each = -(-len(rows) // self.size)
        places = torch.arange(self.rank * each, (self.rank + 1) * each)
        return rows[places.masked_fill(places >= len(rows), 0)]

    def any(self, flag: bool) -> bool:
        """Whether it is so in any process."""
        if self.size == 1:
            return flag
        told = torch.tensor([float(flag)], device=self.device)
        distributed.all_reduce(told, distributed.ReduceOp.MAX)
        return bool(told.item())

    def told_by_first(self, ask: Callable[[], Any]) -> Any:
        """What the first process finds; the others wait for it."""
        if self.size == 1:
            return ask()
        told = [ask() if self.first else None]
        distributed.broadcast_object_list(told, src=0, device=self.device)
        return told[0]

    def everyones(self, value: Any) -> list[Any]:
        """A small value of every process."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        distributed.all_gather_object(values, value)
        return values

    def wrapped(self, model: nn.Module) -> nn.Module:
        """The model as it is trained: its output and labels are those of the whole batch."""
        if self.size == 1:
            return model
        together = Together(model)
        devices = [self.device] if self.device.type == "cuda" else None
        kept: nn.Module = DistributedDataParallel(together, device_ids=devices)
        return kept


def assemble(device: str) -> Team:
    """The team that torchrun started, or a single process.

    Args:
        device: auto, cpu or cuda.
    """
    size, local = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("LOCAL_RANK", "0"))
    on_gpu = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    place = torch.device("cuda", local) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(place)
    if size == 1:
        return Team(place)
    distributed.init_process_group("nccl" if on_gpu else "gloo", timeout=PATIENCE)
    return Team(place, distributed.get_rank(), size)


def dismiss(team: Team) -> None:
    """The processes need each other no more."""
    if team.size > 1 and distributed.is_initialized():
        distributed.destroy_process_group()


def is_lost(error: Exception) -> bool:
    """Whether another process of the team is gone."""
    return isinstance(error, RuntimeError) and any(words in str(error) for words in GONE)


class Together(nn.Module):
    """A model whose output is that of the whole batch, though each process sees a share of it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Any:
        width = self.model.config.clips
        if self.model.__class__.__name__ == "Conquer":
            output = self.model(batch)
            return ConquerOutput(_logits(output.start, width), _logits(output.end, width), None)
        output = self.model(batch, everyones_queries)
        start, end, scores = _logits(output.start, width), _logits(output.end, width), _columns(output.scores)
        if isinstance(output, XmlOutput):
            return XmlOutput(scores, start, end)
        frames = tuple(gathered(_wide(one, width, 0.0)) for one in output.frames)
        layouts = tuple(_layout(layout, width) for layout in output.layouts)
        return ReloclnetOutput(
            scores,
            start,
            end,
            frames=(frames[0], frames[1]),
            videos=_columns(output.videos),
            layouts=(layouts[0], layouts[1]),
        )


def cut(output: Any, size: int) -> Any:
    """The output without what fills up the shares: of the first ``size`` samples [B]."""
    if isinstance(output, ConquerOutput):
        return ConquerOutput(output.start[:size], output.end[:size], None)
    changes: dict[str, Any] = {"scores": output.scores[:size, :size]}
    changes |= {"start": output.start[:size], "end": output.end[:size]}
    if isinstance(output, ReloclnetOutput):
        changes["videos"] = output.videos[:size, :size]
        changes["frames"] = tuple(one[:size] for one in output.frames)
        changes["layouts"] = tuple(
            replace(layout, lengths=layout.lengths[:size], kept=layout.kept[:size]) for layout in output.layouts
        )
    return replace(output, **changes)


class _Gather(torch.autograd.Function):
    """Tensors of equal shape of all processes, one after the other; gradients go back to whose they are."""

    @staticmethod
    def forward(context: Any, own: Tensor) -> Tensor:
        parts = [torch.empty_like(own) for _ in range(distributed.get_world_size())]
        distributed.all_gather(parts, own.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> Tensor:
        gradient = gradient.contiguous()
        distributed.all_reduce(gradient)
        return gradient.chunk(distributed.get_world_size())[distributed.get_rank()]


def gathered(own: Tensor) -> Tensor:
    """[b, ...] of every process -> [W * b, ...], with gradients."""
    kept: Tensor = _Gather.apply(own)
    return kept


def everyones_queries(queries: Pair) -> Pair:
    """Both parts of the queries of all processes [W * b, H]."""
    return gathered(queries[0]), gathered(queries[1])


def _columns(scores: Tensor) -> Tensor:
    """Scores of all queries with the own videos [W * b, b] -> with all videos [W * b, W * b]."""
    return gathered(scores.T).T


def _wide(cells: Tensor, width: int, filler: float) -> Tensor:
    return functional.pad(cells, (0, width - cells.shape[1]), value=filler)


def _logits(own: Tensor, width: int) -> Tensor:
    return gathered(_wide(own, width, NOTHING))


def _layout(layout: Layout, width: int) -> Layout:
    lengths = gathered(layout.lengths.to(layout.device)).cpu()
    return Layout(lengths, lengths, width, layout.device)
