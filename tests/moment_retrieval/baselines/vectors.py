"""The vectors of the published implementations, and the mark that skips a test, visibly, where they are absent."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from moment_retrieval.batches import Sequences
from tests.moment_retrieval.shared_data import PARITY

needs_parity = pytest.mark.skipif(not PARITY.is_dir(), reason=f"no shared data at {PARITY}; set MOMENTJUDGE_SHARED")


READ: dict[str, list[str]] = {}  # by file, what was asked for
WHOLE = "*"  # all of it at once


class Vectors(dict[str, Any]):
    """Arrays of a file by their names, and a note of each that was asked for."""

    def __init__(self, name: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.read = READ.setdefault(name, [])

    def __getitem__(self, key: str) -> Any:
        self.read.append(key)
        return super().__getitem__(key)

    def items(self) -> Any:
        self.read.append(WHOLE)
        return super().items()


@cache
def arrays(name: str) -> Vectors:
    """The arrays of one ``.npz`` below ``parity/``, by name."""
    with np.load(PARITY / name) as file:
        return Vectors(name, file)


@cache
def weights(name: str) -> Vectors:
    """The tensors of one ``.safetensors`` below ``parity/``, by their published names."""
    return Vectors(name, load_file(PARITY / name))


def tensor(name: str, key: str) -> Tensor:
    return torch.from_numpy(arrays(name)[key])


def meta(baseline: str) -> Any:
    return json.loads((PARITY / baseline / "meta.json").read_text())


def packed(cells: Tensor, mask: Tensor) -> Sequences:
    """Published, padded inputs [B, L, D] as we give them to a model."""
    return Sequences(cells[mask.bool()], mask.sum(-1).long())


def worst(ours: Tensor, published: Tensor, where: Tensor | None = None) -> float:
    """The largest difference, of all or where the mask is true."""
    difference = (ours.detach() - published).abs()
    return float((difference if where is None else difference[where.bool()]).max())


def assert_gradient(name: str, ours: Tensor, published: Tensor) -> None:
    if name.endswith("key.bias"):  # in truth 0
        assert worst(ours, published) < 1e-6, name
    else:
        assert (ours - published).norm() <= 1e-4 * published.norm(), name


@contextmanager
def outputs_of(model: nn.Module, *names: str) -> Iterator[dict[str, Tensor]]:
    """Yield the named modules' outputs by name; of several calls the last."""
    outputs: dict[str, Tensor] = {}
    hooks = [
        model.get_submodule(name).register_forward_hook(lambda *called, name=name: outputs.update({name: called[2]}))
        for name in names
    ]
    yield outputs
    for hook in hooks:
        hook.remove()


class Recorded:
    """Negatives that the published code drew, one column each in the order of its draws."""

    def __init__(self, *values: Any) -> None:
        self.drawn = iter(values)

    def __call__(self, scores: Tensor, positives: Tensor) -> Tensor:
        return torch.as_tensor(next(self.drawn))
