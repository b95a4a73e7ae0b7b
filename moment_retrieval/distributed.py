"""A training's needs of its machine: memory, precision, signals, and the other processes where there are several.

Every process of torchrun encodes its share of a batch. Negatives are drawn from the whole batch, so queries and scores
are exchanged with their gradients, and each process computes the loss of the whole batch: what one process would have
computed. DistributedDataParallel then adds up the gradients.

Notation: W processes, B samples of the batch, b = ceil(B / W) of a process; what is missing is filled up, and left
out again.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Any, Self

import torch
from torch import Tensor, distributed, nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Optimizer

from moment_retrieval.batches import NOTHING, Batch, Layout
from moment_retrieval.errors import RetrievalError, ScoringError

Pair = tuple[Tensor, Tensor]
MIB = 2**20
ON_CPU = "can't allocate memory"  # of a RuntimeError of torch
STATM = Path("/proc/self/statm")
TRIM_THRESHOLD, MMAP_MAX, ALL = -1, -4, 2**31 - 1  # of glibc's mallopt


class OutOfMemory(ScoringError):
    """Half a batch does not fit either."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory is used up, of a GPU or of the machine."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and ON_CPU in str(error)


def keep_freed() -> bool:
    """Have this process keep the memory it frees: whether it does.

    Else glibc gives large tensors back, and at the next step the kernel clears each of their pages anew.
    """
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        return False
    return bool(library.mallopt(MMAP_MAX, 0) and library.mallopt(TRIM_THRESHOLD, ALL))


def used_mb(device: torch.device) -> float:
    """MiB in use now: of the process, or at the most so far on a GPU."""
    if device.type == "cuda":
        return round(torch.cuda.max_memory_allocated(device) / MIB, 1)
    pages = int(STATM.read_text().split()[1]) if STATM.exists() else 0
    return round(pages * os.sysconf("SC_PAGE_SIZE") / MIB, 1)


def give_back(device: torch.device) -> None:
    """Free what is cached of a GPU."""
    if device.type == "cuda":
        torch.cuda.empty_cache()


TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


class Precision:
    """One of float32, bfloat16 and float16; the last scales losses, so that small gradients survive."""

    def __init__(self, name: str, device: torch.device) -> None:
        self.type, self.device = TYPES.get(name), device
        self.scaler = torch.amp.GradScaler(device.type, enabled=name == "float16")

    def narrow(self) -> AbstractContextManager[None]:
        """Where the model runs."""
        return torch.autocast(self.device.type, dtype=self.type or torch.bfloat16, enabled=self.type is not None)

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


STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class TrainingStopped(RetrievalError):
    """Training was asked to stop; raised between parts of what takes long."""


