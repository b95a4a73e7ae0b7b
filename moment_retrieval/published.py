"""Published checkpoints: what is in them, read without running anything that is in them, under our names.

published.toml says how the names of released weights become ours; docs/baselines.md shows them.
"""

from __future__ import annotations

import io
import pickle  # nosec B403 - only with stand-ins for all that it names
import tomllib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from moment_retrieval.baselines import BASELINES
from moment_retrieval.errors import ScoringError, at, first_line

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

    def __init__(self, *args: Any) -> None:
        if args:
            raise UnsafeCheckpoint("it is refused: it makes copies")
        super().__init__()


def _tensor(storage: Numbers, first: int, shape: tuple[int, ...], strides: tuple[int, ...], *more: Any) -> None:
    """Check a tensor's storage; torch would enlarge one that is too small."""
    last = first + sum((count - 1) * stride for count, stride in zip(shape, strides, strict=True))
    if min((first, *shape, *strides)) < 0 or (0 not in shape and last >= storage.count):
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
    """Goes through a pickle as torch does; the unpickler in C would take memory for whatever number it reads."""

    stack: list[Any]

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.storages: dict[tuple[str, int], int] = {}
        self.filled = 0

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in KNOWN:
            raise UnsafeCheckpoint(f"it is refused: it asks for {module}.{name}")
        return KNOWN[module, name]

    def persistent_load(self, pid: Any) -> Numbers:
        _, kind, key, _, count, *_ = pid
        if not isinstance(count, int) or count < 0:
            raise UnsafeCheckpoint(f"it is refused: a tensor of it has {count!r} numbers")
        storage = Numbers(kind.size, count)
        self.storages[key, count] = max(storage.size * count, self.storages.get((key, count), 0))
        return storage

    def load_build(self) -> None:
        """Count what fills an object: it is copied, and may be named as often as one likes."""
        self.filled += len(self.stack.pop())
        if not isinstance(self.stack[-1], Filled):
            raise UnsafeCheckpoint("it is refused: it fills what nobody can fill")

    dispatch: ClassVar[dict[int, Any]] = {**pickle._Unpickler.dispatch, pickle.BUILD[0]: load_build}


def look_through(path: Path) -> None:
    """Refuse a checkpoint that would run code, or take more memory than it has bytes.

    torch itself runs no code of pickles, but lets them ask for gigabytes in a few bytes. They are gone through with
    stand-ins that hold no data: what they name must be what published checkpoints need.

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


Names = dict[str, str]
_NAMES: dict[str, Names] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TWO_STREAM, CONQUER = _NAMES["two_stream"], _NAMES["conquer"]
LAYER_INSIDE = _NAMES["inside"] | _NAMES["layer_inside"]
BERT_INSIDE = _NAMES["inside"] | _NAMES["bert_inside"]
TABLES: Mapping[str, tuple[Names, Names]] = {
    "xml": (TWO_STREAM, LAYER_INSIDE),
    "reloclnet": (TWO_STREAM, LAYER_INSIDE),
    "conquer": (CONQUER, BERT_INSIDE),
}


class UnknownWeight(ScoringError):
    """A published checkpoint holds a weight that the baseline does not have."""


def our_name(baseline: str, name: str) -> str:
    """Return our name of the weight a baseline's released code calls ``name``.

    Raises:
        UnknownWeight: there is no such weight.
    """
    prefixes, inside = TABLES[baseline]
    if name in prefixes:
        return prefixes[name]
    stem, _, kind = name.rpartition(".")
    for prefix in sorted(prefixes, key=len, reverse=True):
        within = stem.removeprefix(prefix).removeprefix(".")
        if (stem == prefix or stem.startswith(f"{prefix}.")) and within in inside:
            return ".".join(part for part in (prefixes[prefix], inside[within], kind) if part)
    raise UnknownWeight(f"{baseline} has no weight {name!r}")


def our_weights(baseline: str, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Released weights under our names."""
    return {our_name(baseline, name): tensor for name, tensor in weights.items()}


class UnfitWeights(ScoringError):
    """The weights of a published checkpoint do not make up a model of its baseline."""


class Namespace:
    """Stand-in for ``argparse.Namespace``: its values, and none of its code."""


# EasyDict is a dictionary; unpickled it becomes one that torch knows to fill safely
STAND_INS = [(Namespace, "argparse.Namespace"), (OrderedDict, "easydict.EasyDict")]


