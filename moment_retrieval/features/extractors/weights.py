"""Weights of networks from one file, read as numbers alone and fitted strictly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from torch import Tensor, nn

from moment_retrieval.errors import MissingModel, first_line
from moment_retrieval.hub import is_path, loading, source_of, version_of_file, weights_file

WRAPPERS = ("state_dict", "model_state", "model_state_dict", "model")  # keys under which trainings keep the parameters
UNTRAINED = "num_batches_tracked"  # a counter of batch normalisation, which old checkpoints leave out
SHOWN = 3  # parameters that an error names


class Fitted(Protocol):
    """A network that says which checkpoints it reads."""

    spare: tuple[str, ...]  # beginnings of parameters that are left out
    renamed: tuple[tuple[str, str], ...]  # patterns and replacements that bring other checkpoints' names to its own
    flat: tuple[str, ...]  # weights of fully connected layers, which other checkpoints keep as convolutions

    @classmethod
    def like(cls, state: Mapping[str, Any]) -> Any: ...


Network = TypeVar("Network", bound=nn.Module)


def load_network(network_class: type[Network], model: str) -> tuple[Network, str]:
    """Return the network with the weights of a file, and which file that was.

    Args:
        network_class: one of ``networks``.
        model: the path of a file, or a folder or a name on the hub that holds one file of weights.

    Raises:
        MissingModel: there is no such file, or its parameters are not those of the network.
    """
    file = path_of(model)
    with loading(model):
        state = read_state(file)
    return fitted(network_class, state, model), version_of_file(file)


def path_of(model: str) -> Path:
    """Return the file of weights that a model names. Raises MissingModel."""
    if model and is_path(model) and Path(model).expanduser().is_file():
        return Path(model).expanduser().resolve()
    return weights_file(Path(source_of(model, holds=weights_file)))


def read_state(file: Path) -> dict[str, Tensor]:
    """Return the parameters in a file by their names; pickled objects that are no numbers are refused."""
    if file.suffix == ".safetensors":
        from safetensors.torch import load_file

        return dict(load_file(file))
    import torch

    try:
        content = torch.load(file, map_location="cpu", weights_only=True)  # nosec B614 - numbers alone
    except Exception as error:  # of a dozen kinds, where the file is cut short or no file of PyTorch
        raise MissingModel(
            f"{file.name} is no file of weights that PyTorch reads without running code: {first_line(error)}. Save its"
            " state dict anew, as .safetensors or by torch.save."
        ) from error
    while isinstance(content, dict) and (key := next((key for key in WRAPPERS if key in content), None)):
        content = content[key]
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise MissingModel(f"{file.name} holds no state dict: names of parameters, each with a tensor")
    return {str(name): value for name, value in content.items()}


def fitted(network_class: type[Network], state: Mapping[str, Tensor], model: str) -> Network:
    """Return a network of the checkpoint's sizes, with all of its parameters. Raises MissingModel."""
    rules: Any = network_class
    values = {renamed(name, rules.renamed): value for name, value in state.items()}
    values = {name: value for name, value in values.items() if not name.startswith(rules.spare)}
    what = f"the model {model!r} is no {network_class.__name__}"
    try:
        network: Network = rules.like(values)
    except (KeyError, ValueError, TypeError) as error:
        reason = f"it has no parameter {error}" if isinstance(error, KeyError) else first_line(error)
        raise MissingModel(f"{what}: {reason}") from error
    expected_shapes = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    for name in rules.flat:
        if name in values and values[name].dim() == 4:
            values[name] = values[name].flatten(1)  # a fully connected layer kept as a convolution
    problems = [f"{name} is missing" for name in expected_shapes if name not in values and UNTRAINED not in name]
    problems += [f"{name} is none of its parameters" for name in values if name not in expected_shapes]
    problems += [
        f"{name} has the shape {list(value.shape)}, where {list(expected_shapes[name])} is expected"
        for name, value in values.items()
        if name in expected_shapes and value.shape != expected_shapes[name]
    ]
    if problems:
        more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        raise MissingModel(f"{what}: {'; '.join(problems[:SHOWN])}{more}")
    network.load_state_dict(values, strict=False)  # all but the counters are there
    return network.eval()


def renamed(name: str, rules: tuple[tuple[str, str], ...]) -> str:
    """Return a parameter's name as the network has it."""
    name = name.removeprefix("module.")
    for pattern, replacement in rules:
        name = re.sub(pattern, replacement, name)
    return name
