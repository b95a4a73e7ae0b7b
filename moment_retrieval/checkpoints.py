"""Trainings on disk, to be scored or gone on with: weights and optimiser as safetensors, all else as JSON.

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
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import UnionType
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from moment_retrieval import __version__
from moment_retrieval.baselines import model_of
from moment_retrieval.errors import ScoringError, at
from moment_retrieval.jsonfiles import flush, flush_folder
from moment_retrieval.settings import Decoding, Settings, config_from
from moment_retrieval.training.plan import BadPlan, Plan, settings_of

LAST, BEST = "last", "best"
WEIGHTS, OPTIMISER, META = "weights.safetensors", "optimiser.safetensors", "meta.json"
FORM = 1  # of meta.json
META_TYPES: dict[str, tuple[type, type | UnionType]] = {  # in meta.json: what it is, and what is in that
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
    # what else a training needs to go on, see ``Progress``
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
    for name, (kind, of) in META_TYPES.items():
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


@dataclass(frozen=True)
class Progress:
    """Where a training stands after a step."""

    step: int = 0  # steps made
    evaluated: int = 0  # the step of the last evaluation
    # best, best_step: the best value so far of what is selected by, and when it was reached
    best: float = -1.0
    best_step: int = 0
    metrics: Mapping[str, float] = field(default_factory=dict)  # all metrics of the best
    without: int = 0  # evaluations since then
    parts: int = 1  # into how many parts a batch is cut, for memory
    scaler: Mapping[str, Any] = field(default_factory=dict)  # state of the scaling of losses, in float16

    def after(self, metrics: Mapping[str, float], value: float) -> Progress:
        """After an evaluation at this step; only a greater value is better."""
        if value > self.best:
            return replace(self, evaluated=self.step, best=value, best_step=self.step, metrics=dict(metrics), without=0)
        return replace(self, evaluated=self.step, without=self.without + 1)


@dataclass(frozen=True)
class CheckpointManager:
    """Saves and restores one training in its folder."""

    folder: Path
    plan: Plan
    settings: Settings
    data: Mapping[str, str]

    def about(self, progress: Progress, epoch: int) -> About:
        """Build meta.json."""
        settings = self.settings
        config = {**asdict(settings.config), **asdict(settings.objective), **asdict(settings.decoding)}
        plan_values = {name: value for name, value in asdict(self.plan).items() if name not in ("sizes", "objective")}
        return About(
            baseline=self.plan.baseline,
            config=config,
            code=__version__,
            data=dict(self.data),
            seeds={"all": self.plan.seed},
            step=progress.step,
            epoch=epoch,
            metrics=dict(progress.metrics),
            progress={
                **asdict(progress),
                "plan": {**plan_values, "sizes": self.plan.sizes, "objective": self.plan.objective},
            },
        )

    def save(self, which: str, progress: Progress, epoch: int, model: nn.Module, *more: Any) -> None:
        """Write the best weights, to score with, or the last, to go on from: with optimiser and generators' states."""
        save(self.folder / which, self.about(progress, epoch), model, *more)

    def last(self) -> Checkpoint | None:
        """Load the last checkpoint.

        Raises:
            BadPlan: it was trained by another plan or on other files.
            BrokenCheckpoint: it cannot be read.
        """
        folder = self.folder / LAST
        if not folder.exists() and not folder.with_name(f".{LAST}.old").exists():
            return None
        checkpoint = load(folder)
        others = self.plan.differences(_progress_value(checkpoint, "plan", dict))
        others += [
            f"{name}: another file" for name, digest in self.data.items() if checkpoint.about.data.get(name) != digest
        ]
        if others:
            raise BadPlan(f"{LAST}/ was trained by another plan ({'; '.join(others)}): start in a new folder")
        return checkpoint


def progress_of(checkpoint: Checkpoint) -> Progress:
    """Where the training of a checkpoint stood. Raises BrokenCheckpoint."""
    fresh = asdict(Progress())
    return Progress(**{name: _progress_value(checkpoint, name, type(value)) for name, value in fresh.items()})


def _progress_value(checkpoint: Checkpoint, name: str, kind: type) -> Any:
    value = checkpoint.about.progress.get(name)
    if not isinstance(value, kind | int if kind is float else kind):
        raise BrokenCheckpoint(f"{LAST}: {META} tells no {name}")
    return value


def weights_are_finite(model: nn.Module) -> bool:
    """No weight is NaN or infinite."""
    with torch.no_grad():
        return all(bool(torch.isfinite(parameter).all()) for parameter in model.parameters())


@dataclass(frozen=True)
class Trained:
    """Weights, ready to score, with what they were trained by; the plan's paths do not depend on its folder."""

    plan: Plan
    model: Any
    decoding: Decoding
    about: About


def open_trained(folder: Path, *, which: str = BEST, device: str | torch.device = "cpu") -> Trained:
    """The model of an experiment's folder on a device, best or last. Raises ScoringError: it cannot be read."""
    plan = Plan.read(folder).located(folder)
    checkpoint = load(folder / which)
    decoding = settings_of(plan).decoding
    about = checkpoint.about
    model = model_of(about.baseline, config_from(about.baseline, about.config))
    checkpoint.restore(model)
    return Trained(plan, model.to(device).eval(), decoding, about)