@dataclass(frozen=True)
class Published:
    """A published checkpoint: which baseline, its weights by our names, the options it was trained with."""

    baseline: str
    weights: dict[str, Tensor]
    options: dict[str, Any]
    epoch: int | None

    def model(self, **changes: Any) -> Any:
        """The model with these weights, for scoring; sizes are those of the weights but for ``changes``.

        Raises:
            UnknownWeight: one is missing.
            UnfitWeights: they do not go together.
        """
        try:
            settings = {**sizes(self.baseline, self.weights), **self._heads(), **changes}
            self._check(settings)
            model = BASELINES[self.baseline].build(**settings)
            model.load_state_dict(self.weights)
        except ScoringError:
            raise
        except Exception as error:
            raise UnfitWeights(f"no {self.baseline} has these weights: {first_line(error)}") from error
        return model.eval()

    def _check(self, settings: Mapping[str, Any]) -> None:
        """Compare every weight with those of a model that takes no memory yet."""
        with torch.device("meta"):
            model = BASELINES[self.baseline].build(**settings)
        if model.config.hidden % model.config.heads:
            raise UnfitWeights(f"{model.config.heads} heads do not divide {model.config.hidden} hidden features")
        shapes = {name: list(tensor.shape) for name, tensor in model.state_dict().items()}
        if missing := sorted(shapes.keys() - self.weights.keys()):
            raise UnknownWeight(f"there is no weight {missing[0]!r}, and {self.baseline} has one")
        for name, tensor in self.weights.items():
            if name not in shapes:
                raise UnknownWeight(f"{self.baseline} has no weight {name!r} beside its others")
            if list(tensor.shape) != shapes[name]:
                raise UnfitWeights(f"{name} has the shape {list(tensor.shape)}, where {shapes[name]} is expected")

    def _heads(self) -> dict[str, int]:
        """The number of heads is not to be seen in the weights."""
        bert = self.options.get("bert_config")
        bert = vars(bert) if isinstance(bert, Namespace) else bert
        heads = self.options.get("n_heads") or (isinstance(bert, dict) and bert.get("num_attention_heads"))
        if heads and (not isinstance(heads, int) or heads < 1):
            raise UnfitWeights("its number of heads is no number")
        return {"heads": int(heads)} if heads else {}


def load_published(path: Path) -> Published:
    """Read a checkpoint of the released code: tensors, numbers, texts and plain containers.

    Raises:
        UnsafeCheckpoint: there is something else in it, it is damaged, or it claims to be larger than it is.
        UnknownWeight: it is of none of the three baselines.
    """
    with at(str(path)):
        try:
            look_through(path)
            with torch.serialization.safe_globals(STAND_INS):
                content = torch.load(path, map_location="cpu", weights_only=True)
            return _published(content, path.stat().st_size)
        except ScoringError:
            raise
        except OSError as error:
            raise UnsafeCheckpoint(f"it cannot be read: {error.strerror or error}") from error
        except Exception as error:  # torch lets out whatever error a damaged file causes
            raise UnsafeCheckpoint("it is refused: it is no checkpoint of torch") from error


def _published(content: Any, file_size: int) -> Published:
    """The two forms: {model, model_cfg, epoch} and {model_state_dict, model_cfg, epoch, ...}."""
    weights = content.get("model_state_dict", content.get("model")) if isinstance(content, dict) else None
    if not isinstance(weights, dict) or not all(isinstance(tensor, Tensor) for tensor in weights.values()):
        raise UnsafeCheckpoint("there are no weights in it")
    if not all(isinstance(name, str) for name in weights):
        raise UnsafeCheckpoint("its weights have no names")
    if sum(tensor.numel() * tensor.element_size() for tensor in weights.values()) > file_size:
        raise UnsafeCheckpoint("its weights are said to be larger than the file")
    baseline = _baseline(weights)
    options = content.get("model_cfg")
    if options is not None and not isinstance(options, dict | Namespace):
        raise UnsafeCheckpoint("its options are no options")
    epoch = content.get("epoch")
    return Published(
        baseline,
        our_weights(baseline, weights),
        dict(vars(options)) if isinstance(options, Namespace) else dict(options or {}),
        epoch if isinstance(epoch, int) else None,
    )


def _baseline(names: Mapping[str, Any]) -> str:
    if any(name.startswith("encoder.videoEncoder.") for name in names):
        return "conquer"
    return "reloclnet" if any(name.startswith("query_encoder1.") for name in names) else "xml"


def sizes(baseline: str, weights: Mapping[str, Tensor]) -> dict[str, Any]:
    """The sizes of a model, by the shapes of its weights."""

    def shape(name: str, axis: int) -> int:
        if name not in weights:
            raise UnknownWeight(f"there is no weight {name!r}, and {baseline} has one")
        if len(weights[name].shape) <= axis:
            raise UnfitWeights(f"{name} has the shape {list(weights[name].shape)}, which is too flat")
        return weights[name].shape[axis]

    both = {
        "query_size": shape("query_input.linear.weight", 1),
        "hidden": shape("query_input.linear.weight", 0),
        "clips": shape("clip_position.place.weight", 0),
        "words": shape("query_position.place.weight", 0),
    }
    if baseline != "conquer":
        return both | {
            "video_size": shape("video.input.linear.weight", 1),
            "subtitle_size": shape("subtitle.input.linear.weight", 1),
            "kernel_size": shape("span_head.start.weight", 2),
        }
    return both | {
        "video_size": shape("visual_input.linear.weight", 1),
        "subtitle_size": shape("subtitle_input.linear.weight", 1),
        "inner": shape("clip_encoder.feed_forward.outward.weight", 0),
        "centres": shape("fusion.centres", 1),
        "narrow": shape("start_score.around.weight", 0),
        "kernel_size": shape("start_score.around.weight", 2),
        "score_videos": any(name.startswith("video_score.") for name in weights),
    }
