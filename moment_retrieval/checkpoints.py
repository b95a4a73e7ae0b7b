"""Training kept on disk, to be scored or gone on with: weights and optimiser as safetensors, all else as JSON.

A checkpoint is a folder::

    weights.safetensors     the model's, by our names
    optimiser.safetensors   two tensors for each parameter; absent once training is over and only weights are kept
    meta.json               what was trained, on what, how far, how well; states of the random generators

It is written beside its place and moved there at the end, so that a folder is whole or not there. Nothing in it is
code; safetensors and JSON cannot carry any.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from moment_retrieval.errors import ScoringError, at
from moment_retrieval.jsonfiles import flush, flush_folder

WEIGHTS, OPTIMISER, META = "weights.safetensors", "optimiser.safetensors", "meta.json"
FORM = 1  # of meta.json
HELD: dict[str, tuple[type, type | UnionType]] = {  # in meta.json: what it is, and what is in that
    **dict.fromkeys(("baseline", "code"), (str, str)),
    **dict.fromkeys(("step", "epoch"), (int, int)),
    **dict.fromkeys(("config", "progress"), (dict, object)),
    **dict.fromkeys(("data", "generators"), (dict, str)),
    "seeds": (dict, int),
    "metrics": (dict, int | float),
    "groups": (list, dict),
}


class BrokenCheckpoint(ScoringError):
    """A checkpoint is missing, incomplete, damaged, or of another model."""


@dataclass(frozen=True, kw_only=True)
class About:
    """Values of a checkpoint's meta.json."""

    baseline: str  # xml, reloclnet or conquer
    config: Mapping[str, Any]  # sizes and objective, as given
    code: str = ""  # version of this library that trained it
    data: Mapping[str, str] = field(default_factory=dict)  # checksums of what it was trained on, by name
    seeds: Mapping[str, int] = field(default_factory=dict)  # by name
    # step, epoch: how far training has come
    step: int = 0
    epoch: int = 0
    metrics: Mapping[str, float] = field(default_factory=dict)  # by name, of the validation before
    # what else a training needs to go on, see ``training.progress``
    progress: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint as read; ``optimiser`` and ``generators`` are empty where only weights were kept."""

    about: About
    weights: dict[str, Tensor]
    optimiser: dict[str, Tensor]
    groups: list[dict[str, Any]]
    generators: dict[str, Tensor]

    def restore(
        self,
        model: nn.Module,
        optimiser: Optimizer | None = None,
        generators: Mapping[str, torch.Generator] | None = None,
    ) -> None:
        """Put everything back; training then goes on as if it had never stopped.

        Raises:
            BrokenCheckpoint: the model has other weights, or there is no optimiser state to go on with.
        """
        try:
            model.load_state_dict(self.weights)
        except RuntimeError as error:
            raise BrokenCheckpoint(f"the weights are not this model's: {error}") from error
        if optimiser is not None:
            self._restore_optimiser(model, optimiser)
        for name, generator in (generators or {}).items():
            if name not in self.generators:
                raise BrokenCheckpoint(f"there is no state of the generator {name!r}")
            try:
                generator.set_state(self.generators[name])
            except (RuntimeError, TypeError) as error:
                raise BrokenCheckpoint(f"the generator {name!r} cannot be in this state: {error}") from error

    def _restore_optimiser(self, model: nn.Module, optimiser: Optimizer) -> None:
        if not self.groups:
            raise BrokenCheckpoint("only the weights were kept; training cannot go on from them")
        names = _names(model, optimiser)
        fresh = optimiser.state_dict()
        state: dict[int, dict[str, Any]] = {}
        for key, tensor in self.optimiser.items():
            name, _, kind = key.rpartition("/")
            if name not in names:
                raise BrokenCheckpoint(f"the optimiser does not know {name!r}")
            state.setdefault(names[name], {})[kind] = tensor
        try:
            groups = [
                {**group, **checkpoint_group}
                for group, checkpoint_group in zip(fresh["param_groups"], self.groups, strict=True)
            ]
            optimiser.load_state_dict({"state": state, "param_groups": groups})
        except (RuntimeError, ValueError) as error:
            raise BrokenCheckpoint(f"the optimiser cannot be in this state: {error}") from error


def save(
    folder: Path,
    about: About,
    model: nn.Module,
    optimiser: Optimizer | None = None,
    generators: Mapping[str, torch.Generator | Tensor] | None = None,
) -> None:
    """Write a checkpoint; one that is there is replaced.

    With an optimiser and all random generators, or their states, training can go on from it bit for bit on a CPU.
    """
    beside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    save_file(_plain(model.state_dict()), beside / WEIGHTS)
    groups: list[dict[str, Any]] = []
    if optimiser is not None:
        state = optimiser.state_dict()
        names = {number: name for name, number in _names(model, optimiser).items()}
        tensors = {
            f"{names[number]}/{kind}": torch.as_tensor(value)
            for number, kinds in state["state"].items()
            for kind, value in kinds.items()
        }
        save_file(_plain(tensors), beside / OPTIMISER)
        groups = [{key: group[key] for key in group if key != "params"} for group in state["param_groups"]]
    states = {name: _text(generator) for name, generator in (generators or {}).items()}
    meta = {"form": FORM, **asdict(about), "groups": groups, "generators": states}
    (beside / META).write_text(json.dumps(meta, indent=1))
    _replace(folder, beside)


def load(folder: Path) -> Checkpoint:
    """Read a checkpoint. Raises BrokenCheckpoint: it is not there, not whole, or of a later form."""
    with at(str(folder)):
        folder = folder if folder.exists() else _old(folder)  # a crash while it was replaced
        try:
            meta = json.loads((folder / META).read_text())
            weights = load_file(folder / WEIGHTS)
            optimiser = load_file(folder / OPTIMISER) if (folder / OPTIMISER).exists() else {}
        except (OSError, ValueError, RecursionError, SafetensorError) as error:
            raise BrokenCheckpoint(f"it cannot be read: {error}") from error
        _check(meta)
        about = About(**{name: meta[name] for name in About.__dataclass_fields__})
        generators = {name: _state(name, text) for name, text in meta["generators"].items()}
        return Checkpoint(about, weights, optimiser, meta["groups"], generators)


def _check(meta: Any) -> None:
    """Refuse what ``save`` did not write. Raises BrokenCheckpoint."""
    form = meta.get("form") if isinstance(meta, dict) else None
    if form != FORM:
        raise BrokenCheckpoint(f"its form is {form}, and {FORM} is known")
    for name, (kind, of) in HELD.items():
        value = meta.get(name)
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
        if not isinstance(value, kind) or not all(isinstance(part, of) for part in parts):
            raise BrokenCheckpoint(f"{META} tells no {name}")


def _names(model: nn.Module, optimiser: Optimizer) -> dict[str, int]:
    """The optimiser's number of each parameter, by name."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    parameters = (parameter for group in optimiser.param_groups for parameter in group["params"])
    return {names[id(parameter)]: number for number, parameter in enumerate(parameters)}


def _plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}


def _text(generator: torch.Generator | Tensor) -> str:
    state = generator if isinstance(generator, Tensor) else generator.get_state()
    return base64.b64encode(state.numpy().tobytes()).decode()


def _state(name: str, text: str) -> Tensor:
    try:
        return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)
    except ValueError as error:
        raise BrokenCheckpoint(f"{META} tells no state of the generator {name!r}") from error


def _replace(folder: Path, beside: Path) -> None:
    """Put the new folder where the old one is; a crash or a power cut in between leaves one of them whole."""
    flush_folder(beside)
    old = _old(folder)
    if folder.exists():
        shutil.rmtree(old, ignore_errors=True)
        os.replace(folder, old)
    os.replace(beside, folder)
    flush(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")