class StopRequest:
    """Notes that a signal came; the training looks at the end of every step, on a CPU within it, too.

    Context manager: the signals have their old meaning afterwards. Outside the main thread, which alone may handle
    signals, ``ask`` does as well.
    """

    def __init__(self) -> None:
        self.requested = False
        self.before: dict[int, object] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self.before = {number: signal.signal(number, self.ask) for number in STOP_SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self.before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def ask(self, number: int = 0, frame: FrameType | None = None) -> None:
        """Stop as soon as may be."""
        self.requested = True

    def look(self) -> None:
        """Raise TrainingStopped if asked."""
        if self.requested:
            raise TrainingStopped


def look_between_layers(model: nn.Module, look: Callable[[], None]) -> None:
    """Have ``look`` called behind each part of a model, forward and backward: a step of its own may take long."""

    def behind(part: nn.Module, inputs: Any, output: Any) -> None:
        look()
        for tensor in output if isinstance(output, tuple) else (output,):
            if isinstance(tensor, Tensor) and tensor.requires_grad:
                tensor.register_hook(lambda gradient: look())

    for part in model.modules():
        part.register_forward_hook(behind)


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
        indexes = torch.arange(self.rank * each, (self.rank + 1) * each)
        return rows[indexes.masked_fill(indexes >= len(rows), 0)]

    def any(self, flag: bool) -> bool:
        if self.size == 1:
            return flag
        value = torch.tensor([float(flag)], device=self.device)
        distributed.all_reduce(value, distributed.ReduceOp.MAX)
        return bool(value.item())

    def result_of_first(self, ask: Callable[[], Any]) -> Any:
        """Broadcast the first process's value; others wait."""
        if self.size == 1:
            return ask()
        values = [ask() if self.first else None]
        distributed.broadcast_object_list(values, src=0, device=self.device)
        return values[0]

    def all_gather(self, value: Any) -> list[Any]:
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
        devices = [self.device] if self.device.type == "cuda" else None
        return DistributedDataParallel(GatheredModel(model), device_ids=devices)


def assemble(device: str) -> Team:
    """Return the team that torchrun started, or a single process; ``device`` is auto, cpu or cuda."""
    size, local = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("LOCAL_RANK", "0"))
    on_gpu = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    own_device = torch.device("cuda", local) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(own_device)
    if size == 1:
        return Team(own_device)
    distributed.init_process_group("nccl" if on_gpu else "gloo", timeout=PATIENCE)
    return Team(own_device, distributed.get_rank(), size)


def dismiss(team: Team) -> None:
    """The processes need each other no more."""
    if team.size > 1 and distributed.is_initialized():
        distributed.destroy_process_group()


def is_lost(error: Exception) -> bool:
    """Whether another process of the team is gone."""
    return isinstance(error, RuntimeError) and any(words in str(error) for words in GONE)


class SingleProcess:
    """Everything stays as it is: no other process trains."""

    def queries(self, own: Pair) -> Pair:
        """Both parts of one's own queries [b, H] -> of the queries of all processes [W * b, H]."""
        return own

    def columns(self, scores: Tensor) -> Tensor:
        """Scores of all queries with one's own videos -> with all videos [B, B]."""
        return scores

    def logits(self, own: Tensor, each: int = 1) -> Tensor:
        """[b * each, own width] -> [B * each, width]; ``each`` videos of a sample stand together."""
        return own

    def video_values(self, own: Tensor, each: int) -> Tensor:
        """One value of each video [b * each] -> [B * each]."""
        return own

    def cells(self, own: Tensor) -> Tensor:
        """As of ``logits``, for values of clips."""
        return own

    def layout(self, own: Layout) -> Layout:
        """Which clips are real, of the whole batch."""
        return own


ONE_PROCESS = SingleProcess()


@dataclass(frozen=True)
class AllProcesses(SingleProcess):
    """Puts together what each process computes of its share; what fills up the shares is left out."""

    size: int  # B
    width: int  # clips of the longest video there may be

    def queries(self, own: Pair) -> Pair:
        return gathered(own[0]), gathered(own[1])

    def columns(self, scores: Tensor) -> Tensor:
        return gathered(scores.T).T[: self.size, : self.size]

    def logits(self, own: Tensor, each: int = 1) -> Tensor:
        return self._wide(own, NOTHING, each)

    def video_values(self, own: Tensor, each: int) -> Tensor:
        return gathered(own)[: self.size * each]

    def cells(self, own: Tensor) -> Tensor:
        return self._wide(own, 0.0)

    def layout(self, own: Layout) -> Layout:
        lengths = gathered(own.lengths.to(own.device)).cpu()[: self.size]
        return Layout(lengths, lengths, self.width, own.device)

    def _wide(self, own: Tensor, filler: float, each: int = 1) -> Tensor:
        return gathered(functional.pad(own, (0, self.width - own.shape[1]), value=filler))[: self.size * each]


class GatheredModel(nn.Module):
    """A model whose output is that of the whole batch, though each process sees a share of it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Any:
        return self.model(batch, AllProcesses(len(batch), self.model.config.clips))


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
    rows: Tensor = _Gather.apply(own)
    return rows
