"""A look through the pickles of a checkpoint before torch makes anything of them.

torch itself runs no code of theirs, but lets them ask for gigabytes in a few bytes. Here they are gone through with
stand-ins that hold no data: what they name must be what published checkpoints need, and no more may come of it than
the file holds.
"""

from __future__ import annotations

import io
import pickle  # nosec B403 - only with stand-ins for all that it names
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch

from moment_retrieval.errors import ScoringError

MOST_MB = 16  # of pickles; those of the released checkpoints have less than one
ZIP = b"PK\x03\x04"
OLD_PICKLES = 5  # with which the form before the archives begins


class UnsafeCheckpoint(ScoringError):
    """A published checkpoint asks for code to be run, or is no checkpoint at all. Nothing of it was run."""


@dataclass(frozen=True)
class Numbers:
    """A storage, or with no count its kind: how many numbers of how many bytes."""

    size: int
    count: int = 0


class Filled(dict[Any, Any]):
    """An object that is made empty, as pickles make it, and filled then."""

    def __init__(self, *given: Any) -> None:
        if given:
            raise UnsafeCheckpoint("it is refused: it makes copies")
        super().__init__()


def _tensor(held: Numbers, first: int, shape: tuple[int, ...], strides: tuple[int, ...], *more: Any) -> None:
    """What torch rebuilds a tensor of; it would enlarge a storage that is too small."""
    last = first + sum((count - 1) * stride for count, stride in zip(shape, strides, strict=True))
    if min((first, *shape, *strides)) < 0 or (0 not in shape and last >= held.count):
        raise UnsafeCheckpoint("it is refused: a weight is said to be larger than it is")


def _device(*_: Any) -> None:
    """Where something lay; options name it."""


KNOWN: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): Filled,
    ("argparse", "Namespace"): Filled,
    ("easydict", "EasyDict"): Filled,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch", "device"): _device,
    **{("torch", f"{kind}Storage"): Numbers(8) for kind in ("Double", "Long")},
    **{("torch", f"{kind}Storage"): Numbers(4) for kind in ("Float", "Int")},
    **{("torch", f"{kind}Storage"): Numbers(2) for kind in ("Half", "BFloat16", "Short")},
    **{("torch", f"{kind}Storage"): Numbers(1) for kind in ("Char", "Byte", "Bool")},
}


class _Look(pickle._Unpickler):
    """Goes through a pickle as torch does; the unpickler in C would take memory for whatever number it is told."""

    stack: list[Any]

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.storages: dict[tuple[str, int], int] = {}
        self.filled = 0

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in KNOWN:
            raise UnsafeCheckpoint(f"it is refused: it asks for {module}.{name}")
        return KNOWN[module, name]

    def persistent_load(self, told: Any) -> Numbers:
        _, kind, key, _, count, *_ = told
        if not isinstance(count, int) or count < 0:
            raise UnsafeCheckpoint(f"it is refused: a tensor of it has {count!r} numbers")
        held = Numbers(kind.size, count)
        self.storages[key, count] = max(held.size * count, self.storages.get((key, count), 0))
        return held

    def load_build(self) -> None:
        """What an object is filled with is copied, and may be named as often as somebody likes."""
        self.filled += len(self.stack.pop())
        if not isinstance(self.stack[-1], Filled):
            raise UnsafeCheckpoint("it is refused: it fills what nobody can fill")

    dispatch: ClassVar[dict[int, Any]] = {**pickle._Unpickler.dispatch, pickle.BUILD[0]: load_build}


def look_through(path: Path) -> None:
    """Refuse a checkpoint that would run code, or take more memory than it has bytes.

    Raises:
        UnsafeCheckpoint: it would; other errors say that it is no checkpoint.
    """
    size = path.stat().st_size
    for file in _pickles(path, size):
        look = _Look(file)
        look.load()
        if look.filled > size:
            raise UnsafeCheckpoint("it is refused: it makes copies")
        if sum(look.storages.values()) > size:
            raise UnsafeCheckpoint("its weights are said to be larger than the file")


def _pickles(path: Path, size: int) -> Iterator[io.BytesIO]:
    """The pickles of either form, as torch finds them."""
    with path.open("rb") as file:
        start = file.read(MOST_MB * 2**20)
    if not start.startswith(ZIP):
        rest = io.BytesIO(start)
        for _ in range(OLD_PICKLES):
            yield rest
        return
    archive = torch._C.PyTorchFileReader(str(path))
    if sum(map(archive.get_record_size, archive.get_all_records())) > size:  # torch packs nothing
        raise UnsafeCheckpoint("it is refused: more is packed in it than it holds")
    if archive.get_record_size("data.pkl") > MOST_MB * 2**20:
        raise UnsafeCheckpoint(f"it is refused: it has more than {MOST_MB} MB beside its weights")
    yield io.BytesIO(archive.get_record("data.pkl"))
